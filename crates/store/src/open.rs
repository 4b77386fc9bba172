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

use crate::damage::{self, Kept};
use crate::error::StoreError;
use crate::migration;

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// Connections that read; more would only wait for the same disk.
const READERS: u32 = 2;

/// Another process may be making the same database: that takes it milliseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

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
    /// secrets are taken out of every text that is stored. A damaged one is refused, and a copy of it kept beside it.
    pub async fn open(path: &Path, secrets: Secrets) -> Result<Store, StoreError> {
        Store::open_within(path, &secrets, BUSY).await
    }

    /// Opens it, and waits so long for others: also for each statement later.
    async fn open_within(path: &Path, secrets: &Secrets, busy: Duration) -> Result<Store, StoreError> {
        damage::refuse_lone_log(path).map_err(damage::keep)?;
        damage::refuse_stranger(path).map_err(damage::keep)?;
        create(path)?;
        let deadline = tokio::time::sleep(busy).deadline();
        loop {
            let pause = match Store::connect(path, secrets, busy).await {
                // Turning the write-ahead log on does not wait for others; only the first opens of a new file meet this.
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

    async fn connect(path: &Path, secrets: &Secrets, busy: Duration) -> Result<Store, StoreError> {
        let failed = |source| StoreError::database("open the database", path, source);
        let options = SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(busy);
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

    /// Looks whether the file is whole: reads all of it, so it is for `pilot doctor` and the start of a daemon, not for every
    /// command. A damaged one is copied.
    pub async fn check(&self) -> Result<(), StoreError> {
        let doing = self.failing("check the database");
        let found: String = match sqlx::query_scalar(CHECK).fetch_one(&self.read).await {
            Ok(found) => found,
            Err(source) => return Err(damage::keep(doing(source))),
        };
        match found.as_str() {
            "ok" => Ok(()),
            detail => {
                let (path, detail) = (self.path.clone(), detail.to_owned());
                Err(damage::keep(StoreError::Damaged { path, detail, kept: Kept::No }))
            }
        }
    }

    /// A transaction that reads and then writes. It has the write lock from its begin: one that takes it later fails
    /// when somebody wrote in between, and no waiting helps.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        match self.write.begin_with(BEGIN).await {
            // When the disk is full SQLite ends a transaction by itself, and the driver goes on counting it.
            Err(sqlx::Error::InvalidSavePointStatement) => {
                self.write.acquire().await?.close().await?;
                self.write.begin_with(BEGIN).await
            }
            begun => begun,
        }
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

const BEGIN: &str = "BEGIN IMMEDIATE";

const CHECK: &str = "SELECT quick_check FROM pragma_quick_check LIMIT 1";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pilot_core::fact::ProjectHappened;
    use pilot_core::name::{Branch, InstanceId, ProjectId};
    use pilot_core::policy::Policy;
    use pilot_core::redact::Secrets;
    use pilot_core::time::Timestamp;
    use pilot_core::turn::{Applied, ProjectInput, project_turn};
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{AssertSqlSafe, ConnectOptions, Executor, SqlSafeStr};

    use super::{CHECK, Store};
    use crate::error::StoreError;

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

    #[tokio::test]
    async fn a_locked_database_says_so_and_is_fine_afterwards() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilot.db");
        let none = Secrets::none();
        let open = || Store::open_within(&path, &none, Duration::from_millis(1));
        let (store, other) = (open().await.unwrap(), open().await.unwrap());
        let held = other.begin().await.unwrap();
        let refused = store.renew(&InstanceId::parse("i").unwrap(), Timestamp(0)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        assert!(refused.to_string().contains("another process holds the database"), "{refused}");
        held.rollback().await.unwrap();
        store.renew(&InstanceId::parse("i").unwrap(), Timestamp(0)).await.unwrap();
        other.close().await;
        store.close().await;

        let mut alone = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::raw_sql("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").execute(&mut alone).await.unwrap();
        let refused = open().await.unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        sqlx::Connection::close(alone).await.unwrap();
        open().await.unwrap();
    }

    #[tokio::test]
    async fn a_full_disk_is_an_error_and_loses_nothing() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("pilot.db"), Secrets::none()).await.unwrap();
        assert_eq!(spent(&store, "a little").await.unwrap(), Applied::Written);
        let (known, version) =
            (store.load_project(&project()).await.unwrap(), store.version().await.unwrap());
        // What a full disk answers, without filling one: the file may not grow any more.
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&store.write).await.unwrap();
        limit_pages(&store, pages).await;
        let refused = spent(&store, &"x".repeat(100_000)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
        assert!(refused.to_string().contains("the disk is full; nothing of this was written"), "{refused}");
        assert_eq!(store.load_project(&project()).await.unwrap(), known);
        assert_eq!(store.version().await.unwrap(), version);
        limit_pages(&store, 1_000_000).await;
        assert_eq!(spent(&store, &"x".repeat(100_000)).await.unwrap(), Applied::Written);
        store.check().await.unwrap();
    }

    fn project() -> ProjectId {
        ProjectId::parse("github:acme/app").unwrap()
    }

    async fn spent(store: &Store, why: &str) -> Result<Applied, StoreError> {
        let policy = Policy::new(Branch::parse("main").unwrap());
        let happened = ProjectHappened::BudgetSpent { why: why.to_owned() };
        let loaded = store.load_project(&project()).await.unwrap();
        let input = ProjectInput { happened, settles: None };
        let turn = project_turn(&loaded, Some(&input), &policy, Timestamp(0));
        store.apply(&turn, &InstanceId::parse("i").unwrap(), Timestamp(0)).await
    }

    async fn limit_pages(store: &Store, pages: i64) {
        let limit = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::raw_sql(limit).execute(&store.write).await.unwrap();
    }
}
