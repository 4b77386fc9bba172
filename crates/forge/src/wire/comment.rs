//! Comments as GitHub shows them.

use serde_json::{Value, json};

use super::issue::{Extras, reactions};
use super::{html_url, repo_url, user};
use crate::server::Repo;
use crate::site::Site;
use crate::store::CommentRow;

/// A comment on the issue or pull request with this number.
pub(crate) fn comment(
    site: &Site,
    repo: &Repo,
    row: &CommentRow,
    number: i64,
    pull: bool,
    extras: &Extras,
) -> Value {
    let (api, html) = (repo_url(site, repo), html_url(site, repo));
    let kind = if pull { "pull" } else { "issues" };
    json!({
        "id": row.id,
        "node_id": format!("IC_{}", row.id),
        "url": format!("{api}/issues/comments/{}", row.id),
        "html_url": format!("{html}/{kind}/{number}#issuecomment-{}", row.id),
        "issue_url": format!("{api}/issues/{number}"),
        "user": user(site, &site.user(row.author)),
        "author_association": extras.association(repo, row.author),
        "body": row.body,
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "reactions": reactions(&format!("{api}/issues/comments/{}", row.id)),
        "performed_via_github_app": null,
    })
}
