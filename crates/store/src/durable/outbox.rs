//! The outbox: actions that are not done yet, and which instance has taken each.

use pilot_core::id::{InstanceId, ProjectId, TaskKey};
use pilot_core::task::{Key, Planned};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, OpenEntry, OutboxChange, OutboxEntry};

use super::stored::{ActionOf, to_json};
use super::{LEASE, NotWritten, expect_one, project, task};
use crate::database::{Transaction, row, statements, values};
use crate::error::Result;
use crate::store::Store;

row! {
    struct OpenRow {
        key: Key,
        not_before: Timestamp,
        holder: Option<String>,
    }
}

row! {
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct EntryKey {
        pub(super) project: ProjectId,
        pub(super) task: ActionOf,
        pub(super) key: Key,
    }
}

impl Store {
    /// Takes due actions out of the outbox, the longest due first, at most `limit`. While another instance has claimed a
    /// task, the task's actions are left to it: what it reports on them would be refused. They belong to this instance until it
    /// settles or releases them, or does not renew its lease for [`LEASE`].
    pub async fn take_due(&self, me: &InstanceId, now: Timestamp, limit: u32) -> Result<Vec<OutboxEntry>> {
        let doing = "take due actions";
        // Read without the lock: mostly nothing is due.
        let due: Vec<EntryKey> = self.database.all(doing, DUE, values![now, limit, me.as_str()]).await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let mut transaction = self.database.begin(doing).await?;
        let mut taken = Vec::new();
        for entry in due {
            taken.extend(take(&mut transaction, entry, me, now).await?);
        }
        transaction.commit().await?;
        Ok(taken)
    }

    /// When the next action that this instance may take is due.
    pub async fn next_due(&self, me: &InstanceId) -> Result<Option<Timestamp>> {
        let doing = "read when the next action is due";
        let due: Option<(Timestamp,)> = self.database.optional(doing, NEXT, values![me.as_str()]).await?;
        Ok(due.map(|(due,)| due))
    }

    /// Whether this instance has taken this action and it is not settled.
    pub async fn has_taken(
        &self,
        project: &ProjectId,
        task: Option<&TaskKey>,
        key: &Key,
        me: &InstanceId,
    ) -> Result<bool> {
        let values = values![project.as_str(), ActionOf::stored(task), key.as_str(), me.as_str()];
        let (count,): (u64,) = self.database.one("read the holder of an action", HOLDS, values).await?;
        Ok(count > 0)
    }
}

/// The actions of a task, or of a project itself, that are not settled.
pub(super) async fn load_open(
    transaction: &mut Transaction,
    project: &ProjectId,
    task: Option<&TaskKey>,
) -> Result<Vec<OpenEntry>> {
    let values = values![project.as_str(), ActionOf::stored(task)];
    let rows: Vec<OpenRow> = transaction.all(OPEN, values).await?;
    let open = rows.into_iter().map(|row| OpenEntry {
        key: row.key,
        not_before: row.not_before,
        taken: row.holder.is_some(),
    });
    Ok(open.collect())
}

/// Changes the outbox. Only its holder settles or releases an action.
pub(super) async fn change(
    transaction: &mut Transaction,
    project: &ProjectId,
    task: Option<&TaskKey>,
    changes: &[OutboxChange],
    me: &InstanceId,
) -> Result<(), NotWritten> {
    let (project, task, me) = (project.as_str(), ActionOf::stored(task), me.as_str());
    for change in changes {
        match change {
            OutboxChange::Settle(key) => {
                let values = values![project, task, key.as_str(), me];
                expect_one(transaction.execute(SETTLE, values).await?, Applied::Fenced)?;
            }
            OutboxChange::Release(key) => {
                let values = values![project, task, key.as_str(), me];
                expect_one(transaction.execute(RELEASE, values).await?, Applied::Fenced)?;
            }
            OutboxChange::Plan(Planned { key, action, not_before }) => {
                let json = to_json(transaction, action)?;
                let values = values![project, task, key.as_str(), json, *not_before];
                transaction.execute(PLAN, values).await?;
            }
            OutboxChange::Reschedule(key, not_before) => {
                let values = values![project, task, key.as_str(), *not_before];
                transaction.execute(RESCHEDULE, values).await?;
            }
            OutboxChange::Withdraw(key) => {
                transaction.execute(WITHDRAW, values![project, task, key.as_str()]).await?;
            }
        }
    }
    Ok(())
}

/// Takes one action, unless another instance took it first.
async fn take(
    transaction: &mut Transaction,
    entry: EntryKey,
    me: &InstanceId,
    now: Timestamp,
) -> Result<Option<OutboxEntry>> {
    let EntryKey { project, task: ActionOf(task), key } = entry;
    let of = ActionOf::stored(task.as_ref());
    let values = values![project.as_str(), of, key.as_str(), me.as_str(), now.after(LEASE), now];
    let Some((action,)) = transaction.optional(TAKE, values).await? else { return Ok(None) };
    match &task {
        Some(task) => task::bump_version(transaction, &project, task).await?,
        None => project::bump_version(transaction, &project).await?,
    }
    Ok(Some(OutboxEntry { project, task, key, action }))
}

statements! {
    OPEN = "SELECT key, not_before, holder FROM outbox WHERE project = $1 AND task = $2 ORDER BY key";
    pub(super) DUE = "SELECT project, task, key FROM outbox WHERE holder IS NULL AND not_before <= $1 \
        AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.project = outbox.project AND claims.task = outbox.task \
        AND claims.ended_at IS NULL AND claims.instance <> $3) \
        ORDER BY not_before, project, task, key LIMIT $2";
    TAKE = "UPDATE outbox SET holder = $4, held_until = $5 \
        WHERE project = $1 AND task = $2 AND key = $3 AND holder IS NULL AND not_before <= $6 RETURNING action";
    pub(super) NEXT = "SELECT not_before FROM outbox WHERE holder IS NULL \
        AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.project = outbox.project AND claims.task = outbox.task \
        AND claims.ended_at IS NULL AND claims.instance <> $1) ORDER BY not_before LIMIT 1";
    HOLDS = "SELECT COUNT(*) FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";
    SETTLE = "DELETE FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";
    RELEASE = "UPDATE outbox SET holder = NULL, held_until = NULL \
        WHERE project = $1 AND task = $2 AND key = $3 AND holder = $4";
    PLAN = "INSERT INTO outbox (project, task, key, action, not_before) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (project, task, key) DO UPDATE \
        SET action = excluded.action, not_before = excluded.not_before, holder = NULL, held_until = NULL";
    RESCHEDULE = "UPDATE outbox SET not_before = $4 WHERE project = $1 AND task = $2 AND key = $3";
    WITHDRAW = "DELETE FROM outbox WHERE project = $1 AND task = $2 AND key = $3 AND holder IS NULL";
}
