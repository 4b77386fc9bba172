//! Marks in our own texts, by which they are found again.

use std::fmt::Write as _;

use crate::name::{Branch, CommentId, PrNumber, TaskKey};

/// The mark of a task's status comment.
pub(crate) fn status_marker(task: &TaskKey) -> String {
    format!("<!-- pilot-status {task} -->")
}

/// The mark of an answer.
pub(crate) fn reply_marker(question: CommentId) -> String {
    format!("<!-- pilot-reply {} -->", question.0)
}

/// What stays of an answer when another Pilot gave it too, and earlier.
pub(crate) const ANSWERED_ABOVE: &str = "Answered above.";

/// The mark of a task's pull request, in any of its lives.
pub(crate) fn task_marker(task: &TaskKey) -> String {
    format!("<!-- pilot-task {task} -->")
}

/// The mark of the last word on a pull request.
pub(crate) fn close_marker(pr: PrNumber) -> String {
    format!("<!-- pilot-closed {} -->", pr.0)
}

/// What a text is known by, to see whether it is the one that is there. Not a secret and no proof of anything.
pub fn fingerprint(text: &str) -> String {
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// What an issue that is to fix CI says about itself: `<!-- autopilot-meta branch:X pr:N iteration:K -->`. It is how such an
/// issue is found again; whose fix it is, our own log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The branch to go on with.
    pub branch: Branch,
    /// The pull request that failed.
    pub pr: PrNumber,
    /// Which fix it is.
    pub iteration: u32,
}

impl Meta {
    /// As it is written.
    pub fn write(&self) -> String {
        let mut text = String::from("<!-- autopilot-meta");
        // Writing to a string does not fail.
        let _ = write!(text, " branch:{} pr:{} iteration:{} -->", self.branch, self.pr.0, self.iteration);
        text
    }

    /// The first one in a text.
    pub fn read(text: &str) -> Option<Meta> {
        let (_, rest) = text.split_once("<!-- autopilot-meta")?;
        let (inside, _) = rest.split_once("-->")?;
        let value = |name: &str| {
            let mut words = inside.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))
        };
        Some(Meta {
            branch: Branch::parse(value("branch")?).ok()?,
            pr: PrNumber(value("pr")?.parse().ok()?),
            iteration: value("iteration")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Meta, fingerprint};
    use crate::name::{Branch, PrNumber};

    #[test]
    fn the_meta_comment_is_read_as_it_is_written() {
        let meta = Meta { branch: Branch::parse("pilot/GH-12").unwrap(), pr: PrNumber(13), iteration: 2 };
        assert_eq!(meta.write(), "<!-- autopilot-meta branch:pilot/GH-12 pr:13 iteration:2 -->");
        assert_eq!(Meta::read(&format!("text\n{}\nmore", meta.write())), Some(meta.clone()));
        assert_eq!(Meta::read("<!-- autopilot-meta pr:13 branch:pilot/GH-12 iteration:2 -->"), Some(meta));
        for text in [
            "",
            "<!-- autopilot-meta branch:x pr:13 -->",
            "<!-- autopilot-meta branch:x pr:13 iteration:2",
            "<!-- autopilot-meta branch:-x pr:13 iteration:2 -->",
            "<!-- autopilot-meta branch:x pr:no iteration:2 -->",
        ] {
            assert_eq!(Meta::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(fingerprint(""), "cbf29ce484222325");
        assert_ne!(fingerprint("a"), fingerprint("b"));
    }
}
