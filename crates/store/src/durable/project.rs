//! Projects: what is known of each that is not about one task.

use pilot_core::fact::ProjectFacts;
use pilot_core::id::ProjectId;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, LoadedProject, ProjectChange};

use super::stored::to_json;
use super::{NotWritten, expect_one, outbox};
use crate::database::{Transaction, row, statements, values};
use crate::error::Result;
use crate::store::Store;

row! {
    struct ProjectRow {
        facts: ProjectFacts,
        version: u64,
        wake: Option<Timestamp>,
    }
}

impl Store {
    /// A project, known or not.
    pub async fn load_project(&self, project: &ProjectId) -> Result<LoadedProject> {
        load(&mut self.database.snapshot("load a project").await?, project).await
    }

    /// Every stored project, in order.
    pub async fn project_ids(&self) -> Result<Vec<ProjectId>> {
        let rows = self.database.all("list the projects", IDS, &[]).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }
}

/// Loads a project. Its version is read before its outbox, so that a change in between makes it stale.
pub(super) async fn load(transaction: &mut Transaction, project: &ProjectId) -> Result<LoadedProject> {
    let row: Option<ProjectRow> = transaction.optional(LOAD, values![project.as_str()]).await?;
    let open = outbox::load_open(transaction, project, None).await?;
    Ok(match row {
        Some(row) => LoadedProject { facts: row.facts, version: row.version, wake: row.wake, open },
        None => LoadedProject { facts: ProjectFacts::new(project.clone()), version: 0, wake: None, open },
    })
}

/// Writes the change of a project. The row is touched even where nothing changes, and before anything else of the turn:
/// another transaction that writes to the same project waits here.
pub(super) async fn write(
    transaction: &mut Transaction,
    change: &ProjectChange,
    now: Timestamp,
) -> Result<(), NotWritten> {
    let id = change.facts.id.as_str();
    let changed = match (change.version, change.changed) {
        (0, _) => {
            let json = to_json(transaction, &change.facts)?;
            transaction.execute(CREATE, values![id, json, change.wake, now]).await?
        }
        (version, true) => {
            let json = to_json(transaction, &change.facts)?;
            transaction.execute(UPDATE, values![id, version, json, change.wake, now]).await?
        }
        (version, false) => transaction.execute(HOLD, values![id, version]).await?,
    };
    expect_one(changed, Applied::Stale)
}

/// Makes decisions from before stale: which actions are taken is part of the facts they are made from.
pub(super) async fn bump_version(transaction: &mut Transaction, project: &ProjectId) -> Result<()> {
    transaction.execute(BUMP, values![project.as_str()]).await?;
    Ok(())
}

statements! {
    LOAD = "SELECT facts, version, wake FROM projects WHERE id = $1";
    IDS = "SELECT id FROM projects ORDER BY id";
    CREATE = "INSERT INTO projects (id, facts, version, wake, changed_at) VALUES ($1, $2, 1, $3, $4) \
        ON CONFLICT (id) DO NOTHING";
    UPDATE = "UPDATE projects SET facts = $3, version = version + 1, wake = $4, changed_at = $5 \
        WHERE id = $1 AND version = $2";
    HOLD = "UPDATE projects SET version = version WHERE id = $1 AND version = $2";
    BUMP = "UPDATE projects SET version = version + 1 WHERE id = $1";
}
