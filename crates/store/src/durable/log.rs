//! What happened, in order. Lines are only ever added.

use pilot_core::name::{ProjectId, TaskKey};
use pilot_core::turn::{Entry, ProjectEntry};

use super::Writing;
use super::stored::json;
use crate::column::{count, row};
use crate::error::StoreError;
use crate::open::Store;

row! {
    /// A line of a task's log.
    struct TaskLine {
        entry: Entry,
    }
}

row! {
    /// A line of a project's log.
    struct ProjectLine {
        entry: ProjectEntry,
    }
}

impl Store {
    /// A task's log, all of it, in order.
    pub async fn task_log(&self, project: &ProjectId, task: &TaskKey) -> Result<Vec<Entry>, StoreError> {
        let lines: Vec<TaskLine> = sqlx::query_as(OF_TASK)
            .bind(project.as_str())
            .bind(task.as_str())
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read the log of a task"))?;
        Ok(lines.into_iter().map(|line| line.entry).collect())
    }

    /// The last lines of a project's log, at most so many, in order.
    pub async fn project_log(
        &self,
        project: &ProjectId,
        limit: u32,
    ) -> Result<Vec<ProjectEntry>, StoreError> {
        let lines: Vec<ProjectLine> = sqlx::query_as(OF_PROJECT)
            .bind(project.as_str())
            .bind(i64::from(limit))
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read the log of a project"))?;
        Ok(lines.into_iter().rev().map(|line| line.entry).collect())
    }
}

pub(super) async fn append_task(
    transaction: &mut Writing,
    project: &ProjectId,
    task: &TaskKey,
    entries: &[Entry],
) -> Result<(), sqlx::Error> {
    for entry in entries {
        sqlx::query(APPEND_TASK)
            .bind(project.as_str())
            .bind(task.as_str())
            .bind(count(entry.seq))
            .bind(entry.at.0)
            .bind(json(entry)?)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

pub(super) async fn append_project(
    transaction: &mut Writing,
    project: &ProjectId,
    entries: &[ProjectEntry],
) -> Result<(), sqlx::Error> {
    for entry in entries {
        sqlx::query(APPEND_PROJECT)
            .bind(project.as_str())
            .bind(count(entry.seq))
            .bind(entry.at.0)
            .bind(json(entry)?)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

const OF_TASK: &str = "SELECT entry FROM task_log WHERE project = $1 AND task = $2 ORDER BY seq";

const OF_PROJECT: &str = "SELECT entry FROM project_log WHERE project = $1 ORDER BY seq DESC LIMIT $2";

const APPEND_TASK: &str = "INSERT INTO task_log (project, task, seq, at, entry) VALUES ($1, $2, $3, $4, $5)";

const APPEND_PROJECT: &str = "INSERT INTO project_log (project, seq, at, entry) VALUES ($1, $2, $3, $4)";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[OF_TASK, OF_PROJECT, APPEND_TASK, APPEND_PROJECT];
