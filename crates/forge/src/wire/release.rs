//! GitHub's JSON of releases.

use serde_json::{Value, json};

use super::{html_url, repo_url, time, user};
use crate::context::Context;
use crate::server::{Repo, percent_encode};
use crate::store::ReleaseRow;

/// A release; the forge has no release assets.
pub(crate) fn release(ctx: &Context, repo: &Repo, row: &ReleaseRow) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let url = format!("{api}/releases/{}", row.id);
    let tag = percent_encode(&row.tag);
    let archive = |kind: &str| row.published.map(|_| format!("{api}/{kind}/refs/tags/{tag}"));
    json!({
        "url": url,
        "html_url": format!("{html}/releases/tag/{tag}"),
        "assets_url": format!("{url}/assets"),
        "upload_url": format!("{url}/assets{{?name,label}}"),
        "tarball_url": archive("tarball"),
        "zipball_url": archive("zipball"),
        "id": row.id,
        "node_id": format!("RE_{}", row.id),
        "tag_name": row.tag,
        "target_commitish": row.target,
        "name": row.name.as_deref().unwrap_or(&row.tag),
        "body": row.body.as_deref().unwrap_or_default(),
        "draft": row.draft,
        "prerelease": row.prerelease,
        "created_at": row.created.iso(),
        "published_at": time(row.published),
        "author": user(ctx, &ctx.user(row.author)),
        "assets": [],
    })
}
