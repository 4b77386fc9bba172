//! Projects: what is known of each that is not about one task.

use pilot_core::fact::ProjectFacts;
use pilot_core::name::ProjectId;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, LoadedProject, ProjectChange};
use sqlx::SqliteConnection;

use super::stored::json;
use super::{Unwritten, Writing, outbox};
use crate::column::{count, row};
use crate::error::StoreError;
use crate::open::Store;

row! {
    /// A project as it is stored.
    struct ProjectRow {
        facts: ProjectFacts,
        version: u64,
        wake: Option<Timestamp>,
    }
}

impl Store {
    /// A project, known or not.
    pub async fn load_project(&self, project: &ProjectId) -> Result<LoadedProject, StoreError> {
        let failed = self.failing("load a project");
        let mut transaction = self.read.begin().await.map_err(&failed)?;
        load(&mut transaction, project).await.map_err(&failed)
    }

    /// Every project anything is known of, in order.
    pub async fn project_ids(&self) -> Result<Vec<ProjectId>, StoreError> {
        let failed = self.failing("list the projects");
        let rows: Vec<IdRow> = sqlx::query_as(IDS).fetch_all(&self.read).await.map_err(failed)?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}

row! {
    /// A project's name.
    struct IdRow {
        id: ProjectId,
    }
}

/// Loads a project. Its version is read before what is in its outbox, so that whatever changes in between makes it stale.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    project: &ProjectId,
) -> Result<LoadedProject, sqlx::Error> {
    let row: Option<ProjectRow> =
        sqlx::query_as(LOAD).bind(project.as_str()).fetch_optional(&mut *connection).await?;
    let open = outbox::open(connection, project, None).await?;
    Ok(match row {
        Some(row) => LoadedProject { facts: row.facts, version: row.version, wake: row.wake, open },
        None => LoadedProject { facts: ProjectFacts::new(project.clone()), version: 0, wake: None, open },
    })
}

/// Writes what becomes of a project. The row is touched even where nothing changes, and before anything else of the turn:
/// whoever writes to the same project at the same time waits here.
pub(super) async fn write(
    transaction: &mut Writing,
    change: &ProjectChange,
    now: Timestamp,
) -> Result<(), Unwritten> {
    let id = change.facts.id.as_str();
    let query = match (change.version, change.changed) {
        (0, _) => sqlx::query(CREATE)
            .bind(id)
            .bind(json(&change.facts)?)
            .bind(change.wake.map(|wake| wake.0))
            .bind(now.0),
        (version, true) => sqlx::query(UPDATE)
            .bind(id)
            .bind(count(version))
            .bind(json(&change.facts)?)
            .bind(change.wake.map(|wake| wake.0))
            .bind(now.0),
        (version, false) => sqlx::query(HOLD).bind(id).bind(count(version)),
    };
    let done = query.execute(&mut **transaction).await?;
    Unwritten::unless(done.rows_affected() == 1, Applied::Stale)
}

/// What is under way is part of what is decided by: a decision made before is stale.
pub(super) async fn bump(transaction: &mut Writing, project: &ProjectId) -> Result<(), sqlx::Error> {
    sqlx::query(BUMP).bind(project.as_str()).execute(&mut **transaction).await?;
    Ok(())
}

const LOAD: &str = "SELECT facts, version, wake FROM projects WHERE id = $1";

const IDS: &str = "SELECT id FROM projects ORDER BY id";

const CREATE: &str = "INSERT INTO projects (id, facts, version, wake, changed_at) VALUES ($1, $2, 1, $3, $4) \
     ON CONFLICT (id) DO NOTHING";

const UPDATE: &str = "UPDATE projects SET facts = $3, version = version + 1, wake = $4, changed_at = $5 \
     WHERE id = $1 AND version = $2";

const HOLD: &str = "UPDATE projects SET version = version WHERE id = $1 AND version = $2";

const BUMP: &str = "UPDATE projects SET version = version + 1 WHERE id = $1";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LOAD, IDS, CREATE, UPDATE, HOLD, BUMP];
