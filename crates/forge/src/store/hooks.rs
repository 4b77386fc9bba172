//! Webhooks and their deliveries.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    HookRow {
        id: i64,
        repo: i64,
        url: String,
        content_type: String,
        secret: Option<String>,
        /// Event names, separated by commas.
        events: String,
        active: bool,
        created: Timestamp,
        updated: Timestamp,
    }
}

impl HookRow {
    pub(crate) fn is_subscribed(&self, event: &str) -> bool {
        self.active && self.events.split(',').any(|known| known == "*" || known == event)
    }
}

row! {
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

statements! {
    fn insert(new: &HookRow) -> HookRow =
        "INSERT INTO hooks (repo, url, content_type, secret, events, active, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING *"
        [new.repo, &new.url, &new.content_type, &new.secret, &new.events, new.active, new.created];

    fn update(row: &HookRow) =
        "UPDATE hooks SET url = $1, content_type = $2, secret = $3, events = $4, active = $5, updated = $6 WHERE id = $7"
        [&row.url, &row.content_type, &row.secret, &row.events, row.active, row.updated, row.id];

    fn of_repo(repo: i64) -> Vec<HookRow> = "SELECT * FROM hooks WHERE repo = $1 ORDER BY id";

    fn by_id(id: i64) -> Option<HookRow> = "SELECT * FROM hooks WHERE id = $1";

    /// Removes a webhook with its deliveries.
    fn remove(id: i64) = "DELETE FROM hooks WHERE id = $1";

    scalar fn enqueue(new: &NewDelivery<'_>, now: Timestamp) -> i64 =
        "INSERT INTO deliveries (hook, repo, guid, event, action, payload, redelivery, state, due, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $9) RETURNING id"
        [new.hook, new.repo, new.guid, new.event, new.action, new.payload, new.redelivery, new.due, now];

    /// Sets a new due time for deliveries that were held back for the next one.
    fn release_held(hook: i64, now: Timestamp, due: Timestamp) =
        "UPDATE deliveries SET due = $3 WHERE hook = $1 AND state = 'waiting' AND attempts = 0 AND due > $2";

    fn next_due(now: Timestamp) -> Option<DeliveryRow> =
        "SELECT * FROM deliveries WHERE state = 'waiting' AND due <= $1 ORDER BY due, id LIMIT 1";

    /// The due time of the next delivery.
    scalar fn next_time() -> Option<Timestamp> =
        "SELECT due FROM deliveries WHERE state = 'waiting' ORDER BY due LIMIT 1";

    fn record_attempt(row: &DeliveryRow) =
        "UPDATE deliveries SET state = $1, attempts = $2, due = $3, delivered = $4, millis = $5, code = $6, \
         request_headers = $7, response_headers = $8, response_body = $9 WHERE id = $10"
        [&row.state, row.attempts, row.due, row.delivered, row.millis, row.code, &row.request_headers,
         &row.response_headers, &row.response_body, row.id];

    /// The attempted deliveries of a webhook with a smaller id than `before`, newest first.
    fn deliveries(hook: i64, before: i64, limit: i64) -> Vec<DeliveryRow> =
        "SELECT * FROM deliveries WHERE hook = $1 AND id < $2 AND delivered IS NOT NULL ORDER BY id DESC LIMIT $3";

    fn delivery(hook: i64, id: i64) -> Option<DeliveryRow> = "SELECT * FROM deliveries WHERE hook = $1 AND id = $2";

    /// Removes all but the newest `kept` deliveries of a webhook.
    fn prune(hook: i64, kept: i64) =
        "DELETE FROM deliveries WHERE hook = $1 AND state != 'waiting' AND id <= \
         (SELECT id FROM deliveries WHERE hook = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
}
