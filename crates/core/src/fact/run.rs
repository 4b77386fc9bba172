//! Runs of a task.

use serde::{Deserialize, Serialize};

use crate::budget::Shortage;
use crate::id::{Generation, Sha};
use crate::outcome::Class;
use crate::time::Timestamp;

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The claim it ran under.
    pub generation: Generation,
    pub at: Timestamp,
    pub ending: RunEnding,
}

/// What the runner says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnding {
    /// The work is there, in git, and its gates passed.
    Completed(Box<Work>),
    Stopped {
        /// The class of failure.
        class: Class,
        /// The reason in words.
        reason: String,
        /// When it may be tried again, if it may without a person.
        again_at: Option<Timestamp>,
    },
    /// The budget did not admit it, or stopped it at the limit of the day or month.
    OverBudget { shortage: Shortage },
}

/// What a completed run left, with the evidence that it is good. All of it is about one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub sha: Sha,
    /// The commit it started from.
    pub base: Sha,
    /// The gates that ran on it, all of them passed or not counted.
    pub gates: Vec<Gate>,
    /// What the review says.
    pub review: Option<String>,
    /// The route: complexity and model, in words.
    pub route: Option<String>,
    /// What it cost, in millionths of a dollar.
    pub cost_micro_usd: Option<u64>,
    /// How many files differ.
    pub files_changed: Option<u64>,
}

/// One gate, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    /// What came of it: `passed`, `not run`, `failed, advisory`.
    pub result: String,
}

impl Run {
    /// Whether it counts against the number of attempts. What a person or the budget stopped does not.
    pub fn counts(&self) -> bool {
        match &self.ending {
            RunEnding::Completed(_) => true,
            RunEnding::Stopped { class, .. } => *class != Class::Cancelled,
            RunEnding::OverBudget { .. } => false,
        }
    }

    /// The work, if it completed.
    pub fn work(&self) -> Option<&Work> {
        match &self.ending {
            RunEnding::Completed(work) => Some(work),
            RunEnding::Stopped { .. } | RunEnding::OverBudget { .. } => None,
        }
    }
}
