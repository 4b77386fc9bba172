//! What was done to an issue, as GitHub shows it.

use serde_json::{Value, json};

use super::{extend, repo_url, user};
use crate::server::Repo;
use crate::site::Site;
use crate::store::EventRow;

/// An event of an issue, as its list of events and its timeline have it.
pub(crate) fn event(site: &Site, repo: &Repo, row: &EventRow) -> Value {
    let api = repo_url(site, repo);
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let common = json!({
        "id": row.id,
        "node_id": format!("E_{}", row.id),
        "url": format!("{api}/issues/events/{}", row.id),
        "actor": user(site, &site.user(row.actor)),
        "event": row.event,
        "commit_id": row.commit_id,
        "commit_url": row.commit_id.as_ref().map(|sha| format!("{api}/commits/{sha}")),
        "created_at": row.created.iso(),
        "performed_via_github_app": null,
    });
    extend(common, named_people(site, detail))
}

/// Details name people by number; outside they are users.
fn named_people(site: &Site, mut detail: Value) -> Value {
    for field in ["assignee", "assigner", "requested_reviewer", "review_requester"] {
        if let Some(id) = detail[field].as_i64() {
            detail[field] = user(site, &site.user(id));
        }
    }
    detail
}
