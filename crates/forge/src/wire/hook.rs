//! GitHub's JSON of webhooks and deliveries.

use serde_json::{Value, json};

use super::{extend, repo_url};
use crate::context::Context;
use crate::server::Repo;
use crate::store::{DeliveryRow, HookRow};

/// A webhook with its secret masked.
pub(crate) fn hook(ctx: &Context, repo: &Repo, row: &HookRow) -> Value {
    let url = format!("{}/hooks/{}", repo_url(ctx, repo), row.id);
    let mut config = json!({"url": row.url, "content_type": row.content_type, "insecure_ssl": "0"});
    if row.secret.is_some() {
        config["secret"] = "********".into();
    }
    json!({
        "type": "Repository",
        "id": row.id,
        "name": "web",
        "active": row.active,
        "events": row.events.split(',').collect::<Vec<_>>(),
        "config": config,
        "updated_at": row.updated.iso(),
        "created_at": row.created.iso(),
        "url": url,
        "test_url": format!("{url}/test"),
        "ping_url": format!("{url}/pings"),
        "deliveries_url": format!("{url}/deliveries"),
        "last_response": {"code": null, "status": "unused", "message": null},
    })
}

/// A delivery in a list.
pub(crate) fn delivery_item(row: &DeliveryRow) -> Value {
    let status = if (200..300).contains(&row.code) { "OK" } else { "failed" };
    json!({
        "id": row.id,
        "guid": row.guid,
        "delivered_at": row.delivered.unwrap_or(row.created).iso(),
        "redelivery": row.redelivery,
        "duration": duration(row.millis),
        "status": status,
        "status_code": row.code,
        "event": row.event,
        "action": row.action,
        "installation_id": null,
        "repository_id": row.repo,
        "throttled_at": null,
    })
}

fn duration(millis: i64) -> f64 {
    std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0)).as_secs_f64()
}

pub(crate) fn delivery(row: &DeliveryRow) -> Value {
    let parsed = |text: &Option<String>| {
        text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_else(|| json!({}))
    };
    let payload: Value = serde_json::from_str(&row.payload).unwrap_or_default();
    let more = json!({
        "url": "",
        "request": {"headers": parsed(&row.request_headers), "payload": payload},
        "response": {"headers": parsed(&row.response_headers), "payload": row.response_body.as_deref().unwrap_or_default()},
    });
    extend(delivery_item(row), more)
}
