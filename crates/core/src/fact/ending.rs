//! How the life of a task ends.

use serde::{Deserialize, Serialize};

use crate::id::{PrNumber, Sha, TaskKey};
use crate::outcome::Class;

/// How the life of a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its commit is on the base branch.
    Done(Landed),
    /// Pilot gave up; a person is needed.
    GivenUp(GivenUp),
    /// Cancelled by a person who may.
    Cancelled { by: String },
}

/// Work that is on the base branch. Made only from a check of that branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    commit: Sha,
    pr: PrNumber,
}

impl Landed {
    /// Only the fold of such a check calls this.
    pub(super) fn checked(commit: Sha, pr: PrNumber) -> Landed {
        Landed { commit, pr }
    }

    /// The commit on the base branch.
    pub fn commit(&self) -> &Sha {
        &self.commit
    }

    /// The pull request that brought it.
    pub fn pr(&self) -> PrNumber {
        self.pr
    }
}

/// Why Pilot gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenUp {
    /// The last run ended so, and nothing says that another would end better.
    Run {
        /// The class of failure.
        class: Class,
        /// The reason in words.
        reason: String,
    },
    /// It was tried as often as it may be.
    Attempts {
        count: u32,
        /// How the last one ended.
        class: Class,
    },
    /// A person closed the pull request.
    PrClosed { pr: PrNumber },
    /// The ticket that was to fix CI was given up.
    FixGivenUp { ticket: TaskKey },
}
