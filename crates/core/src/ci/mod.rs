//! What CI says about one commit.
//!
//! One pure function over everything that reported and the names that must be there. A verdict is final only when nothing is
//! pending and two equal readings, one interval apart, agree; absent is unknown. Must never know how a reading was made.

mod reading;
mod verdict;

pub use reading::{Check, CheckState, Reading, Required};
pub use verdict::{CiFailed, CiPassed, Inconclusive, Verdict, judge};

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The last reading of one commit, and since when it reads like that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiFacts {
    pub reading: Reading,
    /// When the first of the equal readings was made.
    pub since: Timestamp,
    /// When the last of them was made.
    pub last: Timestamp,
}

impl CiFacts {
    pub fn with(before: Option<&CiFacts>, reading: Reading, at: Timestamp) -> CiFacts {
        match before {
            Some(facts) if facts.reading == reading => CiFacts { last: at.max(facts.last), ..facts.clone() },
            Some(_) | None => CiFacts { reading, since: at, last: at },
        }
    }
}
