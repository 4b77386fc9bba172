//! The delivery worker: sends deliveries one after the other and retries failed ones.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::post::{body, headers, post};
use crate::clock::Stopwatch;
use crate::context::Context;
use crate::store::hooks;
use crate::store::{DeliveryRow, HookRow};

/// Attempts per delivery.
const ATTEMPTS: i64 = 3;

/// The wait before the next attempt grows by this with each failed one.
const BACKOFF: Duration = Duration::from_secs(2);

/// The longest wait without a due delivery, and the wait after a database error.
const IDLE: Duration = Duration::from_secs(60);
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Runs until the forge stops.
pub(crate) async fn run_deliveries(ctx: Arc<Context>, mut stop: watch::Receiver<bool>) {
    loop {
        let wait = match deliver_due(&ctx).await {
            Ok(wait) => wait,
            Err(_) => AFTER_ERROR,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = ctx.delivery_wakeup.notified() => {}
            _ = stop.wait_for(|stopped| *stopped) => return,
        }
    }
}

/// Sends all due deliveries; returns how long until the next one is due.
async fn deliver_due(ctx: &Context) -> Result<Duration, sqlx::Error> {
    loop {
        let mut db = ctx.store.read().await?;
        let Some(row) = hooks::next_due(&mut db, ctx.clock.now()).await? else {
            let next = hooks::next_time(&mut db).await?;
            return Ok(next.map_or(IDLE, |next| next.since(ctx.clock.now())).min(IDLE));
        };
        let hook = hooks::by_id(&mut db, row.hook).await?;
        drop(db);
        if let Some(hook) = hook {
            let row = attempt_delivery(ctx, &hook, row).await;
            let mut tx = ctx.store.begin().await?;
            hooks::record_attempt(&mut tx, &row).await?;
            tx.commit().await?;
        }
    }
}

async fn attempt_delivery(ctx: &Context, hook: &HookRow, mut row: DeliveryRow) -> DeliveryRow {
    let body = body(hook, &row);
    let headers = headers(hook, &row, &body);
    let watch = Stopwatch::start();
    let response = post(&hook.url, &headers, body).await;
    row.millis = i64::try_from(watch.elapsed().as_millis()).unwrap_or(i64::MAX);
    row.attempts += 1;
    row.delivered = Some(ctx.clock.now());
    let sent: Map<String, Value> =
        headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    row.request_headers = Some(Value::Object(sent).to_string());
    match response {
        Ok(response) => {
            row.code = i64::from(response.code);
            row.response_headers = Some(response.headers);
            row.response_body = Some(response.body);
        }
        Err(error) => {
            (row.code, row.response_headers) = (0, None);
            row.response_body = Some(error.to_string());
        }
    }
    let accepted = (200..300).contains(&row.code);
    row.state = match (accepted, row.attempts < ATTEMPTS) {
        (true, _) => "done",
        (false, true) => "waiting",
        (false, false) => "failed",
    }
    .to_owned();
    let backoff = BACKOFF * u32::try_from(row.attempts).unwrap_or(1);
    row.due = ctx.clock.now().after(backoff);
    row
}
