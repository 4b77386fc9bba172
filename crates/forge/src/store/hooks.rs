//! Webhooks and their deliveries.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A webhook.
    HookRow {
        id: i64,
        repo: i64,
        url: String,
        content_type: String,
        secret: Option<String>,
        /// Names with commas between them.
        events: String,
        active: bool,
        created: Timestamp,
        updated: Timestamp,
    }
}

impl HookRow {
    /// Whether it wants to know of an event.
    pub(crate) fn wants(&self, event: &str) -> bool {
        self.active && self.events.split(',').any(|known| known == "*" || known == event)
    }
}

row! {
    /// A delivery.
    DeliveryRow {
        id: i64,
        hook: i64,
        repo: i64,
        guid: String,
        event: String,
        action: Option<String>,
        payload: String,
        redelivery: bool,
        /// `waiting`, `done` or `failed`.
        state: String,
        attempts: i64,
        due: Timestamp,
        created: Timestamp,
        delivered: Option<Timestamp>,
        millis: i64,
        code: i64,
        request_headers: Option<String>,
        response_headers: Option<String>,
        response_body: Option<String>,
    }
}

/// A new webhook.
pub(crate) async fn insert(db: &mut SqliteConnection, new: &HookRow) -> Result<HookRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO hooks (repo, url, content_type, secret, events, active, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING *",
    )
    .bind(new.repo)
    .bind(&new.url)
    .bind(&new.content_type)
    .bind(&new.secret)
    .bind(&new.events)
    .bind(new.active)
    .bind(new.created)
    .fetch_one(db)
    .await
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &HookRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE hooks SET url = $1, content_type = $2, secret = $3, events = $4, active = $5, updated = $6 \
         WHERE id = $7",
    )
    .bind(&row.url)
    .bind(&row.content_type)
    .bind(&row.secret)
    .bind(&row.events)
    .bind(row.active)
    .bind(row.updated)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(())
}

/// Those of a repository.
pub(crate) async fn of_repo(db: &mut SqliteConnection, repo: i64) -> Result<Vec<HookRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM hooks WHERE repo = $1 ORDER BY id").bind(repo).fetch_all(db).await
}

/// One by its id.
pub(crate) async fn by_id(db: &mut SqliteConnection, id: i64) -> Result<Option<HookRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM hooks WHERE id = $1").bind(id).fetch_optional(db).await
}

/// Takes one back, with its deliveries.
pub(crate) async fn remove(db: &mut SqliteConnection, id: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM hooks WHERE id = $1").bind(id).execute(db).await?;
    Ok(())
}

/// Something that is to be delivered.
#[derive(Debug)]
pub(crate) struct NewDelivery<'a> {
    pub(crate) hook: i64,
    pub(crate) repo: i64,
    pub(crate) guid: &'a str,
    pub(crate) event: &'a str,
    pub(crate) action: Option<&'a str>,
    pub(crate) payload: &'a str,
    pub(crate) redelivery: bool,
    pub(crate) due: Timestamp,
}

/// Writes it down.
pub(crate) async fn enqueue(
    db: &mut SqliteConnection,
    new: &NewDelivery<'_>,
    now: Timestamp,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "INSERT INTO deliveries (hook, repo, guid, event, action, payload, redelivery, state, due, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $9) RETURNING id",
    )
    .bind(new.hook)
    .bind(new.repo)
    .bind(new.guid)
    .bind(new.event)
    .bind(new.action)
    .bind(new.payload)
    .bind(new.redelivery)
    .bind(new.due)
    .bind(now)
    .fetch_one(db)
    .await
}

/// What was held back for the next one, which is here, is due behind it.
pub(crate) async fn let_go(
    db: &mut SqliteConnection,
    hook: i64,
    now: Timestamp,
    due: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE deliveries SET due = $1 WHERE hook = $2 AND state = 'waiting' AND attempts = 0 AND due > $3",
    )
    .bind(due)
    .bind(hook)
    .bind(now)
    .execute(db)
    .await?;
    Ok(())
}

/// The next that is due.
pub(crate) async fn next_due(
    db: &mut SqliteConnection,
    now: Timestamp,
) -> Result<Option<DeliveryRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM deliveries WHERE state = 'waiting' AND due <= $1 ORDER BY due, id LIMIT 1")
        .bind(now)
        .fetch_optional(db)
        .await
}

/// When the next is due.
pub(crate) async fn next_time(db: &mut SqliteConnection) -> Result<Option<Timestamp>, sqlx::Error> {
    sqlx::query_scalar("SELECT min(due) FROM deliveries WHERE state = 'waiting'").fetch_one(db).await
}

/// Writes down what became of an attempt.
pub(crate) async fn settle(db: &mut SqliteConnection, row: &DeliveryRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE deliveries SET state = $1, attempts = $2, due = $3, delivered = $4, millis = $5, code = $6, \
         request_headers = $7, response_headers = $8, response_body = $9 WHERE id = $10",
    )
    .bind(&row.state)
    .bind(row.attempts)
    .bind(row.due)
    .bind(row.delivered)
    .bind(row.millis)
    .bind(row.code)
    .bind(&row.request_headers)
    .bind(&row.response_headers)
    .bind(&row.response_body)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(())
}

/// Those of a webhook that were tried, newest first, before some id.
pub(crate) async fn deliveries(
    db: &mut SqliteConnection,
    hook: i64,
    before: i64,
    limit: i64,
) -> Result<Vec<DeliveryRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM deliveries WHERE hook = $1 AND id < $2 AND delivered IS NOT NULL ORDER BY id DESC LIMIT $3",
    )
    .bind(hook)
    .bind(before)
    .bind(limit)
    .fetch_all(db)
    .await
}

/// One of a webhook.
pub(crate) async fn delivery(
    db: &mut SqliteConnection,
    hook: i64,
    id: i64,
) -> Result<Option<DeliveryRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM deliveries WHERE hook = $1 AND id = $2")
        .bind(hook)
        .bind(id)
        .fetch_optional(db)
        .await
}

/// Forgets all but the newest of a webhook.
pub(crate) async fn prune(db: &mut SqliteConnection, hook: i64, kept: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM deliveries WHERE hook = $1 AND state != 'waiting' AND id <= \
         (SELECT id FROM deliveries WHERE hook = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
    )
    .bind(hook)
    .bind(kept)
    .execute(db)
    .await?;
    Ok(())
}
