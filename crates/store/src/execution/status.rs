//! The status of a run, as it is stored.

use std::fmt;
use std::str::FromStr;

use pilot_core::outcome::RunStatus;

use crate::database::column;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionStatus {
    /// No end is recorded: it runs, or its process died.
    Running,
    Ended(RunStatus),
    /// Its process died, which another process noticed.
    Abandoned,
}

impl ExecutionStatus {
    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            ExecutionStatus::Running => "running",
            ExecutionStatus::Ended(status) => status.as_str(),
            ExecutionStatus::Abandoned => "abandoned",
        }
    }
}

impl FromStr for ExecutionStatus {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<ExecutionStatus, UnknownStatus> {
        let ended = RunStatus::ALL.into_iter().map(ExecutionStatus::Ended);
        let mut all = ended.chain([ExecutionStatus::Running, ExecutionStatus::Abandoned]);
        all.find(|status| status.as_str() == text).ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

column!(ExecutionStatus, String, |raw: String| raw.parse::<ExecutionStatus>());

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a status of a run")]
pub struct UnknownStatus(pub String);

#[cfg(test)]
mod tests {
    use pilot_core::outcome::RunStatus;

    use super::ExecutionStatus;

    #[test]
    fn a_status_is_read_as_it_is_written() {
        let ended = RunStatus::ALL.map(ExecutionStatus::Ended);
        for status in [ExecutionStatus::Running, ExecutionStatus::Abandoned].into_iter().chain(ended) {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert!("Running".parse::<ExecutionStatus>().is_err());
    }
}
