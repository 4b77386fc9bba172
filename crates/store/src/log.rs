//! What a run logged.

use std::fmt;
use std::str::FromStr;

use crate::column::{column, row};
use crate::error::StoreError;
use crate::execution::RunId;
use crate::open::Store;
use crate::time::Micros;

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// What happened.
    Info,
    /// What somebody may want to look at.
    Warn,
    /// What went wrong.
    Error,
}

impl Level {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Level, UnknownLevel> {
        match text {
            "info" => Ok(Level::Info),
            "warn" => Ok(Level::Warn),
            "error" => Ok(Level::Error),
            other => Err(UnknownLevel(other.to_owned())),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

column!(Level, String, |raw| raw.parse::<Level>());

/// A word that is no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no level of a log line")]
pub struct UnknownLevel(pub String);

/// A line to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Micros,
    /// How much it matters.
    pub level: Level,
    /// Who says it: `runner`, `backend`, `git`, …
    pub source: String,
    /// What.
    pub line: String,
}

impl LogLine {
    /// A line.
    pub fn new(at: Micros, level: Level, source: &str, line: impl Into<String>) -> LogLine {
        LogLine { at, level, source: source.to_owned(), line: line.into() }
    }
}

row! {
    /// A line that was logged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LogRow {
        /// Its place among all lines.
        pub id: i64,
        /// The run.
        pub execution_id: RunId,
        /// When.
        pub at: Micros,
        /// How much it matters.
        pub level: Level,
        /// Who says it.
        pub source: String,
        /// What.
        pub line: String,
    }
}

impl Store {
    /// Remembers log lines, all or none.
    pub async fn append_logs(&self, id: &RunId, lines: &[LogLine]) -> Result<(), StoreError> {
        let failed = self.failing("remember log lines");
        let mut transaction = self.begin().await.map_err(&failed)?;
        for line in lines {
            sqlx::query(APPEND)
                .bind(id.as_str())
                .bind(line.at.0)
                .bind(line.level.as_str())
                .bind(&line.source)
                .bind(self.safe(&line.line))
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
    }

    /// What a run logged, in order.
    pub async fn logs(&self, id: &RunId) -> Result<Vec<LogRow>, StoreError> {
        self.logs_after(id, 0).await
    }

    /// The same behind a line that is known already, for whoever follows a run.
    pub async fn logs_after(&self, id: &RunId, last: i64) -> Result<Vec<LogRow>, StoreError> {
        sqlx::query_as(LOGS)
            .bind(id.as_str())
            .bind(last)
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read log lines"))
    }
}

const APPEND: &str =
    "INSERT INTO execution_logs (execution_id, at, level, source, line) VALUES ($1, $2, $3, $4, $5)";

const LOGS: &str = "SELECT * FROM execution_logs WHERE execution_id = $1 AND id > $2 ORDER BY id";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[APPEND, LOGS];
