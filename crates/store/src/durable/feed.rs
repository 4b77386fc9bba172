//! The feed, and how far each run is.

use pilot_core::budget::Usd;
use pilot_core::feed::{FeedEntry, FeedEvent};
use pilot_core::id::{Generation, ProjectId, TaskKey};
use pilot_core::run::RunProgress;
use pilot_core::time::Timestamp;

use super::stored::to_json;
use crate::database::{Transaction, row, statements, values};
use crate::error::Result;
use crate::store::Store;

/// How many events are kept.
const KEPT: i64 = 10_000;

row! {
    struct FeedRow {
        seq: u64,
        at: Timestamp,
        event: FeedEvent,
    }
}

row! {
    struct ProgressRow {
        generation: Generation,
        progress: RunProgress,
    }
}

impl Store {
    /// The events after `seq`, at most `limit`, in order. Those that are not kept any more are left out.
    pub async fn feed_after(&self, seq: u64, limit: u32) -> Result<Vec<FeedEntry>> {
        let rows: Vec<FeedRow> = self.database.all("read the feed", AFTER, values![seq, limit]).await?;
        Ok(rows.into_iter().map(|FeedRow { seq, at, event }| FeedEntry { seq, at, event }).collect())
    }

    /// The number of the last event; 0 before the first.
    pub async fn last_feed_seq(&self) -> Result<u64> {
        let (seq,) = self.database.one("read the end of the feed", LAST, &[]).await?;
        Ok(seq)
    }

    /// Stores how far the run of a task is, and tells the feed.
    pub async fn record_progress(
        &self,
        project: &ProjectId,
        task: &TaskKey,
        generation: Generation,
        progress: &RunProgress,
        now: Timestamp,
    ) -> Result<()> {
        let last_message = self.redact(&progress.last_message);
        let progress = RunProgress { last_message, ..progress.clone() };
        let mut transaction = self.database.begin("store how far a run is").await?;
        let json = to_json(&transaction, &progress)?;
        let values = values![project.as_str(), task.as_str(), generation.0, json];
        transaction.execute(SET_PROGRESS, values).await?;
        let event = FeedEvent::Progress { project: project.clone(), task: task.clone(), progress };
        append(&mut transaction, &[event], now).await?;
        transaction.commit().await
    }

    /// How far the last run of a task was, and which one that is.
    pub async fn run_progress(
        &self,
        project: &ProjectId,
        task: &TaskKey,
    ) -> Result<Option<(Generation, RunProgress)>> {
        let values = values![project.as_str(), task.as_str()];
        let row: Option<ProgressRow> =
            self.database.optional("read how far a run is", PROGRESS, values).await?;
        Ok(row.map(|row| (row.generation, row.progress)))
    }

    /// Where the repository of a project is on this machine.
    pub async fn record_checkout(&self, project: &ProjectId, path: &str) -> Result<()> {
        let values = values![project.as_str(), path];
        self.database.execute("store where a project is", ADD_CHECKOUT, values).await?;
        Ok(())
    }

    /// What the ended runs of a task have cost.
    pub async fn task_cost(&self, project: &ProjectId, task: &TaskKey) -> Result<Usd> {
        let values = values![project.as_str(), task.as_str()];
        let (cost,) = self.database.one("sum up what a task has cost", COST, values).await?;
        Ok(cost)
    }
}

pub(super) async fn append(
    transaction: &mut Transaction,
    events: &[FeedEvent],
    now: Timestamp,
) -> Result<()> {
    for event in events {
        let json = to_json(transaction, event)?;
        transaction.execute(APPEND, values![now, json]).await?;
    }
    if !events.is_empty() {
        transaction.execute(TRIM, values![KEPT]).await?;
    }
    Ok(())
}

statements! {
    AFTER = "SELECT seq, at, event FROM feed WHERE seq > $1 ORDER BY seq LIMIT $2";
    LAST = "SELECT COALESCE(MAX(seq), 0) AS seq FROM feed";
    /// The newest event is never deleted, so numbers are never used again.
    APPEND = "INSERT INTO feed (seq, at, event) SELECT COALESCE(MAX(seq), 0) + 1, $1, $2 FROM feed";
    TRIM = "DELETE FROM feed WHERE seq <= (SELECT MAX(seq) FROM feed) - $1";
    SET_PROGRESS = "INSERT INTO run_progress (project, task, generation, progress) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (project, task) DO UPDATE SET generation = excluded.generation, progress = excluded.progress";
    PROGRESS = "SELECT generation, progress FROM run_progress WHERE project = $1 AND task = $2";
    ADD_CHECKOUT = "INSERT INTO checkouts (project, path) VALUES ($1, $2) ON CONFLICT (project, path) DO NOTHING";
    COST = "SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) AS usd FROM ledger \
        WHERE task_id = $2 AND project_path IN (SELECT path FROM checkouts WHERE project = $1)";
}
