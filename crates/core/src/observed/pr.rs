//! Pull requests.

use serde::{Deserialize, Serialize};

use crate::id::{Branch, PrNumber, Sha};

/// A pull request as it was read at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pr {
    pub number: PrNumber,
    pub branch: Branch,
    /// The commit at the head of that branch.
    pub head: Sha,
    /// Open, closed or merged.
    pub state: PrState,
    /// Whether the forge could merge it.
    pub mergeable: Mergeable,
}

/// Where a pull request stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrState {
    Open,
    /// Closed, and not merged.
    Closed,
    Merged {
        /// The commit on the base branch that holds it.
        commit: Sha,
    },
}

/// Whether the forge could merge a pull request. It works that out after the fact, so often it does not know yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    Yes,
    /// It could not: the branches contradict each other.
    No,
    Unknown,
}
