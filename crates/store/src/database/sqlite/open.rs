//! The database file: creating, opening and checking it.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::damage::{self, Kept};
use super::{Database, failure, migration};
use crate::database::Location;
use crate::error::{Result, StoreError};

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// Connections that read; more would only wait for the same disk.
const READERS: u32 = 2;

/// Another process may be creating the same database: that takes it milliseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

impl Database {
    /// Opens the file, creates it where it is missing (readable by its owner only), and brings its schema up to date. A
    /// damaged one is refused, and copied.
    pub(crate) async fn open(path: &Path) -> Result<Database> {
        Database::open_within(path, BUSY).await
    }

    /// The same with another limit on how long it, and every later statement, waits for other processes.
    pub(super) async fn open_within(path: &Path, busy: Duration) -> Result<Database> {
        damage::refuse_lone_log(path).map_err(damage::keep)?;
        damage::refuse_other_file(path).map_err(damage::keep)?;
        create(path)?;
        let deadline = tokio::time::sleep(busy).deadline();
        loop {
            let pause = match Database::connect(path, busy).await {
                // Turning the write-ahead log on does not wait for other processes; only the first opens of a new file
                // get here.
                Err(locked @ StoreError::Locked { .. }) => {
                    let pause = tokio::time::sleep(BETWEEN_TRIES);
                    if pause.deadline() > deadline {
                        return Err(locked);
                    }
                    pause
                }
                done => return done.map_err(damage::keep),
            };
            pause.await;
        }
    }

    async fn connect(path: &Path, busy: Duration) -> Result<Database> {
        let location = Arc::new(Location::from(path));
        let options = SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(busy);
        let writing =
            options.clone().journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let write = pool(1).connect_with(writing).await;
        let write = write.map_err(|source| failure("open the database", &location, source))?;
        let read = pool(READERS).connect_lazy_with(options.read_only(true));
        let database = Database { read, write, location };
        migration::migrate(&database, &migration::MIGRATIONS).await?;
        Ok(database)
    }

    /// Reads the whole file to see whether it is damaged; a damaged one is copied.
    pub(crate) async fn check(&self) -> Result<()> {
        let (found,): (String,) = self.one("check the database", CHECK, &[]).await.map_err(damage::keep)?;
        if found == "ok" {
            return Ok(());
        }
        let location = self.location().clone();
        Err(damage::keep(StoreError::Damaged { location, detail: found, kept: Kept::No }))
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

/// Creates the file and the directories above it where they are missing. SQLite gives the files beside it the same mode.
fn create(path: &Path) -> Result<()> {
    let failed = |path: &Path, source| StoreError::Create { location: path.into(), source };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        private_directory().create(parent).map_err(|source| failed(parent, source))?;
    }
    match private_file().open(path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(failed(path, source)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(super) const CHECK: &str = "SELECT quick_check FROM pragma_quick_check LIMIT 1";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, Connection};

    use crate::database::Database;
    use crate::error::StoreError;

    #[tokio::test]
    async fn a_locked_database_is_reported_and_usable_afterwards() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilot.db");
        let open = || Database::open_within(&path, Duration::from_millis(1));
        let (one, other) = (open().await.unwrap(), open().await.unwrap());
        let held = other.begin("hold it").await.unwrap();
        let refused = one.begin("write").await.unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        assert!(refused.to_string().contains("another process holds the database"), "{refused}");
        held.rollback().await.unwrap();
        one.begin("write").await.unwrap().commit().await.unwrap();
        other.close().await;
        one.close().await;

        let mut alone = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::raw_sql("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").execute(&mut alone).await.unwrap();
        let refused = open().await.unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        alone.close().await.unwrap();
        open().await.unwrap();
    }
}
