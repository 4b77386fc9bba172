//! The database file: making it, opening it, closing it.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::redact::Secrets;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};

use crate::error::{StoreError, is_busy};
use crate::migration;

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// Connections that read; more would only wait for the same disk.
const READERS: u32 = 4;

/// Another process may be making the same database: that takes it milliseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
const TRIES: u32 = 250;

/// Everything Pilot remembers. Cheap to clone; all clones are one database.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) read: SqlitePool,
    pub(crate) write: SqlitePool,
    path: PathBuf,
    secrets: Secrets,
}

impl Store {
    /// Opens the database, makes it when there is none (readable by its owner only), and brings its schema up to date. The
    /// secrets are taken out of every text that is stored.
    pub async fn open(path: &Path, secrets: Secrets) -> Result<Store, StoreError> {
        create(path)?;
        for _ in 0..TRIES {
            match Store::connect(path, &secrets).await {
                // Turning the write-ahead log on does not wait for others; only the first opens of a new file meet this.
                Err(StoreError::Database { source, .. }) if is_busy(&source) => {
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                done => return done,
            }
        }
        Store::connect(path, &secrets).await
    }

    async fn connect(path: &Path, secrets: &Secrets) -> Result<Store, StoreError> {
        let failed = |source| StoreError::database("open the database", path, source);
        let options = SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(BUSY);
        let writing =
            options.clone().journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let write = pool(1).connect_with(writing).await.map_err(failed)?;
        let mut connection = write.acquire().await.map_err(failed)?;
        migration::migrate(&mut connection, path).await?;
        drop(connection);
        let read = pool(READERS).connect_lazy_with(options.read_only(true));
        Ok(Store { read, write, path: path.to_owned(), secrets: secrets.clone() })
    }

    /// Waits for what is under way, and closes the database. Dropping it is safe as well: what was answered is on disk.
    pub async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is taken out of every text that is stored.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Looks whether the file is whole: reads all of it, so it is for `pilot doctor`, not for every start.
    pub async fn check(&self) -> Result<(), StoreError> {
        let doing = self.failing("check the database");
        let found: String = sqlx::query_scalar(CHECK).fetch_one(&self.read).await.map_err(doing)?;
        match found.as_str() {
            "ok" => Ok(()),
            detail => Err(StoreError::Damaged { path: self.path.clone(), detail: detail.to_owned() }),
        }
    }

    /// A transaction that reads and then writes. It has the write lock from its begin: one that takes it later fails
    /// when somebody wrote in between, and no waiting helps.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.write.begin_with("BEGIN IMMEDIATE").await
    }

    /// Names what was asked when the database fails.
    pub(crate) fn failing(&self, doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError + '_ {
        move |source| StoreError::database(doing, &self.path, source)
    }

    /// A text as it may be stored.
    pub(crate) fn safe(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    /// The same where there may be none.
    pub(crate) fn some_safe(&self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.safe(text))
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

/// Makes the file and the directories above it, as far as they are missing. SQLite gives the files beside it the same mode.
fn create(path: &Path) -> Result<(), StoreError> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let made = private_directory().create(parent);
        made.map_err(|source| StoreError::Create { path: parent.to_owned(), source })?;
    }
    match private_file().open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::Create { path: path.to_owned(), source }),
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

const CHECK: &str = "SELECT quick_check FROM pragma_quick_check LIMIT 1";

#[cfg(test)]
mod tests {
    use pilot_core::redact::Secrets;
    use sqlx::{Executor, SqlSafeStr};

    use super::{CHECK, Store};

    /// A statement that names a column nobody made fails here, not in a run.
    #[tokio::test]
    async fn every_statement_prepares() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("pilot.db"), Secrets::none()).await.unwrap();
        let mut connection = store.write.acquire().await.unwrap();
        let ours = [
            crate::execution::STATEMENTS,
            crate::log::STATEMENTS,
            crate::stream::STATEMENTS,
            crate::ledger::STATEMENTS,
            crate::retries::STATEMENTS,
            crate::pipeline::STATEMENTS,
            &[CHECK],
        ];
        for statement in [ours.concat(), crate::durable::STATEMENTS.concat()].concat() {
            let prepared = (&mut *connection).prepare(statement.into_sql_str()).await;
            assert!(prepared.is_ok(), "{statement}: {prepared:?}");
        }
    }
}
