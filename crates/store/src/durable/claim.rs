//! Claims, their leases, and the instances that hold them.

use pilot_core::id::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, ClaimChange, Left, TaskChange};

use super::outbox::EntryKey;
use super::{LEASE, NotWritten, expect_one};
use crate::database::{Transaction, row, statements, values};
use crate::error::Result;
use crate::store::Store;

row! {
    struct ClaimRow {
        project: ProjectId,
        task: TaskKey,
        generation: Generation,
    }
}

impl Store {
    /// Begins an instance, and returns what the dead instances of its home left: the caller holds the lock of the home, so
    /// every other instance of it is dead. Their actions belong to this instance from now on; their claims stay until they
    /// are ended.
    pub async fn begin_instance(&self, home: &HomeId, me: &InstanceId, now: Timestamp) -> Result<Left> {
        let mut transaction = self.database.begin("begin an instance").await?;
        remember_instance(&mut transaction, home, me, now).await?;
        let (home, me) = (home.as_str(), me.as_str());
        let claims = transaction.all(CLAIMS_OF_HOME, values![me, home]).await?;
        let entries = transaction.all(TAKE_OVER_HOME, values![me, now.after(LEASE), home]).await?;
        transaction.execute(FORGET_INSTANCES, values![me, home]).await?;
        transaction.commit().await?;
        Ok(left(claims, entries))
    }

    /// The same for every other instance whose lease has expired.
    pub async fn lapsed(&self, me: &InstanceId, now: Timestamp) -> Result<Left> {
        let mut transaction = self.database.begin("take over expired leases").await?;
        let me = me.as_str();
        let claims = transaction.all(LAPSED_CLAIMS, values![me, now]).await?;
        let entries = transaction.all(TAKE_OVER_LAPSED, values![me, now.after(LEASE), now]).await?;
        transaction.commit().await?;
        Ok(left(claims, entries))
    }

    /// Renews the lease of everything this instance holds for another [`LEASE`].
    pub async fn renew(&self, me: &InstanceId, now: Timestamp) -> Result<()> {
        let mut transaction = self.database.begin("renew the leases of an instance").await?;
        for statement in [RENEW_CLAIMS, RENEW_OUTBOX] {
            transaction.execute(statement, values![me.as_str(), now.after(LEASE)]).await?;
        }
        transaction.commit().await
    }
}

/// Takes the claim that a turn takes, and refuses a turn whose claim is not in force or not this instance's.
pub(super) async fn check(
    transaction: &mut Transaction,
    project: &ProjectId,
    change: &TaskChange,
    me: &InstanceId,
    now: Timestamp,
) -> Result<(), NotWritten> {
    let (project, task) = (project.as_str(), change.facts.key.as_str());
    if let Some(ClaimChange::Take { generation, home, instance }) = &change.claim {
        remember_instance(transaction, home, instance, now).await?;
        let values = values![project, task, generation.0, instance.as_str(), now, now.after(LEASE)];
        expect_one(transaction.execute(TAKE, values).await?, Applied::Taken)?;
    }
    let Some(generation) = change.fence else { return Ok(()) };
    let held = transaction.execute(HOLD, values![project, task, generation.0, me.as_str()]).await?;
    expect_one(held, Applied::Fenced)
}

pub(super) async fn end(
    transaction: &mut Transaction,
    project: &ProjectId,
    change: &TaskChange,
    now: Timestamp,
) -> Result<()> {
    if let Some(ClaimChange::End { generation }) = &change.claim {
        let values = values![project.as_str(), change.facts.key.as_str(), generation.0, now];
        transaction.execute(END, values).await?;
    }
    Ok(())
}

async fn remember_instance(
    transaction: &mut Transaction,
    home: &HomeId,
    instance: &InstanceId,
    now: Timestamp,
) -> Result<()> {
    transaction.execute(REMEMBER, values![instance.as_str(), home.as_str(), now]).await?;
    Ok(())
}

fn left(claims: Vec<ClaimRow>, mut entries: Vec<EntryKey>) -> Left {
    // An UPDATE returns its rows in no order.
    entries.sort();
    Left {
        claims: claims.into_iter().map(|row| (row.project, row.task, row.generation)).collect(),
        intents: entries.into_iter().map(|row| (row.project, row.task.0, row.key)).collect(),
    }
}

statements! {
    REMEMBER = "INSERT INTO instances (id, home, begun_at) VALUES ($1, $2, $3) \
        ON CONFLICT (id) DO UPDATE SET home = excluded.home";
    /// Deletes those that hold no claim.
    FORGET_INSTANCES = "DELETE FROM instances WHERE home = $2 AND id <> $1 \
        AND id NOT IN (SELECT instance FROM claims WHERE ended_at IS NULL)";
    TAKE = "INSERT INTO claims (project, task, generation, instance, taken_at, leased_until) \
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, task, generation) DO NOTHING";
    /// Changes nothing: it matches a claim in force, and locks it until the turn is written.
    HOLD = "UPDATE claims SET instance = instance \
        WHERE project = $1 AND task = $2 AND generation = $3 AND instance = $4 AND ended_at IS NULL";
    END = "UPDATE claims SET ended_at = $4 \
        WHERE project = $1 AND task = $2 AND generation = $3 AND ended_at IS NULL";
    RENEW_CLAIMS = "UPDATE claims SET leased_until = $2 WHERE instance = $1 AND ended_at IS NULL";
    RENEW_OUTBOX = "UPDATE outbox SET held_until = $2 WHERE holder = $1";
    CLAIMS_OF_HOME = "SELECT project, task, generation FROM claims WHERE ended_at IS NULL AND instance <> $1 \
        AND instance IN (SELECT id FROM instances WHERE home = $2) ORDER BY project, task, generation";
    TAKE_OVER_HOME = "UPDATE outbox SET holder = $1, held_until = $2 WHERE holder IS NOT NULL AND holder <> $1 \
        AND holder IN (SELECT id FROM instances WHERE home = $3) RETURNING project, task, key";
    LAPSED_CLAIMS = "SELECT project, task, generation FROM claims \
        WHERE ended_at IS NULL AND instance <> $1 AND leased_until < $2 ORDER BY project, task, generation";
    TAKE_OVER_LAPSED = "UPDATE outbox SET holder = $1, held_until = $2 \
        WHERE holder IS NOT NULL AND holder <> $1 AND held_until < $3 RETURNING project, task, key";
}
