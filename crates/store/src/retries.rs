//! How often each task was tried again: counters that outlive the process.

use pilot_core::retry::{Counter, RetryCounters};

use crate::database::{row, statements, values, word_column};
use crate::error::Result;
use crate::store::Store;

row! {
    struct CounterRow {
        counter: Counter,
        attempts: u32,
    }
}

word_column!(Counter, "a counter of attempts");

impl Store {
    /// The attempts of a task after its first.
    pub async fn retries(&self, project_path: &str, task_id: &str) -> Result<RetryCounters> {
        let doing = "read how often a task was tried again";
        let rows: Vec<CounterRow> =
            self.database.all(doing, COUNTERS, values![project_path, task_id]).await?;
        Ok(rows.into_iter().map(|row| (row.counter, row.attempts)).collect())
    }

    /// Counts an attempt that is about to start.
    pub async fn count_retry(&self, project_path: &str, task_id: &str, counter: Counter) -> Result<()> {
        let values = values![project_path, task_id, counter.as_str()];
        self.database.execute("count another attempt of a task", COUNT, values).await?;
        Ok(())
    }
}

statements! {
    COUNTERS = "SELECT counter, attempts FROM retries WHERE project_path = $1 AND task_id = $2";
    COUNT = "INSERT INTO retries (project_path, task_id, counter, attempts) VALUES ($1, $2, $3, 1) \
        ON CONFLICT (project_path, task_id, counter) DO UPDATE SET attempts = retries.attempts + 1";
}
