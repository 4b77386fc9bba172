//! The queue of deliveries, filled in the transaction of the change that they report.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::SqliteConnection;
use uuid::Uuid;

use crate::context::Context;
use crate::faults::HookFault;
use crate::server::Repo;
use crate::store::hooks::{self, NewDelivery};
use crate::store::{HookRow, User};
use crate::wire;

/// How long the fault `reorder` holds a delivery back if no other follows.
const HELD_BACK: Duration = Duration::from_secs(60);

/// How long after the next one a held delivery is due.
const BEHIND: Duration = Duration::from_micros(1);

/// Deliveries kept for each webhook.
const KEPT: i64 = 1000;

/// The webhooks of a repository that are subscribed to an event.
pub(super) async fn subscribed(
    db: &mut SqliteConnection,
    repo: &Repo,
    event: &str,
) -> Result<Vec<HookRow>, sqlx::Error> {
    let all = hooks::of_repo(db, repo.row.id).await?;
    Ok(all.into_iter().filter(|hook| hook.is_subscribed(event)).collect())
}

/// Stores a delivery for each webhook; a fault may lose, double or delay it.
pub(super) async fn insert_deliveries(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    event: &str,
    body: Value,
    hooks: &[HookRow],
) -> Result<(), sqlx::Error> {
    let action = body["action"].as_str().map(str::to_owned);
    let about = json!({"repository": wire::repository(ctx, repo), "sender": wire::user(ctx, sender)});
    let payload = wire::extend(body, about).to_string();
    for hook in hooks {
        let guid = Uuid::now_v7().to_string();
        let now = ctx.clock.now();
        let fault = ctx.faults.for_delivery(event);
        let (times, due) = match fault {
            None => (1, now),
            Some(HookFault::Lose) => (0, now),
            Some(HookFault::Duplicate) => (2, now),
            Some(HookFault::Reorder) => (1, now.after(HELD_BACK)),
        };
        let new = NewDelivery {
            hook: hook.id,
            repo: repo.row.id,
            guid: &guid,
            event,
            action: action.as_deref(),
            payload: &payload,
            redelivery: false,
            due,
        };
        if times > 0 && due == now {
            hooks::release_held(db, hook.id, now, now.after(BEHIND)).await?;
        }
        for _ in 0..times {
            hooks::enqueue(db, &new, now).await?;
        }
        hooks::prune(db, hook.id, KEPT).await?;
    }
    Ok(())
}
