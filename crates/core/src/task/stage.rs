//! The stages of a task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Lane, ReadyToMerge};
use crate::ci::{CiFailed, Verdict};
use crate::fact::{Ending, Work};
use crate::id::{Branch, Generation, PrNumber, Sha, TaskKey};
use crate::observed::Failure;
use crate::outcome::Class;
use crate::time::Timestamp;

/// The stage of a task, with its evidence. Computed from facts; what is stored of it is for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// Something must be known before it can be admitted.
    Checking {
        queries: Vec<Query>,
    },
    /// It needs a person, or something outside to change.
    Held {
        hold: Hold,
    },
    /// It continues by itself, but not yet.
    Waiting {
        until: Timestamp,
        why: Wait,
    },
    /// It waits for its turn.
    Queued {
        /// Its place: the smallest goes first.
        rank: i64,
    },
    /// It was chosen; other Pilots are being shown the claim.
    Claiming {
        generation: Generation,
    },
    /// The claim is shown; the run is about to start.
    Starting {
        generation: Generation,
    },
    /// An agent is at work.
    Running {
        generation: Generation,
    },
    /// The agent is being stopped.
    Stopping {
        generation: Generation,
        why: Stop,
    },
    /// The work is being pushed.
    Publishing {
        work: Box<Work>,
    },
    /// The branch is pushed and needs its pull request.
    Opening {
        /// The commit on the branch.
        sha: Sha,
    },
    /// The pull request waits for CI.
    AwaitingCi {
        pr: PrNumber,
        sha: Sha,
        /// What CI says so far.
        verdict: Verdict,
    },
    /// CI passed; it is being merged.
    Merging {
        ready: ReadyToMerge,
    },
    /// CI failed; a ticket is being opened to fix it.
    Failing {
        pr: PrNumber,
        failed: CiFailed,
        /// Which fix it will be.
        iteration: u32,
    },
    /// It was cancelled; its pull request is being closed.
    Closing {
        pr: PrNumber,
        by: String,
    },
    /// Another ticket continues with its branch.
    Continued {
        by: TaskKey,
    },
    /// The forge says merged; the base branch is checked for the commit.
    Landing {
        commit: Sha,
        pr: PrNumber,
    },
    Ended {
        ending: Ending,
    },
}

/// Something to be read before or while a task continues.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    Ticket,
    /// Whether another Pilot's claim still exists.
    Claim,
    /// Whether an account may set Pilot to work.
    Trust {
        login: String,
    },
    /// Whether a ticket is still open.
    Dependency {
        ticket: TaskKey,
    },
    /// Whether a branch has a pull request that this Pilot did not open.
    Branch {
        branch: Branch,
    },
    /// The task's pull request.
    Pr {
        pr: PrNumber,
    },
    /// The reviews of the task's pull request.
    Reviews {
        pr: PrNumber,
    },
    /// What reports on a commit.
    Ci {
        sha: Sha,
    },
    /// Whether a commit is on the base branch.
    Base {
        commit: Sha,
    },
}

/// Why an agent is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    Cancelled {
        by: String,
    },
    /// The label that asked for work is gone.
    LabelGone,
    /// The ticket was closed.
    TicketClosed,
    /// It was not begun yet, and would not be admitted any more.
    NotAdmitted,
}

/// Why a task that continues by itself does not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The last run says when.
    Retry { class: Class },
    /// There were so many merges within the hour.
    MergeCap,
    /// Pilot opened so many tickets within the hour.
    TicketCap,
}

/// Why a task does not continue by itself. Each has a sentence that says what a person can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    TicketClosed,
    /// The label that asks for work is not there.
    LabelGone,
    Paused {
        by: String,
    },
    ProjectPaused {
        by: String,
    },
    /// A program that is not listed as trusted wrote the ticket.
    Bot {
        login: String,
    },
    /// The ticket's author has no write access and is not listed as trusted.
    Untrusted {
        login: String,
    },
    /// The tracker cannot say whether the ticket's author is trusted.
    TrustUnknown {
        login: String,
    },
    /// This Pilot's account opened it as a CI fix, but our log does not know it.
    UnknownFix,
    /// It depends on tickets that are open.
    DependsOn {
        open: BTreeSet<TaskKey>,
    },
    DependsOnItself,
    /// It depends on a ticket that does not exist.
    DependencyMissing {
        ticket: TaskKey,
    },
    /// A line begins like a dependency and names no ticket.
    DependencyUnread {
        line: String,
    },
    /// Its branch has a pull request that this Pilot did not open.
    OpenPr {
        pr: PrNumber,
    },
    /// Another Pilot works on it.
    ClaimedElsewhere {
        owner: String,
    },
    /// Too many runs failed in a row.
    Breaker {
        until: Timestamp,
        /// How the last one failed.
        class: Class,
    },
    /// It does not fit into the budget.
    Budget {
        /// What the budget says.
        why: String,
        /// When it will fit by itself, if ever.
        #[serde(default)]
        until: Option<Timestamp>,
    },
    /// The pull request conflicts with the base branch.
    MergeConflict {
        pr: PrNumber,
    },
    /// The branch has commits that Pilot did not push.
    HeadMoved {
        pr: PrNumber,
        /// What is there now.
        head: Sha,
    },
    /// CI gave no verdict in time.
    CiLate {
        pr: PrNumber,
        /// What it says so far.
        verdict: Verdict,
    },
    /// CI failed after the last fix that may be tried. The pull request stays open.
    CiKeepsFailing {
        pr: PrNumber,
        /// How many fixes were tried.
        fixes: u32,
        failed: CiFailed,
    },
    /// Users with write access request changes in their last reviews.
    ChangesRequested {
        pr: PrNumber,
        by: BTreeSet<String>,
    },
    /// It may be merged, and a person is to do so.
    AwaitsMerge {
        pr: PrNumber,
    },
    /// The forge says merged, and the commit is not on the base branch.
    NotOnBase {
        pr: PrNumber,
    },
    /// An action fails again and again.
    Trouble {
        lane: Lane,
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

    pub fn group(&self) -> StageGroup {
        match self {
            Stage::Checking { .. } | Stage::Queued { .. } => StageGroup::Intake,
            Stage::Held { .. } => StageGroup::Held,
            Stage::Waiting { .. } => StageGroup::Waiting,
            Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
            | Stage::Stopping { .. } => StageGroup::Run,
            Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::AwaitingCi { .. }
            | Stage::Merging { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Continued { .. }
            | Stage::Landing { .. } => StageGroup::PullRequest,
            Stage::Ended { .. } => StageGroup::Ended,
        }
    }

    /// Whether an agent runs, or is about to.
    pub fn is_running(&self) -> bool {
        self.group() == StageGroup::Run
    }

    /// Whether other tasks wait for it where one task is worked on at a time.
    pub fn is_active(&self) -> bool {
        match self.group() {
            StageGroup::Run | StageGroup::PullRequest => true,
            StageGroup::Waiting => {
                matches!(self, Stage::Waiting { why: Wait::MergeCap | Wait::TicketCap, .. })
            }
            StageGroup::Intake | StageGroup::Held | StageGroup::Ended => false,
        }
    }
}

/// Stages that most decisions treat alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageGroup {
    /// Not chosen yet.
    Intake,
    /// A person is needed, or something outside has to change.
    Held,
    /// It continues at a known time.
    Waiting,
    /// From the claim to the end of the run.
    Run,
    /// From the push to the merge.
    PullRequest,
    Ended,
}
