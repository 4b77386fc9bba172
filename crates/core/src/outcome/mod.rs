//! What a run's evidence means.
//!
//! Three sources, never one: how the process ended and who ended it, what the agent's last result says, what git says. Each
//! alone lies: an agent exits 0 with every tool denied, calls an API error `success`, or commits and is killed. Must never
//! know how any of this was learned.
//!
//! - [`StreamFacts`] sums up an agent's events, [`Claims`] its marks, both in bounded room.
//! - [`decide`] takes the [`Evidence`] and gives an [`Outcome`]: a status, a class that fits it, a reason.
//! - `diagnostics` writes the lines that stay in the log.

mod claims;
mod class;
mod decide;
mod diagnostics;
mod evidence;
mod facts;
mod trouble;

pub use claims::Claims;
pub use class::Class;
pub use decide::decide;
pub use diagnostics::{
    FINAL_MESSAGE_LIMIT, STDERR_LIMIT, classification_line, final_message_line, stderr_line,
};
pub use evidence::{EndedBy, Evidence, Git, GitFacts, Goal, ProcessEnd, Reports, Stderr};
pub use facts::StreamFacts;

use serde::{Deserialize, Serialize};

use crate::phase::Phase;
use crate::progress::{Shown, ShownPhase};
use crate::text::word_enum;

word_enum! {
    /// How a run ended, in the words of the result object.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunStatus {
        Completed = "completed",
        /// Something went wrong; the class says what.
        Failed = "failed",
        Blocked = "blocked",
        Declined = "declined",
        NoChanges = "no_changes",
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// The status that goes with a class, or with none. There is no other way to pair them.
    pub fn of(class: Option<Class>) -> RunStatus {
        match class {
            None => RunStatus::Completed,
            Some(Class::Blocked) => RunStatus::Blocked,
            Some(Class::Declined) => RunStatus::Declined,
            Some(Class::NoChanges) => RunStatus::NoChanges,
            Some(Class::Cancelled) => RunStatus::Cancelled,
            Some(_) => RunStatus::Failed,
        }
    }
}

/// The verdict on a run. A completed one comes from [`decide`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    class: Option<Class>,
    reason: String,
    reset_at: Option<u64>,
}

impl Outcome {
    /// A run that did not complete for a reason found outside the agent: a gate, the workspace, a cancel before its start.
    pub fn not_completed(class: Class, reason: impl Into<String>) -> Outcome {
        Outcome { class: Some(class), reason: reason.into(), reset_at: None }
    }

    fn completed(reason: String) -> Outcome {
        Outcome { class: None, reason, reset_at: None }
    }

    /// The same for a result that grew since: a completed change says what it brings in all.
    pub fn recounted(self, git: &GitFacts) -> Outcome {
        match self.class {
            None => Outcome { reason: decide::brought(git), ..self },
            Some(_) => self,
        }
    }

    /// The same with more of the reason.
    pub fn because(self, more: &str) -> Outcome {
        Outcome { reason: format!("{}; {more}", self.reason), ..self }
    }

    /// What is shown of the run now that it is over: completed is all of it, whatever the agent said last; else it is as
    /// far as it came.
    pub fn shown(&self, last: &Shown) -> Shown {
        match self.class {
            None => Shown { phase: ShownPhase::Reported(Phase::Complete), percent: 100 },
            Some(_) => last.clone(),
        }
    }

    pub fn status(&self) -> RunStatus {
        RunStatus::of(self.class)
    }

    /// Why it did not complete; `None` when it did.
    pub fn class(&self) -> Option<Class> {
        self.class
    }

    /// The reason in words, a fragment or the agent's own sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// When the limit resets, in epoch seconds; only ever with [`Class::RateLimit`].
    pub fn reset_at(&self) -> Option<u64> {
        self.reset_at
    }
}

/// A verdict as only evidence gives it, for tests of what follows from one.
#[cfg(test)]
pub(crate) fn tests_only_completed() -> Outcome {
    Outcome::completed("it is done".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Class, Outcome, Phase, RunStatus, Shown, ShownPhase};

    #[test]
    fn status_and_class_go_together() {
        for class in Class::ALL {
            let status = Outcome::not_completed(class, "x").status();
            let own = ["blocked", "declined", "no_changes", "cancelled"].contains(&class.as_str());
            assert_eq!(status.as_str(), if own { class.as_str() } else { "failed" });
        }
        assert_eq!(RunStatus::of(None), RunStatus::Completed);
    }

    #[test]
    fn completed_is_all_of_it_and_anything_else_as_far_as_it_came() {
        let last = Shown { phase: ShownPhase::Finishing, percent: 95 };
        let all = Shown { phase: ShownPhase::Reported(Phase::Complete), percent: 100 };
        assert_eq!(Outcome::completed("done".to_owned()).shown(&last), all);
        assert_eq!(Outcome::not_completed(Class::GateFailed, "x").shown(&last), last);
    }
}
