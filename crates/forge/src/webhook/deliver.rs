//! Delivering: one after the other, a few times at most.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::post::{body, headers, post};
use crate::clock::Stopwatch;
use crate::site::Site;
use crate::store::hooks;
use crate::store::{DeliveryRow, HookRow};

/// How often a delivery is tried.
const ATTEMPTS: i64 = 3;

/// How long the next attempt waits for each one before.
const BACKOFF: Duration = Duration::from_secs(2);

/// How long to wait when nothing is known to be due, and after the database failed.
const IDLE: Duration = Duration::from_secs(60);
const TROUBLE: Duration = Duration::from_secs(1);

/// Delivers until the forge stops.
pub(crate) async fn work(site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    loop {
        let wait = match step(&site).await {
            Ok(wait) => wait,
            Err(_) => TROUBLE,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = site.hook_bell.notified() => {}
            _ = stop.wait_for(|stopped| *stopped) => return,
        }
    }
}

/// Delivers what is due, and says how long there is nothing to do.
async fn step(site: &Site) -> Result<Duration, sqlx::Error> {
    loop {
        let mut db = site.store.read().await?;
        let Some(row) = hooks::next_due(&mut db, site.clock.now()).await? else {
            let next = hooks::next_time(&mut db).await?;
            return Ok(next.map_or(IDLE, |next| next.since(site.clock.now())).min(IDLE));
        };
        let hook = hooks::by_id(&mut db, row.hook).await?;
        drop(db);
        if let Some(hook) = hook {
            let row = attempt(site, &hook, row).await;
            let mut tx = site.store.begin().await?;
            hooks::settle(&mut tx, &row).await?;
            tx.commit().await?;
        }
    }
}

async fn attempt(site: &Site, hook: &HookRow, mut row: DeliveryRow) -> DeliveryRow {
    let body = body(hook, &row);
    let headers = headers(hook, &row, &body);
    let watch = Stopwatch::start();
    let answer = post(&hook.url, &headers, body).await;
    row.millis = i64::try_from(watch.elapsed().as_millis()).unwrap_or(i64::MAX);
    row.attempts += 1;
    row.delivered = Some(site.clock.now());
    let sent: Map<String, Value> =
        headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    row.request_headers = Some(Value::Object(sent).to_string());
    match answer {
        Ok(answer) => {
            row.code = i64::from(answer.code);
            row.response_headers = Some(answer.headers);
            row.response_body = Some(answer.body);
        }
        Err(error) => {
            (row.code, row.response_headers) = (0, None);
            row.response_body = Some(error.to_string());
        }
    }
    let taken = (200..300).contains(&row.code);
    row.state = match (taken, row.attempts < ATTEMPTS) {
        (true, _) => "done",
        (false, true) => "waiting",
        (false, false) => "failed",
    }
    .to_owned();
    let patience = BACKOFF * u32::try_from(row.attempts).unwrap_or(1);
    row.due = site.clock.now().after(patience);
    row
}
