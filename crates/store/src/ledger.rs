//! Money: what runs have cost, and what running ones have reserved.
//!
//! A run is let in and reserves in one transaction, and is charged in the one that ends it; whoever dies in between is found
//! by its owner, and leaves what was known of its cost.

use std::time::Duration;

use pilot_core::budget::{Admission, Basis, Charge, Level, Limit, Spent, Standing, Usd, Window};
use sqlx::{Sqlite, SqliteExecutor, Transaction};

use crate::column::{column, count, row};
use crate::error::StoreError;
use crate::execution::{Execution, Finish, Owner, RunId, Status};
use crate::open::Store;
use crate::time::Micros;

/// No run costs or takes more. What says so is garbage, and must not make sums overflow.
const MOST_MICROS: u64 = 1_000_000_000_000;
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_MS: u64 = 1_000_000_000_000;

/// A run that wants to start.
#[derive(Clone, Debug)]
pub struct Applicant {
    /// Its id.
    pub run: RunId,
    /// The task's key.
    pub task_id: String,
    /// The project's directory.
    pub project_path: String,
    /// When it asks.
    pub at: Micros,
    /// Who will run it.
    pub owner: Owner,
}

row! {
    /// What a run was charged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LedgerRow {
        /// The run.
        pub execution_id: RunId,
        /// The task's key.
        pub task_id: String,
        /// The task in one line.
        pub title: String,
        /// How the run ended.
        pub status: Status,
        /// The model.
        pub model: Option<String>,
        /// When it was charged: when it ended.
        pub charged_at: Micros,
        /// How much.
        pub usd_micros: Usd,
        /// Tokens, but for those read from a cache.
        pub tokens: u64,
        /// For how long its agent ran, in milliseconds.
        pub agent_ms: u64,
        /// Where the amount comes from.
        pub basis: Basis,
    }
}

row! {
    /// Sums of the ledger.
    #[derive(Clone, Copy, Debug)]
    struct Sums {
        /// Today's.
        today: Usd,
        /// This month's.
        this_month: Usd,
        /// What is reserved.
        reserved: Usd,
    }
}

row! {
    /// What all runs of a task took.
    #[derive(Clone, Copy, Debug)]
    struct TaskSums {
        /// Money.
        usd: Usd,
        /// Tokens.
        tokens: u64,
        /// Milliseconds.
        agent_ms: u64,
    }
}

row! {
    /// Whose a reserve is.
    #[derive(Clone, Debug)]
    struct Reserved {
        /// The run.
        execution_id: RunId,
        /// The process.
        owner_pid: u32,
        /// When that process started.
        owner_started: String,
    }
}

column!(Usd, i64, |raw| u64::try_from(raw).map(Usd::from_micros));
column!(Basis, String, |raw| Basis::parse(&raw).ok_or(UnknownBasis(raw)));

/// A word that is no basis of a charge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no basis of a charge")]
struct UnknownBasis(String);

impl Store {
    /// Lets a run in, or not: `decide` sees what is charged and reserved, and what it lets in is reserved before anybody else
    /// looks. A run that asks again asks for another reserve in place of its own. Also gives what it saw, for [`Watch`](pilot_core::budget::Watch).
    pub async fn admit(
        &self,
        applicant: &Applicant,
        window: &Window,
        decide: impl FnOnce(&Standing) -> Admission,
    ) -> Result<(Admission, Standing), StoreError> {
        let failed = self.failing("reserve for a run");
        let mut transaction = self.begin().await.map_err(&failed)?;
        let standing = standing(&mut *transaction, window, Some(&applicant.run)).await.map_err(&failed)?;
        let admission = decide(&standing);
        if let Admission::Go { reserve, .. } = &admission {
            sqlx::query(RESERVE)
                .bind(applicant.run.as_str())
                .bind(&applicant.task_id)
                .bind(&applicant.project_path)
                .bind(applicant.at.0)
                .bind(micros(*reserve))
                .bind(i64::from(applicant.owner.pid))
                .bind(&applicant.owner.started)
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)?;
        Ok((admission, standing))
    }

    /// Remembers what a running run has cost so far: more than its reserve counts as reserved, and what is left of it if it dies.
    pub async fn note_spent(&self, run: &RunId, charge: &Charge) -> Result<(), StoreError> {
        bind(sqlx::query(NOTE).bind(run.as_str()), charge)
            .execute(&self.write)
            .await
            .map_err(self.failing("remember what a run has cost so far"))?;
        Ok(())
    }

    /// Releases what a run has reserved that was let in and then never began, and charges what it has cost all the same.
    pub async fn release(&self, run: &RunId, at: Micros) -> Result<(), StoreError> {
        let failed = self.failing("release what a run reserved");
        let mut transaction = self.begin().await.map_err(&failed)?;
        settle_from_reserve(&mut transaction, run, at).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)
    }

    /// Releases what runs have reserved whose owner is not alive, and charges what was known of their cost. Says how many.
    pub async fn release_dead(
        &self,
        alive: impl Fn(&Owner) -> bool,
        at: Micros,
    ) -> Result<usize, StoreError> {
        let failed = self.failing("release what dead runs reserved");
        let reserved: Vec<Reserved> =
            sqlx::query_as(RESERVED).fetch_all(&self.read).await.map_err(&failed)?;
        let owner = |row: &Reserved| Owner { pid: row.owner_pid, started: row.owner_started.clone() };
        let dead: Vec<Reserved> = reserved.into_iter().filter(|row| !alive(&owner(row))).collect();
        for row in &dead {
            let mut transaction = self.begin().await.map_err(&failed)?;
            settle_from_reserve(&mut transaction, &row.execution_id, at).await.map_err(&failed)?;
            transaction.commit().await.map_err(&failed)?;
        }
        Ok(dead.len())
    }

    /// What is charged and reserved now; without the reserve of `besides`, which asks about the others.
    pub async fn standing(&self, window: &Window, besides: Option<&RunId>) -> Result<Standing, StoreError> {
        standing(&self.read, window, besides).await.map_err(self.failing("sum up what was spent"))
    }

    /// What earlier runs of a task took.
    pub async fn spent_on(&self, project_path: &str, task_id: &str) -> Result<Spent, StoreError> {
        let sums: TaskSums = sqlx::query_as(OF_TASK)
            .bind(project_path)
            .bind(task_id)
            .fetch_one(&self.read)
            .await
            .map_err(self.failing("sum up what a task has cost"))?;
        Ok(Spent { tokens: sums.tokens, usd: sums.usd, time: Duration::from_millis(sums.agent_ms) })
    }

    /// The last charges, newest first.
    pub async fn charges(&self, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        sqlx::query_as(RECENT)
            .bind(i64::from(limit))
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("list what runs have cost"))
    }

    /// Whether a warning is the first of its kind on the day that began then; later ones are not told.
    pub async fn is_first_warning(
        &self,
        limit: Limit,
        level: Level,
        day: Micros,
        at: Micros,
    ) -> Result<bool, StoreError> {
        let failed = self.failing("remember a warning");
        let subject = format!("{} {}", limit.as_str(), level.as_str());
        let mut transaction = self.begin().await.map_err(&failed)?;
        sqlx::query(FORGET_WARNINGS).bind(day.0).execute(&mut *transaction).await.map_err(&failed)?;
        let told = sqlx::query(WARN).bind(subject).bind(day.0).bind(at.0);
        let told = told.execute(&mut *transaction).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(told.rows_affected() == 1)
    }
}

/// Charges a run that ends, and releases its reserve: part of the transaction that ends it.
pub(crate) async fn settle(
    transaction: &mut Transaction<'static, Sqlite>,
    run: &Execution,
    finish: &Finish,
) -> Result<(), sqlx::Error> {
    let Some(charge) = &finish.charge else {
        return settle_from_reserve(transaction, &run.id, finish.completed_at).await;
    };
    let charged = sqlx::query(CHARGE)
        .bind(run.id.as_str())
        .bind(&run.task_id)
        .bind(&run.project_path)
        .bind(finish.completed_at.0);
    bind(charged, charge).execute(&mut **transaction).await?;
    sqlx::query(RELEASE).bind(run.id.as_str()).execute(&mut **transaction).await?;
    Ok(())
}

/// The same for a run of which nobody knows more than it had told.
async fn settle_from_reserve(
    transaction: &mut Transaction<'static, Sqlite>,
    run: &RunId,
    at: Micros,
) -> Result<(), sqlx::Error> {
    sqlx::query(CHARGE_FROM_RESERVE).bind(run.as_str()).bind(at.0).execute(&mut **transaction).await?;
    sqlx::query(RELEASE).bind(run.as_str()).execute(&mut **transaction).await?;
    Ok(())
}

async fn standing(
    executor: impl SqliteExecutor<'_>,
    window: &Window,
    besides: Option<&RunId>,
) -> Result<Standing, sqlx::Error> {
    let sums: Sums = sqlx::query_as(SUMS)
        .bind(window.day.start)
        .bind(window.day.end)
        .bind(window.month.start)
        .bind(window.month.end)
        .bind(besides.map_or("", RunId::as_str))
        .fetch_one(executor)
        .await?;
    Ok(Standing { today: sums.today, this_month: sums.this_month, reserved: sums.reserved })
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

/// The four columns of a charge.
fn bind<'q>(query: Query<'q>, charge: &Charge) -> Query<'q> {
    let millis = u64::try_from(charge.spent.time.as_millis()).unwrap_or(u64::MAX);
    query
        .bind(micros(charge.spent.usd))
        .bind(count(charge.spent.tokens.min(MOST_TOKENS)))
        .bind(count(millis.min(MOST_MS)))
        .bind(charge.basis.as_str())
}

fn micros(usd: Usd) -> i64 {
    count(usd.micros().min(MOST_MICROS))
}

const RESERVE: &str = "INSERT INTO reservations (execution_id, task_id, project_path, reserved_at, reserved_micros, \
     usd_micros, tokens, agent_ms, basis, owner_pid, owner_started) \
     VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 'reported', $6, $7) \
     ON CONFLICT (execution_id) DO UPDATE SET reserved_micros = excluded.reserved_micros";

const NOTE: &str =
    "UPDATE reservations SET usd_micros = $2, tokens = $3, agent_ms = $4, basis = $5 WHERE execution_id = $1";

const RELEASE: &str = "DELETE FROM reservations WHERE execution_id = $1";

const RESERVED: &str = "SELECT execution_id, owner_pid, owner_started FROM reservations";

const CHARGE: &str = "INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, agent_ms, basis) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

const CHARGE_FROM_RESERVE: &str = "INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, \
     agent_ms, basis) SELECT execution_id, task_id, project_path, $2, usd_micros, tokens, agent_ms, basis FROM reservations \
     WHERE execution_id = $1 AND (usd_micros > 0 OR tokens > 0) ON CONFLICT DO NOTHING";

/// A run that has cost more than it reserved holds what it has cost.
const SUMS: &str = "SELECT \
     (SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) FROM ledger WHERE charged_at >= $1 AND charged_at < $2) AS today, \
     (SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) FROM ledger WHERE charged_at >= $3 AND charged_at < $4) AS this_month, \
     (SELECT CAST(COALESCE(SUM(CASE WHEN usd_micros > reserved_micros THEN usd_micros ELSE reserved_micros END), 0) AS BIGINT) \
      FROM reservations WHERE execution_id <> $5) AS reserved";

const OF_TASK: &str = "SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) AS usd, \
     CAST(COALESCE(SUM(tokens), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(agent_ms), 0) AS BIGINT) AS agent_ms \
     FROM ledger WHERE project_path = $1 AND task_id = $2";

const RECENT: &str = "SELECT ledger.execution_id, ledger.task_id, executions.title, executions.status, executions.model, \
     ledger.charged_at, ledger.usd_micros, ledger.tokens, ledger.agent_ms, ledger.basis \
     FROM ledger JOIN executions ON executions.id = ledger.execution_id \
     ORDER BY ledger.charged_at DESC, ledger.execution_id DESC LIMIT $1";

const WARN: &str =
    "INSERT INTO budget_warnings (subject, day, told_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

const FORGET_WARNINGS: &str = "DELETE FROM budget_warnings WHERE day < $1";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[
    RESERVE,
    NOTE,
    RELEASE,
    RESERVED,
    CHARGE,
    CHARGE_FROM_RESERVE,
    SUMS,
    OF_TASK,
    RECENT,
    WARN,
    FORGET_WARNINGS,
];
