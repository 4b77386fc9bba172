//! Tasks: the facts, the stage and the place in the queue of each.

use pilot_core::dispatch::Candidate;
use pilot_core::fact::TaskFacts;
use pilot_core::id::{ProjectId, TaskKey};
use pilot_core::task::Stage;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Loaded, TaskChange};

use super::stored::to_json;
use super::{NotWritten, expect_one, outbox, project};
use crate::database::{Transaction, row, statements, values};
use crate::error::Result;
use crate::store::Store;

/// How many ended tasks are listed beside those that have not ended.
const OVER: i64 = 100;

row! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TaskRow {
        pub facts: TaskFacts,
        pub stage: Stage,
        /// When to decide about it again, whatever happens before.
        pub wake: Option<Timestamp>,
        pub changed_at: Timestamp,
    }
}

row! {
    struct LoadedRow {
        facts: TaskFacts,
        version: u64,
        stage: Stage,
    }
}

row! {
    struct QueuedRow {
        facts: TaskFacts,
        rank: i64,
    }
}

impl Store {
    /// A task with its project, known or not.
    pub async fn load_task(&self, project: &ProjectId, key: &TaskKey) -> Result<Loaded> {
        let mut transaction = self.database.snapshot("load a task").await?;
        let loaded_project = project::load(&mut transaction, project).await?;
        let row: Option<LoadedRow> =
            transaction.optional(LOAD, values![project.as_str(), key.as_str()]).await?;
        let open = outbox::load_open(&mut transaction, project, Some(key)).await?;
        let (task, task_version, stage) = match row {
            Some(row) => (row.facts, row.version, Some(row.stage)),
            None => (TaskFacts::new(project.clone(), key.clone()), 0, None),
        };
        Ok(Loaded { task, task_version, stage, open, project: loaded_project })
    }

    /// The first tasks of a project's queue, in order. It costs the same however many are behind them.
    pub async fn queued(&self, project: &ProjectId, limit: u32) -> Result<Vec<Candidate>> {
        let values = values![project.as_str(), limit];
        let rows: Vec<QueuedRow> = self.database.all("read the queue", QUEUED, values).await?;
        Ok(rows.iter().map(|row| Candidate::of(&row.facts, row.rank)).collect())
    }

    /// The tasks of this key in every project, however long ago they ended.
    pub async fn find_tasks(&self, key: &TaskKey) -> Result<Vec<TaskRow>> {
        self.database.all("find a task", FIND, values![key.as_str()]).await
    }

    /// The tasks of a project: all that have not ended, in order of their keys, and behind them the last hundred that
    /// have, newest first.
    pub async fn tasks(&self, project: &ProjectId) -> Result<Vec<TaskRow>> {
        let mut transaction = self.database.snapshot("list the tasks").await?;
        let mut rows = transaction.all(UNDER_WAY, values![project.as_str()]).await?;
        rows.extend(transaction.all(LAST_OVER, values![project.as_str(), OVER]).await?);
        Ok(rows)
    }
}

pub(super) async fn write(
    transaction: &mut Transaction,
    project: &ProjectId,
    change: &TaskChange,
    now: Timestamp,
) -> Result<(), NotWritten> {
    let TaskChange { facts, stage, .. } = change;
    let rank = if let Stage::Queued { rank } = stage { Some(*rank) } else { None };
    let over = matches!(stage, Stage::Ended { .. });
    let completed = over.then(|| facts.life.ended.as_ref().map_or(now, |(_, at)| *at));
    let values = values![
        project.as_str(),
        facts.key.as_str(),
        change.version,
        to_json(transaction, facts)?,
        stage.as_str(),
        to_json(transaction, stage)?,
        rank,
        change.wake,
        facts.life.claim.as_ref().map(|claim| claim.at),
        completed,
        now,
        format!("{project}/{}", facts.key),
    ];
    let statement = if change.version == 0 { CREATE } else { UPDATE };
    expect_one(transaction.execute(statement, values).await?, Applied::Stale)
}

/// Makes decisions from before stale: which actions are taken is part of the facts they are made from.
pub(super) async fn bump_version(
    transaction: &mut Transaction,
    project: &ProjectId,
    task: &TaskKey,
) -> Result<()> {
    transaction.execute(BUMP, values![project.as_str(), task.as_str()]).await?;
    Ok(())
}

statements! {
    LOAD = "SELECT task_json AS facts, version, stage FROM task_queue WHERE project_path = $1 AND task_key = $2";
    FIND = "SELECT task_json AS facts, stage, wake, changed_at FROM task_queue \
        WHERE task_key = $1 ORDER BY project_path";
    pub(super) QUEUED = "SELECT task_json AS facts, rank FROM task_queue WHERE project_path = $1 AND rank IS NOT NULL \
        ORDER BY rank, task_key LIMIT $2";
    pub(super) UNDER_WAY = "SELECT task_json AS facts, stage, wake, changed_at FROM task_queue \
        WHERE project_path = $1 AND completed_at IS NULL ORDER BY task_key";
    pub(super) LAST_OVER = "SELECT task_json AS facts, stage, wake, changed_at FROM task_queue \
        WHERE project_path = $1 AND completed_at IS NOT NULL ORDER BY completed_at DESC, task_key DESC LIMIT $2";
    /// `$3` is the version before: 0.
    CREATE = "INSERT INTO task_queue (project_path, task_key, version, task_json, status, stage, rank, wake, \
        started_at, completed_at, changed_at, created_at, id) \
        VALUES ($1, $2, CAST($3 AS BIGINT) + 1, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) ON CONFLICT DO NOTHING";
    /// `started_at`, when the task was claimed last, stays when the claim ends.
    UPDATE = "UPDATE task_queue SET version = version + 1, task_json = $4, status = $5, stage = $6, rank = $7, \
        wake = $8, started_at = COALESCE($9, started_at), completed_at = $10, changed_at = $11 \
        WHERE project_path = $1 AND task_key = $2 AND version = $3 AND id = $12";
    BUMP = "UPDATE task_queue SET version = version + 1 WHERE project_path = $1 AND task_key = $2";
}
