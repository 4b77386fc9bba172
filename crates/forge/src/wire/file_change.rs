//! Changed files as GitHub shows them.

use serde_json::{Value, json};

use super::{html_url, repo_url};
use crate::git::FileChange;
use crate::name::Sha;
use crate::server::{Repo, percent_encode};
use crate::site::Site;

/// A file of a commit, a comparison or a pull request, as it is at `head`.
pub(crate) fn file_change(site: &Site, repo: &Repo, file: &FileChange, head: &Sha) -> Value {
    let (api, html) = (repo_url(site, repo), html_url(site, repo));
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
