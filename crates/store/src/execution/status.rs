//! The status of a run, as it is stored.

use std::fmt;

use pilot_core::outcome::RunStatus;

use crate::database::word_column;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExecutionStatus {
    /// No end is recorded: it runs, or its process died.
    #[default]
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

    pub fn parse(word: &str) -> Option<ExecutionStatus> {
        let ended = RunStatus::ALL.into_iter().map(ExecutionStatus::Ended);
        let mut all = ended.chain([ExecutionStatus::Running, ExecutionStatus::Abandoned]);
        all.find(|status| status.as_str() == word)
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

word_column!(ExecutionStatus, "a status of a run");

#[cfg(test)]
mod tests {
    use pilot_core::outcome::RunStatus;

    use super::ExecutionStatus;

    #[test]
    fn a_status_is_read_as_it_is_written() {
        let ended = RunStatus::ALL.map(ExecutionStatus::Ended);
        for status in [ExecutionStatus::Running, ExecutionStatus::Abandoned].into_iter().chain(ended) {
            assert_eq!(ExecutionStatus::parse(status.as_str()), Some(status));
        }
        assert!(ExecutionStatus::parse("Running").is_none());
    }
}
