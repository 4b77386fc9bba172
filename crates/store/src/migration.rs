//! The schema, version by version.
//!
//! A migration that was released is never changed: a new one is added behind it. Each is applied in a transaction of its own
//! together with the number that says so, and `tests/it/migration.rs` applies it to a database with data of the version before.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::error::StoreError;

/// The version this program writes.
pub const LATEST: i64 = MIGRATIONS.len() as i64;

/// In version order, from 1.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_executions.sql")];

/// `PILT`: whose database this is.
const APPLICATION: i64 = 0x5049_4c54;

/// Brings a database to this program's version. Several processes may do so at once.
pub(crate) async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::database("read the schema's version", path, source);
    // The common case costs one read and no lock.
    while version(connection, path).await? < LATEST {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        let at = version(&mut transaction, path).await?;
        apply(&mut transaction, at)
            .await
            .map_err(|source| StoreError::database("migrate the schema", path, source))?;
        transaction
            .commit()
            .await
            .map_err(|source| StoreError::database("migrate the schema", path, source))?;
    }
    Ok(())
}

/// The version of a database of ours; 0 for an empty one.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<i64, StoreError> {
    let failed = |source| StoreError::database("read the schema's version", path, source);
    let row = sqlx::query(STATE).fetch_one(connection).await.map_err(failed)?;
    let (version, application, tables): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    match (application, version) {
        (APPLICATION, version) if version > LATEST => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: LATEST })
        }
        (APPLICATION, version) => Ok(version),
        (0, 0) if tables == 0 => Ok(0),
        (_, _) => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

/// Applies the migration behind `version`, if there is one.
async fn apply(connection: &mut SqliteConnection, version: i64) -> Result<(), sqlx::Error> {
    let Some(migration) = usize::try_from(version).ok().and_then(|next| MIGRATIONS.get(next)) else {
        return Ok(());
    };
    sqlx::raw_sql(*migration).execute(connection).await?;
    Ok(())
}

const STATE: &str = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) \
     FROM pragma_user_version, pragma_application_id";
