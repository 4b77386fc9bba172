//! Runs of a task.

use serde::{Deserialize, Serialize};

use crate::budget::Shortage;
use crate::id::{Generation, Sha};
use crate::outcome::Class;
use crate::review::Finding;
use crate::time::Timestamp;

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The claim it ran under.
    pub generation: Generation,
    pub at: Timestamp,
    pub ending: RunEnding,
}

/// A run that waits for a person: its agent is stopped, its worktree is as the agent left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPause {
    /// The reason in words.
    pub why: String,
    pub since: Timestamp,
    /// When the run ends if no person continues it.
    pub until: Timestamp,
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
        /// What it left to judge it by.
        #[serde(default)]
        evidence: Option<Box<RunEvidence>>,
    },
    /// The budget did not admit it, or stopped it at the limit of the day or month.
    OverBudget { shortage: Shortage },
}

/// What a run that did not complete left. Text of others, without secrets and cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunEvidence {
    /// The run's id.
    pub run: String,
    /// The gate that failed, if one did.
    pub gate: Option<FailedGate>,
    /// The agent's last message, without its signals.
    pub last_words: String,
    /// The commit of its work, if there is one.
    pub sha: Option<Sha>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGate {
    pub name: String,
    pub exit_code: Option<i32>,
    /// The part of its output that says most.
    pub output: String,
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
    /// The first findings of the review, those that are not fixed before the others.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What the run says for people.
    #[serde(default)]
    pub report: WorkReport,
}

/// What a run says for people. Text of others, cut; no evidence of anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkReport {
    /// The run's id.
    pub run: String,
    /// How the ticket's text begins.
    pub asked: String,
    /// The agent's last message, without its signals.
    pub summary: String,
    /// The reason its exit signal gave.
    pub exit_reason: String,
    pub commits: u64,
}

/// One gate, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    /// What came of it: `passed`, `not run`, `failed, advisory`.
    pub result: String,
    /// The part of its output that says most; empty for a pass.
    #[serde(default)]
    pub output: String,
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

    /// What it left, if it did not complete.
    pub fn evidence(&self) -> Option<&RunEvidence> {
        match &self.ending {
            RunEnding::Completed(_) | RunEnding::OverBudget { .. } => None,
            RunEnding::Stopped { evidence, .. } => evidence.as_deref(),
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
