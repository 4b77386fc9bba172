//! How often tasks were tried again: counters that outlive the process.

use pilot_core::retry::{Counter, Counters};

use crate::column::{column, row};
use crate::error::StoreError;
use crate::open::Store;

row! {
    /// One counter of a task.
    #[derive(Clone, Copy, Debug)]
    struct CounterRow {
        /// What it counts.
        counter: Counter,
        /// How often.
        attempts: u32,
    }
}

column!(Counter, String, |raw| Counter::parse(&raw).ok_or(UnknownCounter(raw)));

/// A word that is no counter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no counter of attempts")]
struct UnknownCounter(String);

impl Store {
    /// The attempts of a task after its first.
    pub async fn retries(&self, project_path: &str, task_id: &str) -> Result<Counters, StoreError> {
        let rows: Vec<CounterRow> = sqlx::query_as(COUNTERS)
            .bind(project_path)
            .bind(task_id)
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("look how often a task was tried again"))?;
        Ok(rows.into_iter().map(|row| (row.counter, row.attempts)).collect())
    }

    /// Counts an attempt that is about to start.
    pub async fn count_retry(
        &self,
        project_path: &str,
        task_id: &str,
        counter: Counter,
    ) -> Result<(), StoreError> {
        sqlx::query(COUNT)
            .bind(project_path)
            .bind(task_id)
            .bind(counter.as_str())
            .execute(&self.write)
            .await
            .map_err(self.failing("count another attempt of a task"))?;
        Ok(())
    }
}

const COUNTERS: &str = "SELECT counter, attempts FROM retries WHERE project_path = $1 AND task_id = $2";

const COUNT: &str = "INSERT INTO retries (project_path, task_id, counter, attempts) VALUES ($1, $2, $3, 1) \
     ON CONFLICT (project_path, task_id, counter) DO UPDATE SET attempts = retries.attempts + 1";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[COUNTERS, COUNT];
