//! Markers: how our own texts are found again, so that nothing is written twice.

use std::fmt;

use crate::id::{Branch, CommentId, PrNumber, TaskKey};

/// What a text of ours is known by. It stands beside the text; how it is hidden there is the adapter's business.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Marker {
    /// A task's pull request, in any of its lives.
    Task(TaskKey),
    /// A task's status comment.
    Status(TaskKey),
    /// The answer to a question in a comment.
    Reply(CommentId),
    /// The last comment on a pull request that Pilot closes.
    Closed(PrNumber),
    /// A ticket that asks for CI to be fixed.
    Fix(FixMeta),
}

/// What a ticket that asks for CI to be fixed says about itself. It is how such a ticket is found again; which task it
/// belongs to is known from our own log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixMeta {
    /// The branch to continue with.
    pub branch: Branch,
    /// The pull request that failed.
    pub pr: PrNumber,
    /// Which fix it is, from 1.
    pub iteration: u32,
}

impl fmt::Display for Marker {
    /// `pilot-task GH-12`, `autopilot-meta branch:X pr:N iteration:K`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Marker::Task(task) => write!(f, "pilot-task {task}"),
            Marker::Status(task) => write!(f, "pilot-status {task}"),
            Marker::Reply(question) => write!(f, "pilot-reply {question}"),
            Marker::Closed(pr) => write!(f, "pilot-closed {}", pr.0),
            Marker::Fix(FixMeta { branch, pr, iteration }) => {
                write!(f, "autopilot-meta branch:{branch} pr:{} iteration:{iteration}", pr.0)
            }
        }
    }
}

impl Marker {
    /// Reads a marker as [`Marker`]'s `Display` writes it, with any spacing and any order of the fields.
    pub fn parse(text: &str) -> Option<Marker> {
        let (kind, rest) = text.trim().split_once(char::is_whitespace)?;
        let rest = rest.trim();
        match kind {
            "pilot-task" => Some(Marker::Task(TaskKey::parse(rest).ok()?)),
            "pilot-status" => Some(Marker::Status(TaskKey::parse(rest).ok()?)),
            "pilot-reply" => Some(Marker::Reply(CommentId::parse(rest).ok()?)),
            "pilot-closed" => Some(Marker::Closed(PrNumber(rest.parse().ok()?))),
            "autopilot-meta" => FixMeta::parse(rest).map(Marker::Fix),
            _ => None,
        }
    }
}

impl FixMeta {
    fn parse(text: &str) -> Option<FixMeta> {
        let value =
            |name: &str| text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
        Some(FixMeta {
            branch: Branch::parse(value("branch")?).ok()?,
            pr: PrNumber(value("pr")?.parse().ok()?),
            iteration: value("iteration")?.parse().ok()?,
        })
    }
}

impl TryFrom<String> for Marker {
    type Error = String;

    fn try_from(text: String) -> Result<Marker, String> {
        Marker::parse(&text).ok_or_else(|| format!("{text:?} is no marker"))
    }
}

impl From<Marker> for String {
    fn from(marker: Marker) -> String {
        marker.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{FixMeta, Marker};
    use crate::id::{Branch, CommentId, PrNumber, TaskKey};

    #[test]
    fn a_marker_is_read_as_it_is_written() {
        let task = || TaskKey::parse("GH-12").unwrap();
        let meta = FixMeta { branch: Branch::parse("pilot/GH-12").unwrap(), pr: PrNumber(13), iteration: 2 };
        for (marker, text) in [
            (Marker::Task(task()), "pilot-task GH-12"),
            (Marker::Status(task()), "pilot-status GH-12"),
            (Marker::Reply(CommentId::parse("17").unwrap()), "pilot-reply 17"),
            (Marker::Closed(PrNumber(7)), "pilot-closed 7"),
            (Marker::Fix(meta.clone()), "autopilot-meta branch:pilot/GH-12 pr:13 iteration:2"),
        ] {
            assert_eq!(marker.to_string(), text);
            assert_eq!(Marker::parse(&format!(" {text} ")), Some(marker), "{text}");
        }
        assert_eq!(
            Marker::parse("autopilot-meta pr:13 branch:pilot/GH-12 iteration:2"),
            Some(Marker::Fix(meta))
        );
        for text in [
            "",
            "pilot-task",
            "pilot-task twelve",
            "autopilot-meta branch:x pr:13",
            "autopilot-meta branch:-x pr:13 iteration:2",
            "autopilot-meta branch:x pr:no iteration:2",
            "something else",
        ] {
            assert_eq!(Marker::parse(text), None, "{text:?}");
        }
    }
}
