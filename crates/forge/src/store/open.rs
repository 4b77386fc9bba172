//! Opens, creates and migrates the database file.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Row, Sqlite, Transaction};

/// Connections that read; more would only wait for the same disk.
const READERS: u32 = 4;

/// How long a statement waits for another process that reads the file.
const BUSY: Duration = Duration::from_secs(10);

/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

const SCHEMA: &str = include_str!("schema.sql");

const VERSION: i64 = 2;

/// Migrates version 1 to version 2.
const FROM_1: &str = "ALTER TABLE pulls ADD COLUMN base_told TEXT NOT NULL DEFAULT ''; \
     UPDATE pulls SET base_told = base_sha; PRAGMA user_version = 2;";

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("open the forge's database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("open {0}: it is not a SQLite database; move it away or use another --root")]
    Foreign(String),
    #[error(
        "open the forge's database: its schema has version {found}, this program needs {VERSION}; use another --root"
    )]
    Version { found: i64 },
}

#[derive(Debug)]
pub(crate) struct Store {
    read: SqlitePool,
    write: SqlitePool,
}

impl Store {
    /// Opens the file, and creates it if it is missing.
    pub(crate) async fn open(path: &Path) -> Result<Store, StoreError> {
        refuse_foreign(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .foreign_keys(true)
            .busy_timeout(BUSY)
            .create_if_missing(true);
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("temp_store", "memory");
        let write = pool(1).connect_with(writing).await?;
        migrate(&write).await?;
        let read = pool(READERS).connect_lazy_with(options.read_only(true));
        Ok(Store { read, write })
    }

    /// A read-only connection.
    pub(crate) async fn read(&self) -> Result<PoolConnection<Sqlite>, sqlx::Error> {
        self.read.acquire().await
    }

    /// A write transaction; there is one at a time.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.write.begin_with("BEGIN IMMEDIATE").await
    }

    /// Waits for open transactions and closes the file.
    pub(crate) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

/// Refuses a file that is not a database, before SQLite can change it or the log beside it.
fn refuse_foreign(path: &Path) -> Result<(), StoreError> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    match read {
        Ok(_) if start.is_empty() || start == MAGIC => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(StoreError::Foreign(path.display().to_string())),
    }
}

/// A pool whose connections stay open: no server could close them.
fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let row = sqlx::query("SELECT user_version FROM pragma_user_version").fetch_one(pool).await?;
    match row.get::<i64, _>(0) {
        VERSION => Ok(()),
        0 => apply(pool, SCHEMA).await,
        1 => apply(pool, FROM_1).await,
        found => Err(StoreError::Version { found }),
    }
}

async fn apply(pool: &SqlitePool, steps: &'static str) -> Result<(), StoreError> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(steps).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn version_1_is_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forge.db");
        let store = Store::open(&path).await.unwrap();
        let back = "ALTER TABLE pulls DROP COLUMN base_told; PRAGMA user_version = 1;";
        sqlx::raw_sql(back).execute(&store.write).await.unwrap();
        store.close().await;
        let store = Store::open(&path).await.unwrap();
        let row = sqlx::query("SELECT user_version FROM pragma_user_version")
            .fetch_one(&store.write)
            .await
            .unwrap();
        assert_eq!(row.get::<i64, _>(0), VERSION);
        sqlx::raw_sql("SELECT base_told FROM pulls").execute(&store.write).await.unwrap();
    }
}
