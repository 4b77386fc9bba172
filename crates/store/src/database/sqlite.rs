//! SQLite: one connection writes, a few read. The only room that knows the driver.

mod damage;
mod migration;
mod open;

use std::sync::Arc;

use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqlitePool, SqliteRow, SqliteValueRef};
use sqlx::{Column as _, Decode, Row as _, Sqlite, TypeInfo, ValueRef};

use super::{BoxError, FromRow, Location, Row, Value};
use crate::error::{Result, StoreError};

pub use damage::Kept;
pub use migration::LATEST;

/// An open database. Cheap to clone. Whatever is asked of it comes with words for the error: "… in FILE: it failed".
#[derive(Clone, Debug)]
pub(crate) struct Database {
    read: SqlitePool,
    write: SqlitePool,
    location: Arc<Location>,
}

impl Database {
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    /// Waits for statements in progress, then closes.
    pub(crate) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }

    /// A transaction that reads and then writes. It has the write lock from its begin: one that takes it later fails when
    /// another process wrote in between, and no waiting helps.
    pub(crate) async fn begin(&self, doing: &'static str) -> Result<Transaction> {
        let begun = match self.write.begin_with(BEGIN).await {
            // When the disk is full SQLite ends a transaction by itself, and the driver still counts it as open.
            Err(sqlx::Error::InvalidSavePointStatement) => self.reconnect_and_begin().await,
            begun => begun,
        };
        self.transaction(doing, begun)
    }

    async fn reconnect_and_begin(&self) -> Result<Begun, sqlx::Error> {
        self.write.acquire().await?.close().await?;
        self.write.begin_with(BEGIN).await
    }

    /// A transaction that only reads: all of it sees the same moment.
    pub(crate) async fn snapshot(&self, doing: &'static str) -> Result<Transaction> {
        self.transaction(doing, self.read.begin().await)
    }

    /// Every row of an answer.
    pub(crate) async fn all<T: FromRow>(
        &self,
        doing: &'static str,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>> {
        let failed = |source| failure(doing, &self.location, source);
        all(&mut *self.read.acquire().await.map_err(failed)?, statement, values).await.map_err(failed)
    }

    /// The row of an answer that has at most one.
    pub(crate) async fn optional<T: FromRow>(
        &self,
        doing: &'static str,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<T>> {
        Ok(self.all(doing, statement, values).await?.pop())
    }

    /// The row of an answer that always has one.
    pub(crate) async fn one<T: FromRow>(
        &self,
        doing: &'static str,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<T> {
        let row = self.optional(doing, statement, values).await?;
        row.ok_or_else(|| failure(doing, &self.location, sqlx::Error::RowNotFound))
    }

    /// Writes, and returns how many rows that changed.
    pub(crate) async fn execute(
        &self,
        doing: &'static str,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64> {
        let done = query(statement, values).execute(&self.write).await;
        Ok(done.map_err(|source| failure(doing, &self.location, source))?.rows_affected())
    }

    /// The same as [`Database::one`] on the connection that writes, which exists before the schema does.
    async fn read_schema<T: FromRow>(&self, statement: &'static str) -> Result<T> {
        let failed = |source| failure("read the schema's version", &self.location, source);
        let mut connection = self.write.acquire().await.map_err(failed)?;
        let row = all(&mut connection, statement, &[]).await.map_err(failed)?.pop();
        row.ok_or_else(|| failed(sqlx::Error::RowNotFound))
    }

    fn transaction(&self, doing: &'static str, begun: Result<Begun, sqlx::Error>) -> Result<Transaction> {
        let begun = begun.map_err(|source| failure(doing, &self.location, source))?;
        Ok(Transaction { begun, doing, location: Arc::clone(&self.location) })
    }
}

type Begun = sqlx::Transaction<'static, Sqlite>;

/// A transaction; one that is dropped without a commit changed nothing.
#[derive(Debug)]
pub(crate) struct Transaction {
    begun: Begun,
    doing: &'static str,
    location: Arc<Location>,
}

impl Transaction {
    pub(crate) async fn all<T: FromRow>(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>> {
        let rows = all(&mut self.begun, statement, values).await;
        rows.map_err(|source| failure(self.doing, &self.location, source))
    }

    pub(crate) async fn optional<T: FromRow>(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<T>> {
        Ok(self.all(statement, values).await?.pop())
    }

    pub(crate) async fn one<T: FromRow>(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<T> {
        let row = self.optional(statement, values).await?;
        row.ok_or_else(|| self.fail(sqlx::Error::RowNotFound))
    }

    pub(crate) async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64> {
        let done = query(statement, values).execute(&mut *self.begun).await;
        Ok(done.map_err(|source| failure(self.doing, &self.location, source))?.rows_affected())
    }

    /// Several statements without parameters.
    async fn execute_script(&mut self, script: &'static str) -> Result<()> {
        let done = sqlx::raw_sql(script).execute(&mut *self.begun).await;
        done.map(|_| ()).map_err(|source| failure(self.doing, &self.location, source))
    }

    pub(crate) async fn commit(self) -> Result<()> {
        let Transaction { begun, doing, location } = self;
        begun.commit().await.map_err(|source| failure(doing, &location, source))
    }

    pub(crate) async fn rollback(self) -> Result<()> {
        let Transaction { begun, doing, location } = self;
        begun.rollback().await.map_err(|source| failure(doing, &location, source))
    }

    /// A failure of what this transaction does that is not the database's.
    pub(crate) fn fail(&self, source: impl Into<BoxError>) -> StoreError {
        StoreError::Database { doing: self.doing, location: (*self.location).clone(), source: source.into() }
    }
}

async fn all<T: FromRow>(
    connection: &mut SqliteConnection,
    statement: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<T>, sqlx::Error> {
    let rows = query(statement, values).fetch_all(connection).await?;
    let read =
        |row: &SqliteRow| T::from_row(&mut read_row(row)?).map_err(|bad| sqlx::Error::Decode(bad.into()));
    rows.iter().map(read).collect()
}

fn query<'q>(
    statement: &'static str,
    values: &[Value<'_>],
) -> sqlx::query::Query<'q, Sqlite, SqliteArguments> {
    values.iter().fold(sqlx::query(statement), |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Integer(number) => query.bind(*number),
        Value::Real(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.as_ref()),
        Value::Blob(bytes) => query.bind(bytes.as_ref()),
    })
}

fn read_row(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    let columns = row.columns().iter().enumerate();
    let column = |(index, column): (usize, &sqlx::sqlite::SqliteColumn)| {
        let value = read_value(row.try_get_raw(index)?).map_err(sqlx::Error::Decode)?;
        Ok((column.name().to_owned(), value))
    };
    Ok(Row { columns: columns.map(column).collect::<Result<_, sqlx::Error>>()? })
}

/// By what the value is, not by what its column was declared as.
fn read_value(value: SqliteValueRef<'_>) -> Result<Value<'static>, BoxError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let kind = value.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "INTEGER" => Value::Integer(Decode::<Sqlite>::decode(value)?),
        "REAL" => Value::Real(Decode::<Sqlite>::decode(value)?),
        "TEXT" => Value::from(<String as Decode<Sqlite>>::decode(value)?),
        "BLOB" => Value::Blob(<Vec<u8> as Decode<Sqlite>>::decode(value)?.into()),
        other => return Err(format!("a value of the type {other}").into()),
    })
}

/// Names what was asked, and separates the failures a user can do something about.
fn failure(doing: &'static str, location: &Location, source: sqlx::Error) -> StoreError {
    let location = location.clone();
    match result_code(&source) {
        Some(CORRUPT | NOT_A_DATABASE) => {
            let detail = source.as_database_error().map(|error| error.message().to_owned());
            StoreError::Damaged { location, detail: detail.unwrap_or_default(), kept: Kept::No }
        }
        Some(BUSY | LOCKED) => StoreError::Locked { doing, location },
        Some(FULL) => StoreError::Full { doing, location },
        Some(_) | None => StoreError::Database { doing, location, source: source.into() },
    }
}

/// SQLite's result code, without what its extended codes add.
fn result_code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const NOT_A_DATABASE: i32 = 26;

const BEGIN: &str = "BEGIN IMMEDIATE";

#[cfg(test)]
mod tests {
    use pilot_core::fact::ProjectEvent;
    use pilot_core::id::{Branch, InstanceId, ProjectId, Sha};
    use pilot_core::policy::Policy;
    use pilot_core::redact::Secrets;
    use pilot_core::time::Timestamp;
    use pilot_core::turn::{Applied, ProjectInput, project_turn};
    use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};

    use super::open;
    use crate::database::Value;
    use crate::error::{Result, StoreError};
    use crate::store::Store;

    async fn new_store(home: &tempfile::TempDir) -> Store {
        Store::open(&home.path().join("pilot.db"), Secrets::none()).await.unwrap()
    }

    /// A statement that names a column that does not exist fails here, not in a run.
    #[tokio::test]
    async fn every_statement_prepares() {
        let home = tempfile::tempdir().unwrap();
        let store = new_store(&home).await;
        let mut connection = store.database.write.acquire().await.unwrap();
        let ours = [
            crate::execution::STATEMENTS,
            crate::log::STATEMENTS,
            crate::stream::STATEMENTS,
            crate::ledger::STATEMENTS,
            crate::retries::STATEMENTS,
            crate::classification::STATEMENTS,
            crate::pipeline::STATEMENTS,
            &[open::CHECK],
        ];
        for statement in [ours.concat(), crate::durable::ALL_STATEMENTS.concat()].concat() {
            let prepared = (&mut *connection).prepare(statement.into_sql_str()).await;
            assert!(prepared.is_ok(), "{statement}: {prepared:?}");
        }
    }

    /// It costs the same however much else is stored.
    #[tokio::test]
    async fn statements_of_every_tick_are_answered_by_an_index() {
        let home = tempfile::tempdir().unwrap();
        let store = new_store(&home).await;
        for (statement, index) in crate::durable::INDEXED {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let rows = sqlx::query(explain).fetch_all(&store.database.write).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| sqlx::Row::get(row, "detail")).collect();
            let plan = plan.join("; ");
            assert!(plan.contains(index), "{statement}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
        }
    }

    #[tokio::test]
    async fn every_kind_of_value_is_read_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let store = new_store(&home).await;
        let mut transaction = store.database.begin("test").await.unwrap();
        for value in [
            Value::Null,
            Value::from(i64::MIN),
            Value::from(u64::MAX),
            Value::from(1.0),
            Value::from(""),
            Value::from("a\u{0}b"),
            Value::from(&[0, 255][..]),
        ] {
            let query = super::query("SELECT $1 AS value", std::slice::from_ref(&value));
            let row = query.fetch_one(&mut *transaction.begun).await.unwrap();
            assert_eq!(super::read_row(&row).unwrap().columns, [("value".to_owned(), value)]);
        }
        let wrong: Result<(i64,)> = transaction.one("SELECT 'seven' AS answer", &[]).await;
        assert!(wrong.unwrap_err().to_string().contains("column answer: Text(\"seven\") is not i64"));
    }

    #[tokio::test]
    async fn a_full_disk_is_an_error_and_loses_nothing() {
        let home = tempfile::tempdir().unwrap();
        let store = new_store(&home).await;
        assert_eq!(spend(&store, "a little").await.unwrap(), Applied::Written);
        let (known, version) =
            (store.load_project(&project()).await.unwrap(), store.version().await.unwrap());
        // What a full disk answers, without filling one: the file may not grow any more.
        let pages = sqlx::query_scalar("PRAGMA page_count").fetch_one(&store.database.write).await.unwrap();
        limit_pages(&store, pages).await;
        let refused = spend(&store, &"x".repeat(100_000)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
        assert!(refused.to_string().contains("the disk is full; nothing of this was written"), "{refused}");
        assert_eq!(store.load_project(&project()).await.unwrap(), known);
        assert_eq!(store.version().await.unwrap(), version);
        limit_pages(&store, 1_000_000).await;
        assert_eq!(spend(&store, &"x".repeat(100_000)).await.unwrap(), Applied::Written);
        store.check().await.unwrap();
    }

    fn project() -> ProjectId {
        ProjectId::parse("github:acme/app").unwrap()
    }

    async fn spend(store: &Store, why: &str) -> Result<Applied> {
        let policy = Policy::new(Branch::parse("main").unwrap());
        let commit = Sha::parse(&"0".repeat(40)).unwrap();
        let event = ProjectEvent::Tagged { tag: why.to_owned(), commit };
        let loaded = store.load_project(&project()).await.unwrap();
        let input = ProjectInput { event, settles: None };
        let turn = project_turn(&loaded, Some(&input), &policy, Timestamp(0));
        store.apply(&turn, &InstanceId::parse("i").unwrap(), Timestamp(0)).await
    }

    async fn limit_pages(store: &Store, pages: i64) {
        let limit = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::raw_sql(limit).execute(&store.database.write).await.unwrap();
    }
}
