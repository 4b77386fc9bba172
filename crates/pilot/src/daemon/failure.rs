//! Why a call failed, in the words of the core.

use pilot_core::outcome::cut;
use pilot_core::redact::Secrets;
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::time::Timestamp;
use pilot_exec::git::{GitError, RemoteError};
use pilot_link::github::{GithubError, MergeRefusal, Why};

/// The longest detail that is kept.
const LONGEST: usize = 500;

/// What a call to the forge failed with.
pub(super) fn of_github(error: &GithubError) -> Failure {
    let kind = match &error.why {
        Why::Unreachable { .. } => FailureKind::NotSent,
        Why::Unauthorised { .. } => FailureKind::Unauthorised,
        Why::Forbidden { .. } | Why::Archived => FailureKind::Forbidden,
        Why::NotFound { .. } => FailureKind::NotFound,
        Why::RateLimited { .. } => FailureKind::RateLimited,
        Why::Conflict { .. } => FailureKind::Conflict,
        Why::Server { .. } | Why::Malformed { .. } => FailureKind::Server,
        Why::Unknown { .. } => FailureKind::Lost,
        Why::Renamed { .. }
        | Why::Validation { .. }
        | Why::Refused { .. }
        | Why::TooMuch { .. }
        | Why::BadName { .. } => FailureKind::Refused,
    };
    let retry_at =
        if let Why::RateLimited { until, .. } = &error.why { Some(Timestamp(until.0)) } else { None };
    Failure { retry_at, ..failure(kind, &error.to_string()) }
}

/// What a push or a fetch failed with.
pub(super) fn of_remote(error: &RemoteError) -> Failure {
    let kind = match error {
        RemoteError::Auth { .. } => FailureKind::Unauthorised,
        RemoteError::Denied { .. } => FailureKind::Forbidden,
        // The one who has it may be the next to try.
        RemoteError::Unreachable { .. } | RemoteError::NoCommit { .. } => FailureKind::NotSent,
        RemoteError::NotFound { .. } | RemoteError::NoBranch { .. } => FailureKind::NotFound,
        RemoteError::Unknown { .. } => FailureKind::Lost,
        // This machine's trouble, such as a disk that is full, and nobody's refusal.
        RemoteError::Git(GitError::Io { .. }) => FailureKind::NotSent,
        RemoteError::Git(_)
        | RemoteError::BadUrl { .. }
        | RemoteError::NotOurs { .. }
        | RemoteError::Moved { .. } => FailureKind::Refused,
    };
    failure(kind, &error.to_string())
}

/// Why a pull request is not merged.
pub(super) fn of_merge(refused: &MergeRefusal) -> Failure {
    let (kind, words) = match refused {
        MergeRefusal::Conflict => (FailureKind::Conflict, "it contradicts the base branch".to_owned()),
        MergeRefusal::HeadMoved => (FailureKind::Conflict, "its head moved".to_owned()),
        // The same again may work.
        MergeRefusal::BaseMoved => (FailureKind::NotSent, "the base branch moved just now".to_owned()),
        MergeRefusal::MethodNotAllowed { message } => (
            FailureKind::Refused,
            format!("{message}; allow this method there, or set orchestrator.autopilot.merge_method"),
        ),
        MergeRefusal::Blocked { message } => (FailureKind::Refused, message.clone()),
        MergeRefusal::Draft => (FailureKind::Refused, "it is a draft".to_owned()),
    };
    failure(kind, &words)
}

pub(super) fn failure(kind: FailureKind, words: &str) -> Failure {
    // What others say may quote what we sent them.
    Failure::new(kind, cut(&Secrets::default().redact(words), LONGEST))
}

#[cfg(test)]
mod tests {
    use std::io;

    use pilot_core::seen::FailureKind;
    use pilot_exec::git::{GitError, RemoteError};

    use super::of_remote;

    #[test]
    fn what_git_says_means_something_for_trying_again() {
        let (url, no) = (|| "https://h/x".to_owned(), || "no".to_owned());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let cases: [(RemoteError, FailureKind); 5] = [
            (GitError::Io { command: "push".to_owned(), source: full }.into(), FailureKind::NotSent),
            (RemoteError::NoCommit { commit: "1".to_owned(), dir: "/x".into() }, FailureKind::NotSent),
            (RemoteError::Auth { url: url(), message: no() }, FailureKind::Unauthorised),
            (RemoteError::Denied { url: url(), message: no() }, FailureKind::Forbidden),
            (RemoteError::Moved { url: url(), message: no() }, FailureKind::Refused),
        ];
        for (error, kind) in cases {
            assert_eq!(of_remote(&error).kind, kind, "{error}");
        }
    }
}
