//! Where a task stands.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ReadyToMerge;
use crate::ci::{CiFailed, Verdict};
use crate::fact::{Ending, Work};
use crate::name::{Branch, Generation, IssueNumber, PrNumber, Sha};
use crate::outcome::Class;
use crate::seen::Failure;
use crate::time::Timestamp;

/// Where a task stands, with what says so. Computed from facts; what is stored of it is for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// Something must be known before it can be admitted.
    Checking {
        /// What.
        looks: Vec<Look>,
    },
    /// It does not go on by itself.
    Held {
        /// Why.
        hold: Hold,
    },
    /// It goes on by itself, but not yet.
    Waiting {
        /// Until when.
        until: Timestamp,
        /// Why.
        why: Wait,
    },
    /// It waits for its turn.
    Queued {
        /// Its place: the smallest goes first.
        rank: i64,
    },
    /// It has its turn; everybody else is being told.
    Claiming {
        /// The claim's number.
        generation: Generation,
    },
    /// Everybody was told; the run is about to begin.
    Starting {
        /// The claim's number.
        generation: Generation,
    },
    /// An agent is at work.
    Running {
        /// The claim's number.
        generation: Generation,
    },
    /// The agent is being stopped.
    Stopping {
        /// The claim's number.
        generation: Generation,
        /// Why.
        why: Stop,
    },
    /// The work is there and goes to the forge.
    Publishing {
        /// The work.
        work: Box<Work>,
    },
    /// The work is on the forge and needs its pull request.
    Opening {
        /// The commit on the branch.
        sha: Sha,
    },
    /// The pull request waits for CI.
    AwaitingCi {
        /// The pull request.
        pr: PrNumber,
        /// The commit.
        sha: Sha,
        /// What CI says so far.
        verdict: Verdict,
    },
    /// CI passed; it is being merged.
    Merging {
        /// With what evidence.
        ready: ReadyToMerge,
    },
    /// CI failed; somebody is being asked to fix it.
    Failing {
        /// The pull request.
        pr: PrNumber,
        /// The evidence.
        failed: CiFailed,
        /// Which fix it will be.
        iteration: u32,
    },
    /// It was cancelled; its pull request is being closed.
    Closing {
        /// The pull request.
        pr: PrNumber,
        /// Who cancelled.
        by: String,
    },
    /// Another issue goes on with it.
    Continued {
        /// Which.
        by: IssueNumber,
    },
    /// The forge says merged; whether the commit is on the base branch is looked at.
    Landing {
        /// The commit.
        commit: Sha,
        /// The pull request.
        pr: PrNumber,
    },
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// Something to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// The issue.
    Issue,
    /// Whether another Pilot's claim still stands.
    Claim,
    /// What somebody may do.
    Permission {
        /// Who.
        login: String,
    },
    /// Whether an issue is still open.
    Dependency {
        /// Which.
        issue: IssueNumber,
    },
    /// Whether there is a pull request on a branch that nobody here knows of.
    Branch {
        /// The branch.
        branch: Branch,
    },
    /// The task's pull request.
    Pr {
        /// Which.
        pr: PrNumber,
    },
    /// What reports on a commit.
    Ci {
        /// The commit.
        sha: Sha,
    },
    /// Whether a commit is on the base branch.
    Base {
        /// The commit.
        commit: Sha,
    },
}

/// Why an agent is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Somebody cancelled.
    Cancelled {
        /// Who.
        by: String,
    },
    /// The label that asked for work is gone.
    LabelGone,
    /// The issue was closed.
    IssueClosed,
    /// It was not begun yet, and would not be admitted any more.
    NotAdmitted,
}

/// Why a task that goes on by itself does not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The last run says when.
    Retry {
        /// How it ended.
        class: Class,
    },
    /// There were so many merges within the hour.
    MergeCap,
    /// Pilot opened so many issues within the hour.
    IssueCap,
}

/// Why a task does not go on by itself. Each has a sentence that says what a person can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The issue is closed.
    IssueClosed,
    /// The label that asks for work is not there.
    LabelGone,
    /// Somebody paused the task.
    Paused {
        /// Who.
        by: String,
    },
    /// Somebody paused the project.
    ProjectPaused {
        /// Who.
        by: String,
    },
    /// A program wrote the issue, and nobody listed it.
    Bot {
        /// Which.
        login: String,
    },
    /// Somebody without write access wrote the issue, and nobody listed them.
    Stranger {
        /// Who.
        login: String,
    },
    /// This Pilot's own account wrote it, and nothing is known of why.
    UnknownFix,
    /// It depends on issues that are open.
    DependsOn {
        /// Which.
        open: BTreeSet<IssueNumber>,
    },
    /// It depends on itself.
    DependsOnItself,
    /// It depends on an issue that does not exist.
    DependencyMissing {
        /// Which.
        issue: IssueNumber,
    },
    /// A line begins like a dependency and names no issue.
    DependencyUnread {
        /// The line.
        line: String,
    },
    /// There is a pull request on its branch that this Pilot knows nothing of.
    OpenPr {
        /// Which.
        pr: PrNumber,
    },
    /// Another Pilot works on it.
    Elsewhere {
        /// Which.
        owner: String,
    },
    /// Too much failed lately.
    Breaker {
        /// Until when.
        until: Timestamp,
        /// How the last one failed.
        class: Class,
    },
    /// The budget is spent.
    Budget {
        /// What the budget says.
        why: String,
    },
    /// The pull request contradicts the base branch.
    MergeConflict {
        /// Which.
        pr: PrNumber,
    },
    /// Somebody else pushed to the branch.
    HeadMoved {
        /// The pull request.
        pr: PrNumber,
        /// What is there now.
        head: Sha,
    },
    /// CI gave no verdict in time.
    CiLate {
        /// The pull request.
        pr: PrNumber,
        /// What it says so far.
        verdict: Verdict,
    },
    /// CI failed after the last fix that may be tried. The pull request stays open.
    CiKeepsFailing {
        /// Which.
        pr: PrNumber,
        /// How many fixes were tried.
        fixes: u32,
        /// What failed.
        failed: CiFailed,
    },
    /// It may be merged, and a person is to do so.
    AwaitsMerge {
        /// The pull request.
        pr: PrNumber,
    },
    /// The forge says merged, and the commit is not on the base branch.
    NotOnBase {
        /// The pull request.
        pr: PrNumber,
    },
    /// The forge does not do what is asked.
    Trouble {
        /// What was asked, in a word.
        lane: String,
        /// Its answer.
        failure: Failure,
    },
}

impl Stage {
    /// The word it is known by: in the store, in `pilot status`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Stage::Checking { .. } => "checking",
            Stage::Held { .. } => "held",
            Stage::Waiting { .. } => "waiting",
            Stage::Queued { .. } => "queued",
            Stage::Claiming { .. } => "claiming",
            Stage::Starting { .. } => "starting",
            Stage::Running { .. } => "running",
            Stage::Stopping { .. } => "stopping",
            Stage::Publishing { .. } => "publishing",
            Stage::Opening { .. } => "opening",
            Stage::AwaitingCi { .. } => "awaiting_ci",
            Stage::Merging { .. } => "merging",
            Stage::Failing { .. } => "ci_failed",
            Stage::Closing { .. } => "closing",
            Stage::Continued { .. } => "continued",
            Stage::Landing { .. } => "landing",
            Stage::Ended { ending: Ending::Done(_) } => "done",
            Stage::Ended { ending: Ending::GivenUp(_) } => "failed",
            Stage::Ended { ending: Ending::Cancelled { .. } } => "cancelled",
        }
    }

    /// Whether an agent runs, or is about to.
    pub fn is_running(&self) -> bool {
        match self {
            Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
            | Stage::Stopping { .. } => true,
            Stage::Checking { .. }
            | Stage::Held { .. }
            | Stage::Waiting { .. }
            | Stage::Queued { .. }
            | Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::AwaitingCi { .. }
            | Stage::Merging { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Continued { .. }
            | Stage::Landing { .. }
            | Stage::Ended { .. } => false,
        }
    }

    /// Whether others wait for it where one task goes at a time.
    pub fn is_active(&self) -> bool {
        match self {
            Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
            | Stage::Stopping { .. }
            | Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::AwaitingCi { .. }
            | Stage::Merging { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Continued { .. }
            | Stage::Landing { .. } => true,
            Stage::Waiting { why: Wait::MergeCap | Wait::IssueCap, .. } => true,
            Stage::Checking { .. }
            | Stage::Held { .. }
            | Stage::Waiting { why: Wait::Retry { .. }, .. }
            | Stage::Queued { .. }
            | Stage::Ended { .. } => false,
        }
    }
}
