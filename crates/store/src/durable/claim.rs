//! Claims, their leases, and the instances that hold them.

use pilot_core::name::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, ClaimChange, Left, TaskChange};

use super::outbox::IntentKey;
use super::{LEASE, Unwritten, Writing};
use crate::column::row;
use crate::error::StoreError;
use crate::open::Store;

row! {
    /// A claim somebody left.
    struct ClaimRow {
        project: ProjectId,
        task: TaskKey,
        generation: Generation,
    }
}

impl Store {
    /// A start. Who calls this holds the lock of its home, so every other instance of that home is dead: gives what they had
    /// in their hands. Their actions are this instance's from now on; their claims stay until they are ended.
    pub async fn begin_instance(
        &self,
        home: &HomeId,
        me: &InstanceId,
        now: Timestamp,
    ) -> Result<Left, StoreError> {
        let failed = self.failing("begin, and take over what was left");
        let mut transaction = self.begin().await.map_err(&failed)?;
        let left = begin_instance(&mut transaction, home, me, now).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(left)
    }

    /// The same for every other instance that has given no sign of life for [`LEASE`].
    pub async fn lapsed(&self, me: &InstanceId, now: Timestamp) -> Result<Left, StoreError> {
        let failed = self.failing("take over what nobody is at any more");
        let mut transaction = self.begin().await.map_err(&failed)?;
        let left = lapsed(&mut transaction, me, now).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(left)
    }

    /// A sign of life: everything this instance holds is its own for another [`LEASE`].
    pub async fn renew(&self, me: &InstanceId, now: Timestamp) -> Result<(), StoreError> {
        let failed = self.failing("give a sign of life");
        let mut transaction = self.begin().await.map_err(&failed)?;
        for statement in [RENEW_CLAIMS, RENEW_OUTBOX] {
            sqlx::query(statement)
                .bind(me.as_str())
                .bind(now.after(LEASE).0)
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
    }
}

/// Takes the claim that a turn takes, and refuses a turn whose claim is not in force or not this instance's.
pub(super) async fn check(
    transaction: &mut Writing,
    project: &ProjectId,
    change: &TaskChange,
    me: &InstanceId,
    now: Timestamp,
) -> Result<(), Unwritten> {
    let task = &change.facts.key;
    if let Some(ClaimChange::Take { generation, home, instance }) = &change.claim {
        remember_instance(transaction, home, instance, now).await?;
        let taken = sqlx::query(TAKE)
            .bind(project.as_str())
            .bind(task.as_str())
            .bind(i64::from(generation.0))
            .bind(instance.as_str())
            .bind(now.0)
            .bind(now.after(LEASE).0)
            .execute(&mut **transaction)
            .await?;
        Unwritten::unless(taken.rows_affected() == 1, Applied::Taken)?;
    }
    let Some(generation) = change.fence else { return Ok(()) };
    let held = sqlx::query(HOLD)
        .bind(project.as_str())
        .bind(task.as_str())
        .bind(i64::from(generation.0))
        .bind(me.as_str())
        .execute(&mut **transaction)
        .await?;
    Unwritten::unless(held.rows_affected() == 1, Applied::Fenced)
}

/// Ends the claim that a turn ends.
pub(super) async fn end(
    transaction: &mut Writing,
    project: &ProjectId,
    change: &TaskChange,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    if let Some(ClaimChange::End { generation }) = &change.claim {
        sqlx::query(END)
            .bind(project.as_str())
            .bind(change.facts.key.as_str())
            .bind(i64::from(generation.0))
            .bind(now.0)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

async fn begin_instance(
    transaction: &mut Writing,
    home: &HomeId,
    me: &InstanceId,
    now: Timestamp,
) -> Result<Left, sqlx::Error> {
    remember_instance(transaction, home, me, now).await?;
    let claims =
        sqlx::query_as(CLAIMS_OF_HOME).bind(me.as_str()).bind(home.as_str()).fetch_all(&mut **transaction);
    let claims: Vec<ClaimRow> = claims.await?;
    let intents: Vec<IntentKey> = sqlx::query_as(TAKE_OVER_HOME)
        .bind(me.as_str())
        .bind(now.after(LEASE).0)
        .bind(home.as_str())
        .fetch_all(&mut **transaction)
        .await?;
    sqlx::query(FORGET_INSTANCES).bind(me.as_str()).bind(home.as_str()).execute(&mut **transaction).await?;
    Ok(left(claims, intents))
}

async fn lapsed(transaction: &mut Writing, me: &InstanceId, now: Timestamp) -> Result<Left, sqlx::Error> {
    let claims: Vec<ClaimRow> =
        sqlx::query_as(LAPSED_CLAIMS).bind(me.as_str()).bind(now.0).fetch_all(&mut **transaction).await?;
    let intents: Vec<IntentKey> = sqlx::query_as(TAKE_OVER_LAPSED)
        .bind(me.as_str())
        .bind(now.after(LEASE).0)
        .bind(now.0)
        .fetch_all(&mut **transaction)
        .await?;
    Ok(left(claims, intents))
}

async fn remember_instance(
    transaction: &mut Writing,
    home: &HomeId,
    instance: &InstanceId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let remember = sqlx::query(REMEMBER).bind(instance.as_str()).bind(home.as_str()).bind(now.0);
    remember.execute(&mut **transaction).await?;
    Ok(())
}

fn left(claims: Vec<ClaimRow>, mut intents: Vec<IntentKey>) -> Left {
    // What an update returns comes in no order.
    intents.sort();
    Left {
        claims: claims.into_iter().map(|row| (row.project, row.task, row.generation)).collect(),
        intents: intents.into_iter().map(|row| (row.project, row.task.0, row.key)).collect(),
    }
}

const REMEMBER: &str = "INSERT INTO instances (id, home, begun_at) VALUES ($1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET home = excluded.home";

/// Those that hold nothing more.
const FORGET_INSTANCES: &str = "DELETE FROM instances WHERE home = $2 AND id <> $1 \
     AND id NOT IN (SELECT instance FROM claims WHERE ended_at IS NULL)";

const TAKE: &str = "INSERT INTO claims (project, task, generation, instance, taken_at, leased_until) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, task, generation) DO NOTHING";

/// Changes nothing: it says whether the claim is in force, and that it stays so until this is written.
const HOLD: &str = "UPDATE claims SET instance = instance \
     WHERE project = $1 AND task = $2 AND generation = $3 AND instance = $4 AND ended_at IS NULL";

const END: &str = "UPDATE claims SET ended_at = $4 \
     WHERE project = $1 AND task = $2 AND generation = $3 AND ended_at IS NULL";

const RENEW_CLAIMS: &str = "UPDATE claims SET leased_until = $2 WHERE instance = $1 AND ended_at IS NULL";

const RENEW_OUTBOX: &str = "UPDATE outbox SET held_until = $2 WHERE holder = $1";

const CLAIMS_OF_HOME: &str = "SELECT project, task, generation FROM claims WHERE ended_at IS NULL AND instance <> $1 \
     AND instance IN (SELECT id FROM instances WHERE home = $2) ORDER BY project, task, generation";

const TAKE_OVER_HOME: &str = "UPDATE outbox SET holder = $1, held_until = $2 WHERE holder IS NOT NULL AND holder <> $1 \
     AND holder IN (SELECT id FROM instances WHERE home = $3) RETURNING project, task, key";

const LAPSED_CLAIMS: &str = "SELECT project, task, generation FROM claims \
     WHERE ended_at IS NULL AND instance <> $1 AND leased_until < $2 ORDER BY project, task, generation";

const TAKE_OVER_LAPSED: &str = "UPDATE outbox SET holder = $1, held_until = $2 \
     WHERE holder IS NOT NULL AND holder <> $1 AND held_until < $3 RETURNING project, task, key";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    REMEMBER,
    FORGET_INSTANCES,
    TAKE,
    HOLD,
    END,
    RENEW_CLAIMS,
    RENEW_OUTBOX,
    CLAIMS_OF_HOME,
    TAKE_OVER_HOME,
    LAPSED_CLAIMS,
    TAKE_OVER_LAPSED,
];
