//! What event, in order. Entries are only ever added.

use pilot_core::id::{ProjectId, TaskKey};
use pilot_core::turn::{Entry, ProjectEntry};

use super::stored::to_json;
use crate::database::{Transaction, statements, values};
use crate::error::Result;
use crate::store::Store;

impl Store {
    /// The whole log of a task, in order.
    pub async fn task_log(&self, project: &ProjectId, task: &TaskKey) -> Result<Vec<Entry>> {
        let values = values![project.as_str(), task.as_str()];
        let rows = self.database.all("read the log of a task", OF_TASK, values).await?;
        Ok(rows.into_iter().map(|(entry,)| entry).collect())
    }

    /// The last entries of a project's log, at most `limit`, in order.
    pub async fn project_log(&self, project: &ProjectId, limit: u32) -> Result<Vec<ProjectEntry>> {
        let values = values![project.as_str(), limit];
        let rows = self.database.all("read the log of a project", OF_PROJECT, values).await?;
        Ok(rows.into_iter().rev().map(|(entry,)| entry).collect())
    }
}

pub(super) async fn append_task(
    transaction: &mut Transaction,
    project: &ProjectId,
    task: &TaskKey,
    entries: &[Entry],
) -> Result<()> {
    for entry in entries {
        let json = to_json(transaction, entry)?;
        let values = values![project.as_str(), task.as_str(), entry.seq, entry.at, json];
        transaction.execute(APPEND_TASK, values).await?;
    }
    Ok(())
}

pub(super) async fn append_project(
    transaction: &mut Transaction,
    project: &ProjectId,
    entries: &[ProjectEntry],
) -> Result<()> {
    for entry in entries {
        let json = to_json(transaction, entry)?;
        transaction.execute(APPEND_PROJECT, values![project.as_str(), entry.seq, entry.at, json]).await?;
    }
    Ok(())
}

statements! {
    OF_TASK = "SELECT entry FROM task_log WHERE project = $1 AND task = $2 ORDER BY seq";
    OF_PROJECT = "SELECT entry FROM project_log WHERE project = $1 ORDER BY seq DESC LIMIT $2";
    APPEND_TASK = "INSERT INTO task_log (project, task, seq, at, entry) VALUES ($1, $2, $3, $4, $5)";
    APPEND_PROJECT = "INSERT INTO project_log (project, seq, at, entry) VALUES ($1, $2, $3, $4)";
}
