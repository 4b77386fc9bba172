//! One reading of everything that reported on a commit.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::name::Sha;

/// Everything that reported on one commit, at one moment. Lists are sets: what reports twice in the same way counts once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The commit.
    pub sha: Sha,
    /// Check runs.
    pub checks: BTreeSet<Check>,
    /// Commit statuses.
    pub statuses: BTreeSet<StatusMark>,
    /// The names that must be there and pass.
    pub required: Required,
}

/// A check run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: CheckState,
}

/// Where a check run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Queued, requested, waiting.
    Queued,
    /// At work.
    InProgress,
    /// Over.
    Completed(Conclusion),
}

/// How a check run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// It passed.
    Success,
    /// It failed.
    Failure,
    /// It ran and has no opinion.
    Neutral,
    /// Somebody or something stopped it.
    Cancelled,
    /// It did not run.
    Skipped,
    /// It took too long.
    TimedOut,
    /// It waits for a person.
    ActionRequired,
    /// The forge gave up waiting for it.
    Stale,
    /// It did not start.
    StartupFailure,
}

impl Conclusion {
    /// All of them.
    pub const ALL: [Conclusion; 9] = [
        Conclusion::Success,
        Conclusion::Failure,
        Conclusion::Neutral,
        Conclusion::Cancelled,
        Conclusion::Skipped,
        Conclusion::TimedOut,
        Conclusion::ActionRequired,
        Conclusion::Stale,
        Conclusion::StartupFailure,
    ];
}

/// A commit status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StatusMark {
    /// Its context.
    pub context: String,
    /// What it says.
    pub state: StatusState,
}

/// What a commit status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusState {
    /// It passed.
    Success,
    /// It is under way.
    Pending,
    /// It failed.
    Failure,
    /// It broke.
    Error,
}

/// The names that must be there, as the forge protects the base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Required {
    /// These, and there may be none.
    Known(BTreeSet<String>),
    /// It could not be read, so nothing can pass.
    Unknown,
}
