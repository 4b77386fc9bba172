//! Tasks: what is known of each, where it stands, and its place in the queue.

use pilot_core::dispatch::Candidate;
use pilot_core::fact::TaskFacts;
use pilot_core::name::{IssueNumber, ProjectId, TaskKey};
use pilot_core::task::Stage;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Loaded, TaskChange};

use super::stored::json;
use super::{Unwritten, Writing, outbox, project};
use crate::column::{count, row};
use crate::error::StoreError;
use crate::open::Store;

/// How many tasks that are over are listed beside those that are not.
const OVER: i64 = 100;

row! {
    /// A task as it is listed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TaskRow {
        /// What is known of it.
        pub facts: TaskFacts,
        /// Where it stands.
        pub stage: Stage,
        /// When it is to be looked at.
        pub wake: Option<Timestamp>,
        /// When it was written last.
        pub changed_at: Timestamp,
    }
}

row! {
    /// A task as it is loaded.
    struct LoadedRow {
        facts: TaskFacts,
        version: u64,
        stage: Stage,
    }
}

row! {
    /// A task that waits for its turn.
    struct QueuedRow {
        facts: TaskFacts,
        rank: i64,
    }
}

impl Store {
    /// A task with its project, known or not.
    pub async fn load_task(&self, project: &ProjectId, issue: IssueNumber) -> Result<Loaded, StoreError> {
        let failed = self.failing("load a task");
        let mut transaction = self.read.begin().await.map_err(&failed)?;
        let loaded_project = project::load(&mut transaction, project).await.map_err(&failed)?;
        let key = TaskKey::of_issue(issue);
        let row: Option<LoadedRow> = sqlx::query_as(LOAD)
            .bind(project.as_str())
            .bind(key.as_str())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(&failed)?;
        let open = outbox::open(&mut transaction, project, Some(&key)).await.map_err(&failed)?;
        let (task, task_version, stage) = match row {
            Some(row) => (row.facts, row.version, Some(row.stage)),
            None => (TaskFacts::new(project.clone(), issue), 0, None),
        };
        Ok(Loaded { task, task_version, stage, open, project: loaded_project })
    }

    /// The first of a project's queue, in order. It costs the same however many wait behind them.
    pub async fn queued(&self, project: &ProjectId, limit: u32) -> Result<Vec<Candidate>, StoreError> {
        let rows: Vec<QueuedRow> = sqlx::query_as(QUEUED)
            .bind(project.as_str())
            .bind(i64::from(limit))
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read the queue"))?;
        Ok(rows.iter().map(|row| Candidate::of(&row.facts, row.rank)).collect())
    }

    /// The tasks of a project: all that are not over, in order of their keys, and behind them the last hundred that are,
    /// newest first.
    pub async fn tasks(&self, project: &ProjectId) -> Result<Vec<TaskRow>, StoreError> {
        let failed = self.failing("list the tasks");
        let mut transaction = self.read.begin().await.map_err(&failed)?;
        let mut rows: Vec<TaskRow> = sqlx::query_as(UNDER_WAY)
            .bind(project.as_str())
            .fetch_all(&mut *transaction)
            .await
            .map_err(&failed)?;
        let over: Vec<TaskRow> = sqlx::query_as(LAST_OVER)
            .bind(project.as_str())
            .bind(OVER)
            .fetch_all(&mut *transaction)
            .await
            .map_err(&failed)?;
        rows.extend(over);
        Ok(rows)
    }
}

/// Writes what becomes of a task.
pub(super) async fn write(
    transaction: &mut Writing,
    project: &ProjectId,
    change: &TaskChange,
    now: Timestamp,
) -> Result<(), Unwritten> {
    let TaskChange { facts, stage, .. } = change;
    let rank = if let Stage::Queued { rank } = stage { Some(*rank) } else { None };
    let over = matches!(stage, Stage::Ended { .. });
    let completed = over.then(|| facts.life.ended.as_ref().map_or(now, |(_, at)| *at));
    let statement = if change.version == 0 { CREATE } else { UPDATE };
    let done = sqlx::query(statement)
        .bind(project.as_str())
        .bind(facts.key.as_str())
        .bind(count(change.version))
        .bind(json(facts)?)
        .bind(stage.as_str())
        .bind(json(stage)?)
        .bind(rank)
        .bind(change.wake.map(|wake| wake.0))
        .bind(facts.life.claim.as_ref().map(|claim| claim.at.0))
        .bind(completed.map(|at| at.0))
        .bind(now.0)
        .bind(format!("{project}/{}", facts.key))
        .execute(&mut **transaction)
        .await?;
    Unwritten::unless(done.rows_affected() == 1, Applied::Stale)
}

/// What is under way is part of what is decided by: a decision made before is stale.
pub(super) async fn bump(
    transaction: &mut Writing,
    project: &ProjectId,
    task: &TaskKey,
) -> Result<(), sqlx::Error> {
    sqlx::query(BUMP).bind(project.as_str()).bind(task.as_str()).execute(&mut **transaction).await?;
    Ok(())
}

const LOAD: &str =
    "SELECT task_json AS facts, version, stage FROM task_queue WHERE project_path = $1 AND task_key = $2";

pub(super) const QUEUED: &str = "SELECT task_json AS facts, rank FROM task_queue WHERE project_path = $1 AND rank IS NOT NULL \
     ORDER BY rank, task_key LIMIT $2";

pub(super) const UNDER_WAY: &str = "SELECT task_json AS facts, stage, wake, changed_at FROM task_queue \
     WHERE project_path = $1 AND completed_at IS NULL ORDER BY task_key";

pub(super) const LAST_OVER: &str = "SELECT task_json AS facts, stage, wake, changed_at FROM task_queue \
     WHERE project_path = $1 AND completed_at IS NOT NULL ORDER BY completed_at DESC, task_key DESC LIMIT $2";

/// The third is what the version was: none.
const CREATE: &str = "INSERT INTO task_queue (project_path, task_key, version, task_json, status, stage, rank, wake, \
     started_at, completed_at, changed_at, created_at, id) \
     VALUES ($1, $2, CAST($3 AS BIGINT) + 1, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) ON CONFLICT DO NOTHING";

/// When it was claimed last stays known when the claim is over.
const UPDATE: &str = "UPDATE task_queue SET version = version + 1, task_json = $4, status = $5, stage = $6, rank = $7, \
     wake = $8, started_at = COALESCE($9, started_at), completed_at = $10, changed_at = $11 \
     WHERE project_path = $1 AND task_key = $2 AND version = $3 AND id = $12";

const BUMP: &str = "UPDATE task_queue SET version = version + 1 WHERE project_path = $1 AND task_key = $2";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LOAD, QUEUED, UNDER_WAY, LAST_OVER, CREATE, UPDATE, BUMP];
