//! The schema, version by version.
//!
//! A migration that was released is never changed: a new one is added behind it. Each is applied in a transaction of its own
//! together with the number that says so, and the test below applies it to data of every version before.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::error::StoreError;

/// The version this program writes.
pub const LATEST: i64 = MIGRATIONS.len() as i64;

/// In version order, from 1.
const MIGRATIONS: [&str; 4] = [
    include_str!("../migrations/0001_executions.sql"),
    include_str!("../migrations/0002_ledger.sql"),
    include_str!("../migrations/0003_pipelines.sql"),
    include_str!("../migrations/0004_durable.sql"),
];

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pilot_core::fact::TaskFacts;
    use pilot_core::name::{HomeId, InstanceId};
    use pilot_core::redact::Secrets;
    use pilot_core::time::Timestamp;
    use pilot_core::turn::replay;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
    use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

    use super::{LATEST, MIGRATIONS, apply, migrate};
    use crate::open::Store;

    /// Data as each version wrote it, in version order: a new migration needs its sample to build.
    const SAMPLES: [&str; MIGRATIONS.len()] = [
        include_str!("../tests/samples/v1.sql"),
        include_str!("../tests/samples/v2.sql"),
        include_str!("../tests/samples/v3.sql"),
        include_str!("../tests/samples/v4.sql"),
    ];

    const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

    async fn at_version(path: &Path, version: usize) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        for before in 0..version {
            apply(&mut connection, i64::try_from(before).unwrap()).await.unwrap();
        }
        if let Some(sample) = version.checked_sub(1).map(|index| SAMPLES[index]) {
            sqlx::raw_sql(sample).execute(&mut connection).await.unwrap();
        }
        connection
    }

    /// The tables and how many rows each has.
    async fn counts(connection: &mut SqliteConnection) -> Vec<(String, i64)> {
        let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut *connection).await.unwrap();
        let mut counts = Vec::new();
        for table in tables {
            let count = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            let count: i64 = sqlx::query_scalar(count).fetch_one(&mut *connection).await.unwrap();
            counts.push((table, count));
        }
        counts
    }

    #[tokio::test]
    async fn every_version_with_data_becomes_the_latest_and_loses_no_row() {
        for version in 0..=MIGRATIONS.len() {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("pilot.db");
            let mut connection = at_version(&path, version).await;
            let before = counts(&mut connection).await;
            assert!(
                version == 0 || before.iter().all(|(_, rows)| *rows > 0),
                "a table without sample: {before:?}"
            );
            migrate(&mut connection, &path).await.unwrap();
            let after = counts(&mut connection).await;
            assert!(before.iter().all(|table| after.contains(table)), "from {version}: {before:?} {after:?}");
            let row = sqlx::query("SELECT user_version FROM pragma_user_version");
            assert_eq!(row.fetch_one(&mut connection).await.unwrap().get::<i64, _>(0), LATEST);
            let broken = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut connection).await.unwrap();
            assert!(broken.is_empty(), "rows that point nowhere after version {version}");
        }
    }

    #[tokio::test]
    async fn each_migration_says_its_version() {
        let home = tempfile::tempdir().unwrap();
        for version in 1..=MIGRATIONS.len() {
            let mut connection = at_version(&home.path().join(format!("{version}.db")), version).await;
            let row = sqlx::query("SELECT user_version FROM pragma_user_version");
            let said: i64 = row.fetch_one(&mut connection).await.unwrap().get(0);
            assert_eq!(usize::try_from(said), Ok(version));
        }
    }

    /// What a running Pilot had stored, the next version reads: a fact that is new needs a default.
    #[tokio::test]
    async fn tasks_of_every_version_can_still_be_read() {
        for version in 4..=MIGRATIONS.len() {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("pilot.db");
            at_version(&path, version).await.close().await.unwrap();
            let store = Store::open(&path, Secrets::none()).await.unwrap();
            for project in store.project_ids().await.unwrap() {
                let rows = store.tasks(&project).await.unwrap();
                assert!(!rows.is_empty() && !store.project_log(&project, 10).await.unwrap().is_empty());
                for row in rows {
                    let loaded = store.load_task(&project, row.facts.number).await.unwrap();
                    assert_eq!(loaded.task, row.facts);
                    let log = store.task_log(&project, &row.facts.key).await.unwrap();
                    assert_eq!(replay(TaskFacts::new(project.clone(), row.facts.number), &log), row.facts);
                }
            }
            let (home, me) = (HomeId::parse("home-of-i0").unwrap(), InstanceId::parse("next").unwrap());
            let left = store.begin_instance(&home, &me, Timestamp(0)).await.unwrap();
            assert!(!left.claims.is_empty() && !left.intents.is_empty());
        }
    }
}
