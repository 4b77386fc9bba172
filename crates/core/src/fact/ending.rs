//! How the life of a task ends.

use serde::{Deserialize, Serialize};

use crate::name::{IssueNumber, PrNumber, Sha};
use crate::outcome::Class;

/// How the life of a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its commit is on the base branch.
    Done(Landed),
    /// Pilot gave up; a person is needed.
    GivenUp(GivenUp),
    /// Somebody with the right to do so cancelled it.
    Cancelled {
        /// Who.
        by: String,
    },
}

/// Work that is on the base branch. Made only where somebody looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    commit: Sha,
    pr: PrNumber,
}

impl Landed {
    /// Only the fold of a look at the base branch calls this.
    pub(super) fn seen(commit: Sha, pr: PrNumber) -> Landed {
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
        /// How often.
        count: u32,
        /// How the last one ended.
        class: Class,
    },
    /// Somebody closed the pull request.
    PrClosed {
        /// Which.
        pr: PrNumber,
    },
    /// The issue that was to fix CI was given up.
    FixGivenUp {
        /// Which.
        issue: IssueNumber,
    },
}
