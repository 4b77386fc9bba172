//! Money: what runs have cost, and what running ones have reserved.
//!
//! A run is admitted and reserves in one transaction, and is charged in the one that ends it. When its process dies in
//! between, the next process finds that by its owner, and charges the cost the run had reported.

use std::time::Duration;

use pilot_core::budget::{Basis, BudgetAdmission, BudgetLevel, Charge, Limit, Spent, Standing, Usd, Window};
use pilot_core::time::Timestamp;

use crate::database::{Transaction, Value, column, row, statements, values, word_column};
use crate::error::Result;
use crate::execution::{Execution, ExecutionStatus, Finish, Owner, RunId};
use crate::store::Store;

/// No run costs or takes more: a report beyond these is garbage, and must not make sums overflow.
const MOST_MICROS: u64 = 1_000_000_000_000;
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_MS: u64 = 1_000_000_000_000;

/// A run that wants to start.
#[derive(Clone, Debug)]
pub struct Applicant {
    pub run: RunId,
    pub task_id: String,
    pub project_path: String,
    pub at: Timestamp,
    pub owner: Owner,
}

row! {
    /// What a run was charged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LedgerRow {
        pub execution_id: RunId,
        pub task_id: String,
        /// The task in one line.
        pub title: String,
        pub status: ExecutionStatus,
        pub model: Option<String>,
        /// When it was charged: when it ended.
        pub charged_at: Timestamp,
        pub usd_micros: Usd,
        /// Without those read from a cache.
        pub tokens: u64,
        /// How long its agent ran.
        pub agent_ms: u64,
        pub basis: Basis,
    }
}

row! {
    #[derive(Clone, Copy, Debug)]
    struct Sums {
        today: Usd,
        this_month: Usd,
        reserved: Usd,
    }
}

row! {
    /// What all runs of a task used.
    #[derive(Clone, Copy, Debug)]
    struct TaskSums {
        usd: Usd,
        tokens: u64,
        agent_ms: u64,
    }
}

row! {
    /// The process a reserve belongs to.
    #[derive(Clone, Debug)]
    struct Reserved {
        execution_id: RunId,
        owner_pid: u32,
        owner_started: String,
    }
}

column!(Usd, i64, |raw| u64::try_from(raw).map(Usd::from_micros));
word_column!(Basis, "a basis of a charge");

impl Store {
    /// Admits a run, or not: `decide` gets what is charged and reserved, and what it admits is reserved in the same
    /// transaction. A run that applies again replaces its own reserve. Also returns what `decide` got, for
    /// [`Watch`](pilot_core::budget::CostWatch).
    pub async fn admit(
        &self,
        applicant: &Applicant,
        window: &Window,
        decide: impl FnOnce(&Standing) -> BudgetAdmission,
    ) -> Result<(BudgetAdmission, Standing)> {
        let mut transaction = self.database.begin("reserve for a run").await?;
        let standing = read_standing(&mut transaction, window, Some(&applicant.run)).await?;
        let admission = decide(&standing);
        if let BudgetAdmission::Go { reserve, .. } = &admission {
            let values = values![
                applicant.run.as_str(),
                &applicant.task_id,
                &applicant.project_path,
                applicant.at,
                bounded_micros(*reserve),
                applicant.owner.pid,
                &applicant.owner.started,
            ];
            transaction.execute(RESERVE, values).await?;
        }
        transaction.commit().await?;
        Ok((admission, standing))
    }

    /// Stores what a running run has cost so far: where that is more than its reserve it counts instead of it, and it is
    /// charged if the run's process dies.
    pub async fn note_spent(&self, run: &RunId, charge: &Charge) -> Result<()> {
        let [usd, tokens, millis, basis] = charge_values(charge);
        let values = &[run.as_str().into(), usd, tokens, millis, basis];
        self.database.execute("store what a run has cost so far", NOTE, values).await?;
        Ok(())
    }

    /// Releases the reserve of a run that was admitted and never began, and charges what it has cost all the same.
    pub async fn release(&self, run: &RunId, at: Timestamp) -> Result<()> {
        let mut transaction = self.database.begin("release the reserve of a run").await?;
        settle_from_reserve(&mut transaction, run, at).await?;
        transaction.commit().await
    }

    /// Releases the reserves of runs whose process is not alive, and charges the cost they had reported. Returns how many.
    pub async fn release_dead(&self, alive: impl Fn(&Owner) -> bool, at: Timestamp) -> Result<usize> {
        let doing = "release the reserves of dead runs";
        let reserved: Vec<Reserved> = self.database.all(doing, RESERVED, &[]).await?;
        let owner = |row: &Reserved| Owner { pid: row.owner_pid, started: row.owner_started.clone() };
        let dead: Vec<Reserved> = reserved.into_iter().filter(|row| !alive(&owner(row))).collect();
        for row in &dead {
            let mut transaction = self.database.begin(doing).await?;
            settle_from_reserve(&mut transaction, &row.execution_id, at).await?;
            transaction.commit().await?;
        }
        Ok(dead.len())
    }

    /// What is charged and reserved now, without the reserve of the run `besides`.
    pub async fn standing(&self, window: &Window, besides: Option<&RunId>) -> Result<Standing> {
        let mut transaction = self.database.snapshot("sum up what was spent").await?;
        read_standing(&mut transaction, window, besides).await
    }

    /// What earlier runs of a task used.
    pub async fn spent_on(&self, project_path: &str, task_id: &str) -> Result<Spent> {
        let values = values![project_path, task_id];
        let sums: TaskSums = self.database.one("sum up what a task has cost", OF_TASK, values).await?;
        Ok(Spent { tokens: sums.tokens, usd: sums.usd, time: Duration::from_millis(sums.agent_ms) })
    }

    /// The last charges, newest first.
    pub async fn charges(&self, limit: u32) -> Result<Vec<LedgerRow>> {
        self.database.all("list what runs have cost", RECENT, values![limit]).await
    }

    /// Whether a warning is the first of its kind on the day that began at `day`.
    pub async fn is_first_warning(
        &self,
        limit: Limit,
        level: BudgetLevel,
        day: Timestamp,
        at: Timestamp,
    ) -> Result<bool> {
        let subject = format!("{} {}", limit.as_str(), level.as_str());
        let mut transaction = self.database.begin("store a warning").await?;
        transaction.execute(FORGET_WARNINGS, values![day]).await?;
        let stored = transaction.execute(WARN, values![subject, day, at]).await?;
        transaction.commit().await?;
        Ok(stored == 1)
    }
}

/// Charges a run that ends, and releases its reserve: part of the transaction that ends it.
pub(crate) async fn settle(transaction: &mut Transaction, run: &Execution, finish: &Finish) -> Result<()> {
    let Some(charge) = &finish.charge else {
        return settle_from_reserve(transaction, &run.id, finish.completed_at).await;
    };
    let [usd, tokens, millis, basis] = charge_values(charge);
    let (task, project) = (Value::from(&run.task_id), Value::from(&run.project_path));
    let values =
        [run.id.as_str().into(), task, project, finish.completed_at.into(), usd, tokens, millis, basis];
    transaction.execute(CHARGE, &values).await?;
    transaction.execute(RELEASE, values![run.id.as_str()]).await?;
    Ok(())
}

/// The same for a run of which no more is known than the cost it reported while it ran.
async fn settle_from_reserve(transaction: &mut Transaction, run: &RunId, at: Timestamp) -> Result<()> {
    transaction.execute(CHARGE_FROM_RESERVE, values![run.as_str(), at]).await?;
    transaction.execute(RELEASE, values![run.as_str()]).await?;
    Ok(())
}

async fn read_standing(
    transaction: &mut Transaction,
    Window { day, month }: &Window,
    besides: Option<&RunId>,
) -> Result<Standing> {
    let besides = besides.map_or("", RunId::as_str);
    let values = values![day.start, day.end, month.start, month.end, besides];
    let Sums { today, this_month, reserved } = transaction.one(SUMS, values).await?;
    Ok(Standing { today, this_month, reserved })
}

/// The four columns of a charge.
fn charge_values(charge: &Charge) -> [Value<'static>; 4] {
    let millis = u64::try_from(charge.spent.time.as_millis()).unwrap_or(u64::MAX);
    [
        bounded_micros(charge.spent.usd).into(),
        charge.spent.tokens.min(MOST_TOKENS).into(),
        millis.min(MOST_MS).into(),
        charge.basis.as_str().into(),
    ]
}

fn bounded_micros(usd: Usd) -> u64 {
    usd.micros().min(MOST_MICROS)
}

statements! {
    RESERVE = "INSERT INTO reservations (execution_id, task_id, project_path, reserved_at, reserved_micros, \
        usd_micros, tokens, agent_ms, basis, owner_pid, owner_started) \
        VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 'reported', $6, $7) \
        ON CONFLICT (execution_id) DO UPDATE SET reserved_micros = excluded.reserved_micros";
    NOTE = "UPDATE reservations SET usd_micros = $2, tokens = $3, agent_ms = $4, basis = $5 WHERE execution_id = $1";
    RELEASE = "DELETE FROM reservations WHERE execution_id = $1";
    RESERVED = "SELECT execution_id, owner_pid, owner_started FROM reservations";
    CHARGE = "INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, agent_ms, basis) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
    CHARGE_FROM_RESERVE = "INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, \
        agent_ms, basis) SELECT execution_id, task_id, project_path, $2, usd_micros, tokens, agent_ms, basis FROM reservations \
        WHERE execution_id = $1 AND (usd_micros > 0 OR tokens > 0) ON CONFLICT DO NOTHING";
    /// A run that has cost more than it reserved holds what it has cost.
    SUMS = "SELECT \
        (SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) FROM ledger WHERE charged_at >= $1 AND charged_at < $2) AS today, \
        (SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) FROM ledger WHERE charged_at >= $3 AND charged_at < $4) AS this_month, \
        (SELECT CAST(COALESCE(SUM(CASE WHEN usd_micros > reserved_micros THEN usd_micros ELSE reserved_micros END), 0) AS BIGINT) \
        FROM reservations WHERE execution_id <> $5) AS reserved";
    OF_TASK = "SELECT CAST(COALESCE(SUM(usd_micros), 0) AS BIGINT) AS usd, \
        CAST(COALESCE(SUM(tokens), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(agent_ms), 0) AS BIGINT) AS agent_ms \
        FROM ledger WHERE project_path = $1 AND task_id = $2";
    RECENT = "SELECT ledger.execution_id, ledger.task_id, executions.title, executions.status, executions.model, \
        ledger.charged_at, ledger.usd_micros, ledger.tokens, ledger.agent_ms, ledger.basis \
        FROM ledger JOIN executions ON executions.id = ledger.execution_id \
        ORDER BY ledger.charged_at DESC, ledger.execution_id DESC LIMIT $1";
    WARN = "INSERT INTO budget_warnings (subject, day, told_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    FORGET_WARNINGS = "DELETE FROM budget_warnings WHERE day < $1";
}
