//! Tasks and projects: their facts, what is to be done, which instance does it, and what event.
//!
//! A [`Turn`] of the core is written in one transaction, all of it or nothing. It is refused when its facts changed since
//! they were loaded (versions), when it takes a claim that is taken, and when it reports on a claim or an action that does
//! not belong to this instance any more (the fence). Every write has what it expects in its `WHERE`, project first, so that
//! it is also safe in a database where two transactions can write at once.
//!
//! Facts, stages, actions and log entries are kept as the core wrote them, byte for byte, and are not redacted here: what is
//! observed later is compared with them, and a redacted one would differ for ever. The caller that makes a fact takes
//! secrets out before ([`Store::secrets`]).

mod claim;
mod feed;
mod log;
mod outbox;
mod project;
pub(crate) mod rewrite_v5;
mod stored;
mod task;

use std::time::Duration;

use pilot_core::feed::turn_events;
use pilot_core::id::InstanceId;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Turn};

use crate::database::{Transaction, statements};
use crate::error::{Result, StoreError};
use crate::store::Store;

pub use task::TaskRow;

/// How long a claim or a taken action stays with an instance that does not call [`Store::renew`].
pub const LEASE: Duration = Duration::from_secs(60);

impl Store {
    /// Writes a turn for an instance, all of it or nothing.
    pub async fn apply(&self, turn: &Turn, me: &InstanceId, now: Timestamp) -> Result<Applied> {
        let mut transaction = self.database.begin("write a turn").await?;
        match write_turn(&mut transaction, turn, me, now).await {
            Ok(()) => {
                transaction.commit().await?;
                Ok(Applied::Written)
            }
            Err(NotWritten::Refused(why)) => {
                transaction.rollback().await?;
                Ok(why)
            }
            Err(NotWritten::Failed(failure)) => Err(failure),
        }
    }

    /// A number that changes whenever a process wrote a turn.
    pub async fn version(&self) -> Result<u64> {
        let (turns,) = self.database.one("read the number of turns", TURNS, &[]).await?;
        Ok(turns)
    }
}

/// Why nothing of a turn is written.
enum NotWritten {
    Refused(Applied),
    Failed(StoreError),
}

impl From<StoreError> for NotWritten {
    fn from(failure: StoreError) -> NotWritten {
        NotWritten::Failed(failure)
    }
}

/// Refuses a turn when a write did not change the one row it expected.
fn expect_one(changed: u64, otherwise: Applied) -> Result<(), NotWritten> {
    if changed == 1 { Ok(()) } else { Err(NotWritten::Refused(otherwise)) }
}

async fn write_turn(
    transaction: &mut Transaction,
    turn: &Turn,
    me: &InstanceId,
    now: Timestamp,
) -> Result<(), NotWritten> {
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
    // The row of the counter is locked until the end, so numbers of the feed are given out in the order of the turns.
    transaction.execute(COUNT, &[]).await?;
    feed::append(transaction, &turn_events(turn), now).await?;
    Ok(())
}

statements! {
    COUNT = "UPDATE turn_counter SET turns = turns + 1 WHERE id = 1";
    TURNS = "SELECT turns FROM turn_counter WHERE id = 1";
}

/// Those of every room below.
#[cfg(test)]
pub(crate) const ALL_STATEMENTS: &[&[&str]] = &[
    STATEMENTS,
    claim::STATEMENTS,
    feed::STATEMENTS,
    log::STATEMENTS,
    outbox::STATEMENTS,
    project::STATEMENTS,
    task::STATEMENTS,
];

/// Those that run at every tick: an index answers them, whatever else is stored.
#[cfg(test)]
pub(crate) const INDEXED: [(&str, &str); 5] = [
    (task::QUEUED, "task_queue_by_rank"),
    (task::UNDER_WAY, "task_queue_under_way"),
    (task::LAST_OVER, "task_queue_over"),
    (outbox::DUE, "outbox_due"),
    (outbox::NEXT, "outbox_due"),
];
