//! One reading of everything that reported on a commit.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::Sha;

/// Everything that reported on one commit, at one moment. A set: two equal reports count once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub sha: Sha,
    pub checks: BTreeSet<Check>,
    /// The names that must be there and pass.
    pub required: Required,
}

/// One report on a commit: a check run, a status, a pipeline job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub state: CheckState,
}

/// What a report means for the commit. The adapter translates its vendor's words; one it does not know is never `Passed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Pending,
    Passed,
    Failed,
    /// It ended without a verdict on the commit: cancelled, stale, waiting for a person.
    Undecided,
    /// It did not run: skipped. Undecided where the check is required.
    Skipped,
    /// It ran and has no opinion.
    Ignored,
}

impl CheckState {
    pub const ALL: [CheckState; 6] = [
        CheckState::Pending,
        CheckState::Passed,
        CheckState::Failed,
        CheckState::Undecided,
        CheckState::Skipped,
        CheckState::Ignored,
    ];
}

/// The names that must be there, as the forge protects the base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Required {
    /// These; there may be none.
    Known(BTreeSet<String>),
    /// It could not be read, so nothing can pass.
    Unknown,
}
