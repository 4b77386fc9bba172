//! Where a run stands.

use std::fmt;
use std::str::FromStr;

use crate::column::column;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It has not ended, as far as anybody has told.
    Running,
    /// It ended.
    Ended(Ending),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The work is done.
    Completed,
    /// It failed; the class says how.
    Failed,
    /// The agent needs a person.
    Blocked,
    /// The agent declined.
    Declined,
    /// Nothing was changed.
    NoChanges,
    /// Somebody stopped it.
    Cancelled,
    /// Pilot itself died.
    Abandoned,
}

impl Ending {
    /// All of them.
    pub const ALL: [Ending; 7] = [
        Ending::Completed,
        Ending::Failed,
        Ending::Blocked,
        Ending::Declined,
        Ending::NoChanges,
        Ending::Cancelled,
        Ending::Abandoned,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Completed => "completed",
            Ending::Failed => "failed",
            Ending::Blocked => "blocked",
            Ending::Declined => "declined",
            Ending::NoChanges => "no_changes",
            Ending::Cancelled => "cancelled",
            Ending::Abandoned => "abandoned",
        }
    }

    /// The status of a run that ended so.
    pub fn status(self) -> Status {
        Status::Ended(self)
    }
}

impl FromStr for Ending {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Ending, UnknownStatus> {
        let found = Ending::ALL.into_iter().find(|ending| ending.as_str() == text);
        found.ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

impl Status {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Ended(ending) => ending.as_str(),
        }
    }
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Status, UnknownStatus> {
        if text == Status::Running.as_str() { Ok(Status::Running) } else { text.parse().map(Status::Ended) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

column!(Status, String, |raw| raw.parse::<Status>());

/// A word that is no status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no status of a run")]
pub struct UnknownStatus(pub String);

#[cfg(test)]
mod tests {
    use super::{Ending, Status};

    #[test]
    fn words_are_read_as_they_are_written() {
        assert_eq!("running".parse(), Ok(Status::Running));
        for ending in Ending::ALL {
            assert_eq!(ending.as_str().parse(), Ok(ending.status()));
        }
        assert!("Running".parse::<Status>().is_err());
    }
}
