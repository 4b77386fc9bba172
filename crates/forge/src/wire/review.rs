//! GitHub's JSON of reviews and their comments.

use serde_json::{Value, json};

use super::issue::{Extras, reactions};
use super::{html_url, repo_url, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::{ReviewCommentRow, ReviewRow};

/// A review of the pull request with this number.
pub(crate) fn review(ctx: &Context, repo: &Repo, row: &ReviewRow, number: i64, extras: &Extras) -> Value {
    let pull = format!("{}/pulls/{number}", repo_url(ctx, repo));
    let html = format!("{}/pull/{number}#pullrequestreview-{}", html_url(ctx, repo), row.id);
    let mut json = json!({
        "id": row.id,
        "node_id": format!("PRR_{}", row.id),
        "user": user(ctx, &ctx.user(row.author)),
        "body": row.body,
        "state": row.state,
        "html_url": html,
        "pull_request_url": pull,
        "_links": {"html": {"href": html}, "pull_request": {"href": pull}},
        "commit_id": row.commit_id,
        "author_association": extras.association(repo, row.author),
    });
    if let Some(submitted) = row.submitted {
        json["submitted_at"] = submitted.iso().into();
    }
    json
}

/// A comment on a line of the pull request with this number.
pub(crate) fn review_comment(
    ctx: &Context,
    repo: &Repo,
    row: &ReviewCommentRow,
    number: i64,
    extras: &Extras,
) -> Value {
    let api = repo_url(ctx, repo);
    let url = format!("{api}/pulls/comments/{}", row.id);
    let pull = format!("{api}/pulls/{number}");
    let html = format!("{}/pull/{number}#discussion_r{}", html_url(ctx, repo), row.id);
    let mut json = json!({
        "id": row.id,
        "node_id": format!("PRRC_{}", row.id),
        "url": url,
        "html_url": html,
        "pull_request_url": pull,
        "pull_request_review_id": row.review,
        "diff_hunk": row.hunk,
        "path": row.path,
        "position": 1,
        "original_position": 1,
        "commit_id": row.commit_id,
        "original_commit_id": row.commit_id,
        "user": user(ctx, &ctx.user(row.author)),
        "body": row.body,
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "author_association": extras.association(repo, row.author),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull}},
        "side": row.side,
        "start_line": row.start_line,
        "original_start_line": row.start_line,
        "start_side": row.start_line.map(|_| row.side.as_str()),
        "subject_type": if row.line.is_some() { "line" } else { "file" },
        "reactions": reactions(&url),
    });
    if let Some(line) = row.line {
        json["line"] = line.into();
        json["original_line"] = line.into();
    }
    if let Some(id) = row.reply_to {
        json["in_reply_to_id"] = id.into();
    }
    json
}
