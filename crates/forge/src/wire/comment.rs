//! GitHub's JSON of comments.

use serde_json::{Value, json};

use super::issue::{Extras, reactions};
use super::{html_url, repo_url, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::CommentRow;

/// A comment on the issue or pull request with this number.
pub(crate) fn comment(
    ctx: &Context,
    repo: &Repo,
    row: &CommentRow,
    number: i64,
    pull: bool,
    extras: &Extras,
) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let kind = if pull { "pull" } else { "issues" };
    json!({
        "id": row.id,
        "node_id": format!("IC_{}", row.id),
        "url": format!("{api}/issues/comments/{}", row.id),
        "html_url": format!("{html}/{kind}/{number}#issuecomment-{}", row.id),
        "issue_url": format!("{api}/issues/{number}"),
        "user": user(ctx, &ctx.user(row.author)),
        "author_association": extras.association(repo, row.author),
        "body": row.body,
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "reactions": reactions(&format!("{api}/issues/comments/{}", row.id)),
        "performed_via_github_app": null,
    })
}
