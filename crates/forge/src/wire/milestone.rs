//! GitHub's JSON of milestones.

use serde_json::{Value, json};

use super::{html_url, repo_url, time, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::MilestoneRow;

pub(crate) fn milestone(ctx: &Context, repo: &Repo, row: &MilestoneRow) -> Value {
    let url = format!("{}/milestones/{}", repo_url(ctx, repo), row.number);
    json!({
        "url": url,
        "html_url": format!("{}/milestone/{}", html_url(ctx, repo), row.number),
        "labels_url": format!("{url}/labels"),
        "id": row.id,
        "node_id": format!("MI_{}", row.id),
        "number": row.number,
        "state": row.state,
        "title": row.title,
        "description": row.description,
        "creator": user(ctx, &ctx.user(row.creator)),
        "open_issues": row.open_issues,
        "closed_issues": row.closed_issues,
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "closed_at": time(row.closed),
        "due_on": time(row.due),
    })
}
