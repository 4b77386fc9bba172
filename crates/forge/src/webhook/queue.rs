//! Writing webhooks down, in the transaction of what they tell.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::SqliteConnection;
use uuid::Uuid;

use crate::faults::HookFault;
use crate::server::Repo;
use crate::site::Site;
use crate::store::hooks::{self, NewDelivery};
use crate::store::{HookRow, User};
use crate::wire;

/// How long a webhook that is to arrive behind the next waits for it at most.
const HELD_BACK: Duration = Duration::from_secs(60);

/// How far behind the next it is then due.
const BEHIND: Duration = Duration::from_micros(1);

/// Deliveries that are kept of each webhook.
const KEPT: i64 = 1000;

/// Who wants to know of an event. Nobody is the common case, and then nothing is built.
pub(crate) async fn wanted(
    db: &mut SqliteConnection,
    repo: &Repo,
    event: &str,
) -> Result<Vec<HookRow>, sqlx::Error> {
    let all = hooks::of_repo(db, repo.row.id).await?;
    Ok(all.into_iter().filter(|hook| hook.wants(event)).collect())
}

/// Writes an event down for everybody who wants it.
pub(super) async fn put(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    event: &str,
    body: Value,
    hooks: &[HookRow],
) -> Result<(), sqlx::Error> {
    let action = body["action"].as_str().map(str::to_owned);
    let about = json!({"repository": wire::repository(site, repo), "sender": wire::user(site, sender)});
    let payload = wire::extend(body, about).to_string();
    for hook in hooks {
        let guid = Uuid::now_v7().to_string();
        let now = site.clock.now();
        let fault = site.faults.of_hook(event);
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
            hooks::let_go(db, hook.id, now, now.after(BEHIND)).await?;
        }
        for _ in 0..times {
            hooks::enqueue(db, &new, now).await?;
        }
        hooks::prune(db, hook.id, KEPT).await?;
    }
    Ok(())
}
