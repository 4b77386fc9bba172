//! What CI says about one commit.
//!
//! One pure function over everything that reported: check runs, commit statuses, and the names that must be there. Three
//! answers are final only when nothing is pending and two equal readings, one interval apart, agree; absent is unknown. Must
//! never know how a reading was made.

mod reading;
mod verdict;

pub use reading::{Check, CheckState, Conclusion, Reading, Required, StatusMark, StatusState};
pub use verdict::{CiFailed, CiPassed, Doubt, Verdict, judge};

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The readings of one commit, as far as they are remembered: the last, and since when it reads like that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiFacts {
    /// The last reading.
    pub reading: Reading,
    /// When the first of the equal readings was made.
    pub since: Timestamp,
    /// When the last of them was made.
    pub last: Timestamp,
}

impl CiFacts {
    /// What is remembered after another reading.
    pub fn with(before: Option<&CiFacts>, reading: Reading, at: Timestamp) -> CiFacts {
        match before {
            Some(facts) if facts.reading == reading => CiFacts { last: at.max(facts.last), ..facts.clone() },
            Some(_) | None => CiFacts { reading, since: at, last: at },
        }
    }
}
