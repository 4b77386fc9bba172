//! GitHub's JSON of issue events.

use serde_json::{Value, json};

use super::{extend, repo_url, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::EventRow;

/// An event in a list of events or a timeline.
pub(crate) fn event(ctx: &Context, repo: &Repo, row: &EventRow) -> Value {
    let api = repo_url(ctx, repo);
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let common = json!({
        "id": row.id,
        "node_id": format!("E_{}", row.id),
        "url": format!("{api}/issues/events/{}", row.id),
        "actor": user(ctx, &ctx.user(row.actor)),
        "event": row.event,
        "commit_id": row.commit_id,
        "commit_url": row.commit_id.as_ref().map(|sha| format!("{api}/commits/{sha}")),
        "created_at": row.created.iso(),
        "performed_via_github_app": null,
    });
    extend(common, named_people(ctx, detail))
}

/// Replaces the user ids in the detail by users.
fn named_people(ctx: &Context, mut detail: Value) -> Value {
    for field in ["assignee", "assigner", "requested_reviewer", "review_requester"] {
        if let Some(id) = detail[field].as_i64() {
            detail[field] = user(ctx, &ctx.user(id));
        }
    }
    detail
}
