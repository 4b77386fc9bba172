//! Runs that came to no result of their own, and when each is worth another try.

use std::time::Duration;

use super::RunEnding;
use crate::outcome::Class;
use crate::text::truncate;
use crate::time::Timestamp;

/// The longest reason that is kept.
pub(crate) const LONGEST_REASON: usize = 500;

/// What kept a run from a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// Its process could not be begun, or was lost.
    Lost,
    /// Something on this machine that passes, as a disk that is full or a database that is busy.
    Machine,
    /// Something that stays until a person changes it.
    Setup,
    /// It says that it completed, and does not say what.
    NoCommit,
}

impl RunFailure {
    /// How the run ended.
    pub fn ending(self, why: &str, now: Timestamp) -> RunEnding {
        let (class, wait) = match self {
            RunFailure::Lost => (Class::Unknown, Some(Duration::from_secs(60))),
            RunFailure::Machine => (Class::Unknown, Some(Duration::from_secs(5))),
            RunFailure::Setup => (Class::InvalidConfig, None),
            RunFailure::NoCommit => (Class::Unknown, None),
        };
        let again_at = wait.map(|wait| now.after(wait));
        RunEnding::Stopped { class, reason: truncate(why, LONGEST_REASON).to_owned(), again_at }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_REASON, RunFailure};
    use crate::fact::RunEnding;
    use crate::outcome::Class;
    use crate::time::Timestamp;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let table = [
            (RunFailure::Lost, Class::Unknown, Some(60)),
            (RunFailure::Machine, Class::Unknown, Some(5)),
            (RunFailure::Setup, Class::InvalidConfig, None),
            (RunFailure::NoCommit, Class::Unknown, None),
        ];
        for (setback, class, seconds) in table {
            let again_at = seconds.map(|seconds: i64| Timestamp(seconds * 1_000_000 + 7));
            let expected = RunEnding::Stopped { class, reason: "why".to_owned(), again_at };
            assert_eq!(setback.ending("why", Timestamp(7)), expected, "{setback:?}");
        }
    }

    #[test]
    fn a_long_reason_is_cut() {
        let RunEnding::Stopped { reason, .. } = RunFailure::Lost.ending(&"x".repeat(10_000), Timestamp(0))
        else {
            panic!("it stopped");
        };
        assert!(reason.len() <= LONGEST_REASON);
    }
}
