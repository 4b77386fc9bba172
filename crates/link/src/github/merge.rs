//! Merging: exactly one commit, or not at all.

use pilot_core::id::{PrNumber, Sha};
use pilot_core::observed::{Failure, FailureKind};
use pilot_core::policy::MergeMethod;
use serde::Deserialize;
use serde_json::json;

use super::{GITHUB, Repo, parse_reply};
use crate::error::{CallFault, LinkError, failure};
use crate::http::{Method, Resend};

#[derive(Deserialize)]
struct MergeWire {
    sha: String,
    merged: bool,
}

impl Repo {
    /// Merges a pull request if its head is this commit, with one request; before a repetition the caller reads it again.
    pub async fn merge(
        &self,
        pr: PrNumber,
        head: &Sha,
        method: MergeMethod,
        title: &str,
    ) -> Result<Sha, Failure> {
        let action = self.describe(&format!("merge pull request {}", pr.0));
        let path = ["pulls", &pr.0.to_string(), "merge"];
        let body = json!({"sha": head, "merge_method": method.as_str(), "commit_title": title, "commit_message": ""});
        match self.write::<MergeWire>(&action, (Method::PUT, Resend::Once), &path, &body).await {
            Ok(wire) if wire.merged => Ok(parse_reply(&action, wire.sha)?),
            Ok(_) => {
                let detail = "the reply is a success, but not merged".to_owned();
                Err(LinkError::new(&GITHUB, action, CallFault::Unconfirmed { detail }).into())
            }
            Err(error) => Err(read_refusal(&error.why).unwrap_or_else(|| error.into())),
        }
    }
}

/// Why GitHub does not merge: it has one status for most reasons, and names them in its message.
fn read_refusal(why: &CallFault) -> Option<Failure> {
    if let CallFault::Refused { status: 405, message } = why {
        return Some(read_not_allowed(message));
    }
    let CallFault::Conflict { message } = why else { return None };
    Some(match message.starts_with("Head branch was modified") {
        true => failure(FailureKind::Conflict, "its head moved"),
        false => failure(FailureKind::Refused, message),
    })
}

fn read_not_allowed(message: &str) -> Failure {
    let lower = message.to_ascii_lowercase();
    if lower.contains("base branch was modified") {
        // A retry may work.
        failure(FailureKind::NotSent, "the base branch moved just now")
    } else if lower.contains("merges are not allowed") || lower.contains("merge commits are not allowed") {
        let detail =
            format!("{message}; allow this method there, or set orchestrator.autopilot.merge_method");
        failure(FailureKind::Refused, &detail)
    } else if lower.contains("draft") {
        failure(FailureKind::Refused, "it is a draft")
    } else if lower.contains("not mergeable") || lower.contains("merge conflict") {
        failure(FailureKind::Conflict, "it conflicts with the base branch")
    } else {
        failure(FailureKind::Refused, message)
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::observed::FailureKind;

    use super::read_not_allowed;

    #[test]
    fn each_reason_against_a_merge_has_its_own_meaning() {
        for (message, kind, detail) in [
            ("Pull Request is not mergeable", FailureKind::Conflict, "it conflicts with the base branch"),
            (
                "Base branch was modified. Review and try the merge again.",
                FailureKind::NotSent,
                "the base branch moved just now",
            ),
            (
                "Squash merges are not allowed on this repository.",
                FailureKind::Refused,
                "allow this method there",
            ),
            (
                "Merge commits are not allowed on this repository.",
                FailureKind::Refused,
                "allow this method there",
            ),
            ("Pull Request is still a draft", FailureKind::Refused, "it is a draft"),
            (
                "At least 1 approving review is required by reviewers with write access.",
                FailureKind::Refused,
                "At least 1 approving review",
            ),
            ("Required status check \"build\" is expected.", FailureKind::Refused, "is expected"),
            ("", FailureKind::Refused, ""),
        ] {
            let failure = read_not_allowed(message);
            assert_eq!(failure.kind, kind, "{message}");
            assert!(failure.detail.contains(detail), "{message}: {failure}");
        }
    }
}
