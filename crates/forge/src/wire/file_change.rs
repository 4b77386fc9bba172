//! GitHub's JSON of changed files.

use serde_json::{Value, json};

use super::{html_url, repo_url};
use crate::context::Context;
use crate::git::FileChange;
use crate::name::Sha;
use crate::server::{Repo, percent_encode};

/// A changed file of a commit, comparison or pull request, at `head`.
pub(crate) fn file_change(ctx: &Context, repo: &Repo, file: &FileChange, head: &Sha) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let path = percent_encode(&file.path).replace("%2F", "/");
    let mut json = json!({
        "sha": file.blob,
        "filename": file.path,
        "status": file.status.word(),
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": format!("{html}/blob/{head}/{path}"),
        "raw_url": format!("{html}/raw/{head}/{path}"),
        "contents_url": format!("{api}/contents/{path}?ref={head}"),
    });
    if let Some(patch) = &file.patch {
        json["patch"] = patch.as_str().into();
    }
    if let Some(previous) = &file.previous {
        json["previous_filename"] = previous.as_str().into();
    }
    json
}
