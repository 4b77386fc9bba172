//! The durable core's memory: projects, tasks, what is to be done, who is at it, and what happened.
//!
//! A [`Turn`] of the core is written here in one transaction, all of it or nothing. It is refused when somebody wrote since
//! its facts were loaded (versions), when it takes a claim that is taken, and when it reports on a claim or an action that
//! is not this instance's any more (the fence). Every write says in its `WHERE` what must still be so, project first, so
//! that it holds where two can write at once as well.
//!
//! Facts, stages, actions and log entries are kept as the core wrote them, byte for byte, and are not redacted here: what is
//! seen again is compared with them, and one that was stored otherwise would be news for ever. Whoever makes a fact takes
//! secrets out before ([`Store::secrets`]).

mod claim;
mod log;
mod outbox;
mod project;
mod stored;
mod task;

use std::time::Duration;

use pilot_core::name::InstanceId;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Turn};
use sqlx::{Sqlite, Transaction};

use crate::error::StoreError;
use crate::open::Store;

pub use task::TaskRow;

/// How long a claim or a taken action is believed without a sign of life ([`Store::renew`]).
pub const LEASE: Duration = Duration::from_secs(60);

/// A transaction that writes.
type Writing = Transaction<'static, Sqlite>;

impl Store {
    /// Writes a turn, all of it or nothing, in the name of an instance.
    pub async fn apply(&self, turn: &Turn, me: &InstanceId, now: Timestamp) -> Result<Applied, StoreError> {
        let failed = self.failing("write a turn");
        let mut transaction = self.begin().await.map_err(&failed)?;
        match write(&mut transaction, turn, me, now).await {
            Ok(()) => {
                transaction.commit().await.map_err(&failed)?;
                Ok(Applied::Written)
            }
            Err(Unwritten::Refused(why)) => {
                transaction.rollback().await.map_err(&failed)?;
                Ok(why)
            }
            Err(Unwritten::Failed(source)) => Err(failed(source)),
        }
    }

    /// A number that changes whenever any process wrote a turn.
    pub async fn version(&self) -> Result<u64, StoreError> {
        let failed = self.failing("see whether anything was written");
        let turns: i64 = sqlx::query_scalar(TURNS).fetch_one(&self.read).await.map_err(failed)?;
        Ok(u64::try_from(turns).unwrap_or(0))
    }
}

/// Why nothing of a turn is written.
enum Unwritten {
    /// It may not be.
    Refused(Applied),
    /// The database did not do what was asked.
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Unwritten {
    fn from(source: sqlx::Error) -> Unwritten {
        Unwritten::Failed(source)
    }
}

impl Unwritten {
    /// A write that found what it expected changed a row; one that did not is refused.
    fn unless(found: bool, why: Applied) -> Result<(), Unwritten> {
        if found { Ok(()) } else { Err(Unwritten::Refused(why)) }
    }
}

async fn write(
    transaction: &mut Writing,
    turn: &Turn,
    me: &InstanceId,
    now: Timestamp,
) -> Result<(), Unwritten> {
    let id = turn.project_id();
    project::write(transaction, &turn.project, now).await?;
    outbox::change(transaction, id, None, &turn.project.outbox, me).await?;
    log::append_project(transaction, id, &turn.project.log).await?;
    if let Some(change) = &turn.task {
        let key = &change.facts.key;
        task::write(transaction, id, change, now).await?;
        claim::check(transaction, id, change, me, now).await?;
        outbox::change(transaction, id, Some(key), &change.outbox, me).await?;
        claim::end(transaction, id, change, now).await?;
        log::append_task(transaction, id, key, &change.log).await?;
    }
    sqlx::query(COUNT).execute(&mut **transaction).await?;
    Ok(())
}

const COUNT: &str = "UPDATE turn_counter SET turns = turns + 1 WHERE id = 1";

const TURNS: &str = "SELECT turns FROM turn_counter WHERE id = 1";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&[&str]] = &[
    &[COUNT, TURNS],
    claim::STATEMENTS,
    log::STATEMENTS,
    outbox::STATEMENTS,
    project::STATEMENTS,
    task::STATEMENTS,
];

#[cfg(test)]
mod tests {
    use pilot_core::redact::Secrets;
    use sqlx::{AssertSqlSafe, Row};

    use super::{outbox, task};
    use crate::open::Store;

    /// What is asked at every tick is found in an index, in order: it costs the same however much there is beside it.
    #[tokio::test]
    async fn what_is_asked_all_the_time_is_in_an_index() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("pilot.db"), Secrets::none()).await.unwrap();
        for (statement, index) in [
            (task::QUEUED, "task_queue_by_rank"),
            (task::UNDER_WAY, "task_queue_under_way"),
            (task::LAST_OVER, "task_queue_over"),
            (outbox::DUE, "outbox_due"),
            (outbox::NEXT, "outbox_due"),
        ] {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let rows = sqlx::query(explain).fetch_all(&store.write).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            let plan = plan.join("; ");
            assert!(plan.contains(index), "{statement}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
        }
    }
}
