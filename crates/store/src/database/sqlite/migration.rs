//! The schema, version by version.
//!
//! A migration that was released is never changed: a new one is added behind it. Each is applied in a transaction of its own
//! together with the number of its version, and the tests below apply it to data of every version before.

use std::pin::Pin;

use super::{Database, Transaction};
use crate::database::row;
use crate::durable::rewrite_v5::rewrite_rows;
use crate::error::{Result, StoreError};

/// The version this program writes.
pub const LATEST: i64 = MIGRATIONS.len() as i64;

/// Brings a database from the version before to its own.
pub(super) struct Migration {
    /// Statements, the last of which sets the version.
    sql: &'static str,
    /// What SQL cannot do, in the same transaction: for instance to rewrite stored JSON.
    rewrite: Option<Rewrite>,
}

type Rewrite = fn(&mut Transaction) -> Rewriting<'_>;

type Rewriting<'t> = Pin<Box<dyn Future<Output = Result<()>> + Send + 't>>;

/// In version order, from 1.
pub(super) const MIGRATIONS: [Migration; 5] = [
    Migration { sql: include_str!("../../../migrations/sqlite/0001_executions.sql"), rewrite: None },
    Migration { sql: include_str!("../../../migrations/sqlite/0002_ledger.sql"), rewrite: None },
    Migration { sql: include_str!("../../../migrations/sqlite/0003_pipelines.sql"), rewrite: None },
    Migration { sql: include_str!("../../../migrations/sqlite/0004_durable.sql"), rewrite: None },
    Migration {
        sql: include_str!("../../../migrations/sqlite/0005_ports.sql"),
        rewrite: Some(|transaction| Box::pin(rewrite_rows(transaction))),
    },
];

/// `PILT`: marks a database as Pilot's.
const APPLICATION: i64 = 0x5049_4c54;

row! {
    struct Schema {
        user_version: i64,
        application_id: i64,
        tables: i64,
    }
}

/// Brings a database to this program's version. Several processes may do so at once.
pub(super) async fn migrate(database: &Database, migrations: &[Migration]) -> Result<()> {
    let latest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    // The common case costs one read and no lock.
    while version(database, &database.read_schema(STATE).await?, latest)? < latest {
        let mut transaction = database.begin("migrate the schema").await?;
        let at = version(database, &transaction.one(STATE, &[]).await?, latest)?;
        if let Some(next) = usize::try_from(at).ok().and_then(|next| migrations.get(next)) {
            transaction.execute_script(next.sql).await?;
            if let Some(rewrite) = next.rewrite {
                rewrite(&mut transaction).await?;
            }
        }
        transaction.commit().await?;
    }
    Ok(())
}

/// The version of a database of ours; 0 for an empty one.
fn version(database: &Database, schema: &Schema, latest: i64) -> Result<i64> {
    let location = || database.location().clone();
    match (schema.application_id, schema.user_version) {
        (APPLICATION, version) if version > latest => {
            Err(StoreError::Newer { location: location(), found: version, known: latest })
        }
        (APPLICATION, version) => Ok(version),
        (0, 0) if schema.tables == 0 => Ok(0),
        (_, _) => Err(StoreError::Foreign { location: location() }),
    }
}

const STATE: &str = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) AS tables \
     FROM pragma_user_version, pragma_application_id";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pilot_core::fact::TaskFacts;
    use pilot_core::id::{HomeId, InstanceId};
    use pilot_core::redact::Secrets;
    use pilot_core::time::Timestamp;
    use pilot_core::turn::replay;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
    use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

    use super::{LATEST, MIGRATIONS, Migration, Rewriting, migrate};
    use crate::database::{Database, Transaction, row, values};
    use crate::error::StoreError;
    use crate::store::Store;

    /// Data as each version wrote it, in version order: a new migration needs its sample to build.
    const SAMPLES: [&str; MIGRATIONS.len()] = [
        include_str!("../../../tests/samples/v1.sql"),
        include_str!("../../../tests/samples/v2.sql"),
        include_str!("../../../tests/samples/v3.sql"),
        include_str!("../../../tests/samples/v4.sql"),
        include_str!("../../../tests/samples/v5.sql"),
    ];

    const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

    /// A database of this version with this data in it.
    async fn write_version(path: &Path, version: usize, data: &'static str) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        for migration in &MIGRATIONS[..version] {
            sqlx::raw_sql(migration.sql).execute(&mut connection).await.unwrap();
        }
        sqlx::raw_sql(data).execute(&mut connection).await.unwrap();
        connection
    }

    /// The tables and how many rows each has.
    async fn count_rows(connection: &mut SqliteConnection) -> Vec<(String, i64)> {
        let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut *connection).await.unwrap();
        let mut counts = Vec::new();
        for table in tables {
            let count = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            let count: i64 = sqlx::query_scalar(count).fetch_one(&mut *connection).await.unwrap();
            counts.push((table, count));
        }
        counts
    }

    async fn read_version(connection: &mut SqliteConnection) -> i64 {
        let row = sqlx::query("SELECT user_version FROM pragma_user_version");
        row.fetch_one(connection).await.unwrap().get(0)
    }

    #[tokio::test]
    async fn every_version_with_data_becomes_the_latest_and_loses_no_row() {
        for (version, data) in [""].into_iter().chain(SAMPLES).enumerate() {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("pilot.db");
            if version == 0 {
                // Only one that is being made may be empty.
                std::fs::write(home.path().join("pilot.db-new"), "").unwrap();
            }
            let mut connection = write_version(&path, version, data).await;
            let before = count_rows(&mut connection).await;
            assert!(before.iter().all(|(_, rows)| *rows > 0), "a table without sample: {before:?}");
            Database::open(&path).await.unwrap().close().await;
            let after = count_rows(&mut connection).await;
            assert!(before.iter().all(|table| after.contains(table)), "from {version}: {before:?} {after:?}");
            assert_eq!(read_version(&mut connection).await, LATEST);
            let broken = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut connection).await.unwrap();
            assert!(broken.is_empty(), "rows that point nowhere after version {version}");
        }
    }

    #[tokio::test]
    async fn each_migration_sets_its_version() {
        let home = tempfile::tempdir().unwrap();
        for version in 1..=MIGRATIONS.len() {
            let mut connection = write_version(&home.path().join(format!("{version}.db")), version, "").await;
            assert_eq!(usize::try_from(read_version(&mut connection).await), Ok(version));
        }
    }

    /// What a running Pilot stored, the next version reads: a fact that is new needs a default.
    #[tokio::test]
    async fn tasks_of_every_version_can_still_be_read() {
        for (version, data) in (1..).zip(SAMPLES).skip(3) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("pilot.db");
            write_version(&path, version, data).await.close().await.unwrap();
            let store = Store::open(&path, Secrets::none()).await.unwrap();
            for project in store.project_ids().await.unwrap() {
                let rows = store.tasks(&project).await.unwrap();
                assert!(!rows.is_empty() && !store.project_log(&project, 10).await.unwrap().is_empty());
                for row in rows {
                    let loaded = store.load_task(&project, &row.facts.key).await.unwrap();
                    assert_eq!(loaded.task, row.facts);
                    let log = store.task_log(&project, &row.facts.key).await.unwrap();
                    assert_eq!(
                        replay(TaskFacts::new(project.clone(), row.facts.key.clone()), &log),
                        row.facts
                    );
                }
            }
            let (home, me) = (HomeId::parse("home-of-i0").unwrap(), InstanceId::parse("next").unwrap());
            let left = store.begin_instance(&home, &me, Timestamp(0)).await.unwrap();
            assert!(!left.claims.is_empty() && !left.intents.is_empty());
        }
    }

    row! {
        struct FactsRow {
            id: String,
            facts: String,
        }
    }

    async fn read_facts(database: &Database) -> Vec<FactsRow> {
        database.all("read", "SELECT id, facts FROM projects", &[]).await.unwrap()
    }

    /// A migration in code; the one that fails does so behind its last write.
    fn rewrite(transaction: &mut Transaction, fails: bool) -> Rewriting<'_> {
        Box::pin(async move {
            let rows: Vec<FactsRow> = transaction.all("SELECT id, facts FROM projects", &[]).await?;
            for row in rows {
                let facts = row.facts.replace("\"paused\":\"ann\"", "\"paused\":\"bob\"");
                let update = "UPDATE projects SET facts = $2 WHERE id = $1";
                transaction.execute(update, values![row.id, facts]).await?;
            }
            if fails { Err(transaction.fail("it is not JSON")) } else { Ok(()) }
        })
    }

    #[tokio::test]
    async fn a_migration_in_code_is_applied_once_and_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilot.db");
        write_version(&path, MIGRATIONS.len(), SAMPLES[MIGRATIONS.len() - 1]).await.close().await.unwrap();
        let database = Database::open(&path).await.unwrap();
        let with = |rewrite| {
            let next = Migration { sql: "PRAGMA user_version = 1000", rewrite: Some(rewrite) };
            MIGRATIONS.into_iter().chain([next]).collect::<Vec<Migration>>()
        };
        let before = read_facts(&database).await;
        let failed = migrate(&database, &with(|transaction| rewrite(transaction, true))).await.unwrap_err();
        assert!(failed.to_string().starts_with("migrate the schema in "), "{failed}");
        assert!(failed.to_string().ends_with(": it is not JSON"), "{failed}");
        assert_eq!(read_facts(&database).await[0].facts, before[0].facts);
        let after = migrate(&database, &with(|transaction| rewrite(transaction, false))).await;
        assert!(
            matches!(after, Err(StoreError::Newer { found: 1000, .. })),
            "it is applied and is not applied again"
        );
        assert_eq!(read_facts(&database).await[0].facts, before[0].facts.replace("\"ann\"", "\"bob\""));
    }
}
