//! The database file: making it, opening it, closing it.

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

/// How long a statement waits for somebody who looks into the file from outside.
const BUSY: Duration = Duration::from_secs(10);

/// How every SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

const SCHEMA: &str = include_str!("schema.sql");

/// The version of the schema that this program writes.
const VERSION: i64 = 2;

/// What makes the second version of the first.
const FROM_1: &str = "ALTER TABLE pulls ADD COLUMN base_told TEXT NOT NULL DEFAULT ''; \
     UPDATE pulls SET base_told = base_sha; PRAGMA user_version = 2;";

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("use the forge's database: {0}")]
    Database(#[from] sqlx::Error),
    /// A file of another kind has its place.
    #[error("use {0}: it is no database; move it away or use another --root")]
    Foreign(String),
    /// A schema of another version.
    #[error(
        "use the forge's database: its schema has version {found}, this program writes {VERSION}; use another --root"
    )]
    Version {
        /// The version there.
        found: i64,
    },
}

/// The database.
#[derive(Debug)]
pub(crate) struct Store {
    read: SqlitePool,
    write: SqlitePool,
}

impl Store {
    /// Opens the file, and makes it when there is none.
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

    /// A connection that reads.
    pub(crate) async fn read(&self) -> Result<PoolConnection<Sqlite>, sqlx::Error> {
        self.read.acquire().await
    }

    /// A transaction that may write; there is one at a time.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.write.begin_with("BEGIN IMMEDIATE").await
    }

    /// Waits for what is under way, and closes the file.
    pub(crate) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

/// Refuses what is no database, before SQLite can touch it or the log beside it.
fn refuse_foreign(path: &Path) -> Result<(), StoreError> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    match read {
        Ok(_) if start.is_empty() || start == MAGIC => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(StoreError::Foreign(path.display().to_string())),
    }
}

/// Connections that stay open: there is no server that could close them.
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
    async fn a_file_of_the_first_version_is_brought_up() {
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
