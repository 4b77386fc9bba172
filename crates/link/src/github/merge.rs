//! Merging: exactly one commit, or not at all.

use serde::Deserialize;
use serde_json::json;

use super::{GithubError, Number, Repo, Sha, Why};
use crate::http::{Class, Method};

/// How commits come to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMethod {
    /// With a merge commit.
    Merge,
    /// As one commit.
    Squash,
    /// One by one.
    Rebase,
}

impl MergeMethod {
    fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// A pull request to be merged.
#[derive(Clone, Copy, Debug)]
pub struct MergeOrder<'a> {
    /// Its number.
    pub number: Number,
    /// The head that was judged; no other is merged.
    pub head: &'a Sha,
    /// How.
    pub method: MergeMethod,
    /// The first line of the commit's message.
    pub title: &'a str,
    /// The rest of it.
    pub message: &'a str,
}

/// What became of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It is merged, as this commit on the base.
    Merged(Sha),
    /// It is not, and this is why.
    Refused(MergeRefusal),
}

/// Why a pull request is not merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeRefusal {
    /// It cannot be: there is a conflict with the base.
    Conflict,
    /// Its head is not the one that was judged.
    HeadMoved,
    /// The base moved just now; the same again may work.
    BaseMoved,
    /// The repository does not allow this method.
    MethodNotAllowed {
        /// What GitHub said.
        message: String,
    },
    /// A rule of the repository stands against it: checks, reviews, a merge queue.
    Blocked {
        /// What GitHub said.
        message: String,
    },
    /// It is a draft.
    Draft,
}

#[derive(Deserialize)]
struct Wire {
    sha: String,
    merged: bool,
}

impl Repo {
    /// Merges a pull request at the head that was judged: one call, and what became of it. Whoever repeats it looks first.
    pub async fn merge_once(&self, order: &MergeOrder<'_>) -> Result<Merge, GithubError> {
        let what = self.doing(&format!("merge pull request {}", order.number));
        let path = ["pulls", &order.number.0.to_string(), "merge"];
        let body = json!({
            "sha": order.head.as_str(),
            "merge_method": order.method.word(),
            "commit_title": order.title,
            "commit_message": order.message,
        });
        let request = self.effect(&what, Method::PUT, &path, Class::Once, &body)?;
        match self.github.write::<Wire>(&what, request).await {
            Ok(wire) if wire.merged => Ok(Merge::Merged(Sha::parse(&wire.sha)?)),
            Ok(_) => {
                let detail = "GitHub says that it is not merged".to_owned();
                Err(GithubError::new(what, Why::Unknown { detail }))
            }
            Err(error) => match refusal(&error.why) {
                Some(refused) => Ok(Merge::Refused(refused)),
                None => Err(error),
            },
        }
    }
}

/// What a refusal is about. GitHub has one status for most of them, and tells them apart in words.
fn refusal(why: &Why) -> Option<MergeRefusal> {
    match why {
        Why::Refused { status: 405, message } => Some(not_allowed(message)),
        Why::Conflict { message } if message.starts_with("Head branch was modified") => {
            Some(MergeRefusal::HeadMoved)
        }
        Why::Conflict { message } => Some(MergeRefusal::Blocked { message: message.clone() }),
        Why::Unreachable { .. }
        | Why::Unauthorised { .. }
        | Why::Forbidden { .. }
        | Why::NotFound { .. }
        | Why::Archived
        | Why::Renamed { .. }
        | Why::RateLimited { .. }
        | Why::Validation { .. }
        | Why::Refused { .. }
        | Why::Server { .. }
        | Why::Malformed { .. }
        | Why::TooMuch { .. }
        | Why::Unknown { .. }
        | Why::BadName { .. } => None,
    }
}

fn not_allowed(message: &str) -> MergeRefusal {
    let lower = message.to_ascii_lowercase();
    if lower.contains("base branch was modified") {
        MergeRefusal::BaseMoved
    } else if lower.contains("merges are not allowed") || lower.contains("merge commits are not allowed") {
        MergeRefusal::MethodNotAllowed { message: message.to_owned() }
    } else if lower.contains("draft") {
        MergeRefusal::Draft
    } else if lower.contains("not mergeable") || lower.contains("merge conflict") {
        MergeRefusal::Conflict
    } else {
        MergeRefusal::Blocked { message: message.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::{MergeRefusal, not_allowed};

    #[test]
    fn refusals_are_told_apart() {
        for (message, expected) in [
            ("Pull Request is not mergeable", "Conflict"),
            ("Base branch was modified. Review and try the merge again.", "BaseMoved"),
            ("Squash merges are not allowed on this repository.", "MethodNotAllowed"),
            ("Merge commits are not allowed on this repository.", "MethodNotAllowed"),
            ("Pull Request is still a draft", "Draft"),
            ("At least 1 approving review is required by reviewers with write access.", "Blocked"),
            ("Required status check \"build\" is expected.", "Blocked"),
            ("", "Blocked"),
        ] {
            let name = match not_allowed(message) {
                MergeRefusal::Conflict => "Conflict",
                MergeRefusal::HeadMoved => "HeadMoved",
                MergeRefusal::BaseMoved => "BaseMoved",
                MergeRefusal::MethodNotAllowed { .. } => "MethodNotAllowed",
                MergeRefusal::Blocked { .. } => "Blocked",
                MergeRefusal::Draft => "Draft",
            };
            assert_eq!(name, expected, "{message}");
        }
    }
}
