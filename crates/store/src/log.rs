//! What a run logged.

use pilot_core::config::LogLevel;
use pilot_core::time::Timestamp;

use crate::database::{row, statements, values, word_column};
use crate::error::Result;
use crate::execution::RunId;
use crate::store::Store;

word_column!(LogLevel, "a level of a log line");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: Timestamp,
    pub level: LogLevel,
    /// The part of Pilot that logs it: `runner`, `backend`, `git`, …
    pub source: String,
    pub line: String,
}

impl LogLine {
    pub fn new(at: Timestamp, level: LogLevel, source: &str, line: impl Into<String>) -> LogLine {
        LogLine { at, level, source: source.to_owned(), line: line.into() }
    }
}

row! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LogRow {
        /// Its place among the lines of all runs.
        pub id: i64,
        pub execution_id: RunId,
        pub at: Timestamp,
            pub level: LogLevel,
        pub source: String,
        pub line: String,
    }
}

impl Store {
    /// Stores log lines, all or none.
    pub async fn append_logs(&self, id: &RunId, lines: &[LogLine]) -> Result<()> {
        let mut transaction = self.database.begin("store log lines").await?;
        for LogLine { at, level, source, line } in lines {
            let values = values![id.as_str(), *at, level.as_str(), source, self.redact(line)];
            transaction.execute(APPEND, values).await?;
        }
        transaction.commit().await
    }

    /// What a run logged, in order.
    pub async fn logs(&self, id: &RunId) -> Result<Vec<LogRow>> {
        self.logs_after(id, 0).await
    }

    /// The lines behind the one with the id `last`.
    pub async fn logs_after(&self, id: &RunId, last: i64) -> Result<Vec<LogRow>> {
        self.database.all("read log lines", LOGS, values![id.as_str(), last]).await
    }
}

statements! {
    APPEND = "INSERT INTO execution_logs (execution_id, at, level, source, line) VALUES ($1, $2, $3, $4, $5)";
    LOGS = "SELECT * FROM execution_logs WHERE execution_id = $1 AND id > $2 ORDER BY id";
}
