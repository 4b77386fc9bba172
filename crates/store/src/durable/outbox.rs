//! What is to be done to the world, and who is at it.

use pilot_core::name::{InstanceId, ProjectId, TaskKey};
use pilot_core::task::{Action, Key, Planned};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Intent, OpenIntent, OutboxChange};
use sqlx::SqliteConnection;

use super::stored::{Whose, json};
use super::{LEASE, Unwritten, Writing, project, task};
use crate::column::row;
use crate::error::StoreError;
use crate::open::Store;

row! {
    /// An action that is not settled.
    struct OpenRow {
        key: Key,
        not_before: Timestamp,
        holder: Option<String>,
    }
}

row! {
    /// What an action is known by.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct IntentKey {
        pub(super) project: ProjectId,
        pub(super) task: Whose,
        pub(super) key: Key,
    }
}

row! {
    /// What is to be done.
    struct ActionRow {
        action: Action,
    }
}

impl Store {
    /// Takes what is due out of the outbox, the longest due first, at most so many. What was taken is this instance's until it
    /// settles or releases it, or gives no sign of life for [`LEASE`].
    pub async fn take_due(
        &self,
        me: &InstanceId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<Intent>, StoreError> {
        let failed = self.failing("take what is due");
        // Looked up without the lock: mostly nothing is due.
        let due: Vec<IntentKey> = sqlx::query_as(DUE)
            .bind(now.0)
            .bind(i64::from(limit))
            .fetch_all(&self.read)
            .await
            .map_err(&failed)?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let mut transaction = self.begin().await.map_err(&failed)?;
        let mut taken = Vec::new();
        for intent in due {
            taken.extend(take(&mut transaction, intent, me, now).await.map_err(&failed)?);
        }
        transaction.commit().await.map_err(&failed)?;
        Ok(taken)
    }

    /// When something in the outbox is due next, that nobody is at.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let failed = self.failing("see what is due next");
        let due: Option<i64> = sqlx::query_scalar(NEXT).fetch_one(&self.read).await.map_err(failed)?;
        Ok(due.map(Timestamp))
    }

    /// Whether this instance has taken this action and it is not settled.
    pub async fn has_taken(
        &self,
        project: &ProjectId,
        task: Option<&TaskKey>,
        key: &Key,
        me: &InstanceId,
    ) -> Result<bool, StoreError> {
        let holds: i64 = sqlx::query_scalar(HOLDS)
            .bind(project.as_str())
            .bind(Whose::stored(task))
            .bind(key.as_str())
            .bind(me.as_str())
            .fetch_one(&self.read)
            .await
            .map_err(self.failing("see who is at an action"))?;
        Ok(holds > 0)
    }
}

/// The actions of a task, or of a project itself, that are not settled.
pub(super) async fn open(
    connection: &mut SqliteConnection,
    project: &ProjectId,
    task: Option<&TaskKey>,
) -> Result<Vec<OpenIntent>, sqlx::Error> {
    let rows: Vec<OpenRow> =
        sqlx::query_as(OPEN).bind(project.as_str()).bind(Whose::stored(task)).fetch_all(connection).await?;
    let open = rows.into_iter().map(|row| OpenIntent {
        key: row.key,
        not_before: row.not_before,
        taken: row.holder.is_some(),
    });
    Ok(open.collect())
}

/// Writes what comes into and out of the outbox. Only its holder settles or releases an action.
pub(super) async fn change(
    transaction: &mut Writing,
    project: &ProjectId,
    task: Option<&TaskKey>,
    changes: &[OutboxChange],
    me: &InstanceId,
) -> Result<(), Unwritten> {
    let at = |statement: &'static str, key: &Key| {
        sqlx::query(statement)
            .bind(project.as_str().to_owned())
            .bind(Whose::stored(task).to_owned())
            .bind(key.as_str().to_owned())
    };
    for change in changes {
        match change {
            OutboxChange::Settle(key) => {
                let done = at(SETTLE, key).bind(me.as_str()).execute(&mut **transaction).await?;
                Unwritten::unless(done.rows_affected() == 1, Applied::Fenced)?;
            }
            OutboxChange::Release(key) => {
                let done = at(RELEASE, key).bind(me.as_str()).execute(&mut **transaction).await?;
                Unwritten::unless(done.rows_affected() == 1, Applied::Fenced)?;
            }
            OutboxChange::Plan(Planned { key, action, not_before }) => {
                let plan = at(PLAN, key).bind(json(action)?).bind(not_before.0);
                plan.execute(&mut **transaction).await?;
            }
            OutboxChange::Reschedule(key, not_before) => {
                at(RESCHEDULE, key).bind(not_before.0).execute(&mut **transaction).await?;
            }
            OutboxChange::Withdraw(key) => {
                at(WITHDRAW, key).execute(&mut **transaction).await?;
            }
        }
    }
    Ok(())
}

/// Takes one action, if nobody was faster.
async fn take(
    transaction: &mut Writing,
    intent: IntentKey,
    me: &InstanceId,
    now: Timestamp,
) -> Result<Option<Intent>, sqlx::Error> {
    let IntentKey { project, task: Whose(task), key } = intent;
    let row: Option<ActionRow> = sqlx::query_as(TAKE)
        .bind(project.as_str())
        .bind(Whose::stored(task.as_ref()))
        .bind(key.as_str())
        .bind(me.as_str())
        .bind(now.after(LEASE).0)
        .bind(now.0)
        .fetch_optional(&mut **transaction)
        .await?;
    let Some(ActionRow { action }) = row else { return Ok(None) };
    match &task {
        Some(task) => task::bump(transaction, &project, task).await?,
        None => project::bump(transaction, &project).await?,
    }
    Ok(Some(Intent { project, task, key, action }))
}

const OPEN: &str = "SELECT key, not_before, holder FROM outbox WHERE project = $1 AND task = $2 ORDER BY key";

pub(super) const DUE: &str = "SELECT project, task, key FROM outbox WHERE holder IS NULL AND not_before <= $1 \
     ORDER BY not_before, project, task, key LIMIT $2";

const TAKE: &str = "UPDATE outbox SET holder = $4, held_until = $5 \
     WHERE project = $1 AND task = $2 AND key = $3 AND holder IS NULL AND not_before <= $6 RETURNING action";

pub(super) const NEXT: &str = "SELECT MIN(not_before) FROM outbox WHERE holder IS NULL";

const HOLDS: &str =
    "SELECT COUNT(*) FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";

const SETTLE: &str = "DELETE FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";

const RELEASE: &str = "UPDATE outbox SET holder = NULL, held_until = NULL \
     WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";

const PLAN: &str = "INSERT INTO outbox (project, task, key, action, not_before) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (project, task, key) DO UPDATE \
     SET action = excluded.action, not_before = excluded.not_before, holder = NULL, held_until = NULL";

const RESCHEDULE: &str = "UPDATE outbox SET not_before = $4 WHERE project = $1 AND task = $2 AND key = $3";

const WITHDRAW: &str = "DELETE FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder IS NULL";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[OPEN, DUE, TAKE, NEXT, HOLDS, SETTLE, RELEASE, PLAN, RESCHEDULE, WITHDRAW];
