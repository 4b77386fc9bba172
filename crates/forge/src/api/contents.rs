//! Files and directories at a commit: reading and writing.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::git_objects::{Person, decode};
use super::protection::{self, BranchChange};
use super::revision::or_default;
use crate::git::{EntryKind, RefUpdate, TreeEntry};
use crate::name::{RefName, Sha, is_file_path};
use crate::reconcile;
use crate::server::{
    Access, Call, Failure, FieldError, Media, Reply, Repo, Route, RouteKind, delete, get, put,
};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/contents", |call| Box::pin(show(call))),
    get("/repos/{owner}/{repo}/contents/{path*}", |call| Box::pin(show(call))),
    put("/repos/{owner}/{repo}/contents/{path*}", |call| Box::pin(write(call))),
    delete("/repos/{owner}/{repo}/contents/{path*}", |call| Box::pin(remove(call))),
    Route::new("GET", RouteKind::Forge, "/{owner}/{repo}/raw/{ref}/{path*}", |call| Box::pin(raw(call))),
];

/// GitHub's limits in bytes: larger files come without content, then not at all.
const LARGEST_IN_JSON: i64 = 1 << 20;
const LARGEST: i64 = 50 << 20;

/// GitHub's 403 for files over the limit.
pub(super) fn too_large() -> Failure {
    let error = FieldError::new("Blob", "data", "too_large");
    let words = "This API returns blobs up to 50 MB in size. The requested blob is too large to fetch via the API, but \
                 you can always clone the repository via Git.";
    Failure { status: StatusCode::FORBIDDEN, message: words.to_owned(), ..Failure::invalid(error) }
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let asked = call.query.get("ref");
    let commit = or_default(&git, &repo, asked).await?;
    let missing = || match asked {
        Some(name) => Failure::new(StatusCode::NOT_FOUND, format!("No commit found for the ref {name}")),
        None => Failure::new(StatusCode::NOT_FOUND, "This repository is empty."),
    };
    let commit = commit.ok_or_else(missing)?;
    let revision = asked.unwrap_or(&repo.row.default_branch);
    let path = call.params.get("path").trim_matches('/');
    if path.is_empty() {
        let entries = git.tree(&commit, false).await?.unwrap_or_default();
        return Ok(Reply::ok(&directory(call, &repo, "", &entries, revision)));
    }
    if !is_file_path(path) {
        return Err(Failure::not_found());
    }
    let entry = git.entry(&commit, path).await?.ok_or_else(Failure::not_found)?;
    match entry.kind {
        EntryKind::Tree => {
            let entries = git.tree(&entry.sha, false).await?.unwrap_or_default();
            Ok(Reply::ok(&directory(call, &repo, path, &entries, revision)))
        }
        EntryKind::Commit => Ok(Reply::ok(&wire::content(&call.ctx, &repo, &entry, revision, None))),
        EntryKind::Blob => {
            let size = entry.size.unwrap_or(0);
            if size > LARGEST {
                return Err(too_large());
            }
            if size > LARGEST_IN_JSON && call.media() != Media::Raw {
                let mut json = wire::content(&call.ctx, &repo, &entry, revision, None);
                (json["content"], json["encoding"]) = ("".into(), "none".into());
                return Ok(Reply::ok(&json));
            }
            let bytes = git.blob(&entry.sha).await?.ok_or_else(Failure::not_found)?;
            if call.media() == Media::Raw {
                return Ok(Reply::text(StatusCode::OK, "application/vnd.github.raw; charset=utf-8", bytes));
            }
            Ok(Reply::ok(&wire::content(&call.ctx, &repo, &entry, revision, Some(&bytes))))
        }
    }
}

/// The bytes of a file, for `download_url`. The content type is an image or plain text, so that no browser runs it.
async fn raw(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let commit =
        or_default(&git, &repo, Some(call.params.get("ref"))).await?.ok_or_else(Failure::not_found)?;
    let path = call.params.get("path");
    if !is_file_path(path) {
        return Err(Failure::not_found());
    }
    let entry = git.entry(&commit, path).await?.filter(|entry| entry.kind == EntryKind::Blob);
    let entry = entry.ok_or_else(Failure::not_found)?;
    if entry.size.unwrap_or(0) > LARGEST {
        return Err(too_large());
    }
    let bytes = git.blob(&entry.sha).await?.ok_or_else(Failure::not_found)?;
    let kind = match path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => "text/plain; charset=utf-8",
    };
    let mut reply = Reply::text(StatusCode::OK, kind, bytes);
    reply.set("content-security-policy", "default-src 'none'; sandbox");
    reply.set("cross-origin-resource-policy", "same-origin");
    Ok(reply)
}

fn directory(call: &Call, repo: &Repo, above: &str, entries: &[TreeEntry], revision: &str) -> Vec<Value> {
    let below = |entry: &TreeEntry| {
        let path = if above.is_empty() { entry.path.clone() } else { format!("{above}/{}", entry.path) };
        TreeEntry { path, ..entry.clone() }
    };
    entries.iter().map(|entry| wire::content(&call.ctx, repo, &below(entry), revision, None)).collect()
}

#[derive(Deserialize)]
struct FileRequest {
    message: Option<String>,
    content: Option<String>,
    sha: Option<String>,
    branch: Option<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

async fn write(call: &Call) -> Result<Reply, Failure> {
    let request: FileRequest = call.json()?;
    let content = request.content.as_deref().ok_or_else(|| Failure::missing("Content", "content"))?;
    let bytes = decode(content)?;
    change(call, &request, Some(&bytes)).await
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let mut request: FileRequest = call.json()?;
    // Clients that send no body with DELETE use the query.
    let asked = |name| call.query.get(name).map(str::to_owned);
    request.message = request.message.or_else(|| asked("message"));
    request.sha = request.sha.or_else(|| asked("sha"));
    request.branch = request.branch.or_else(|| asked("branch"));
    change(call, &request, None).await
}

/// Makes one commit that writes or removes one file.
async fn change(call: &Call, request: &FileRequest, bytes: Option<&[u8]>) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let message = request.message.as_deref().ok_or_else(|| Failure::missing("Content", "message"))?;
    let path = call.params.get("path");
    if !is_file_path(path) {
        return Err(Failure::unprocessable("path contains a malformed path component"));
    }
    let git = call.ctx.repository(repo.row.id);
    let branch = request.branch.as_deref().unwrap_or(&repo.row.default_branch);
    let name = RefName::branch(branch).ok_or_else(Failure::not_found)?;
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let tip = git.read_ref(&name).await?;
    let first = tip.is_none() && git.refs().await?.is_empty() && bytes.is_some();
    if tip.is_none() && !first {
        return Err(Failure::new(StatusCode::NOT_FOUND, format!("Branch {branch} not found")));
    }
    protection::check_change(call, &repo, &name, BranchChange::Push).await?;
    let before = match &tip {
        Some(tip) => git.entry(tip, path).await?,
        None => None,
    };
    check_blob(path, before.as_ref(), request.sha.as_deref(), bytes.is_none())?;
    let blob = match bytes {
        Some(bytes) => Some(git.write_blob(bytes).await?),
        None => None,
    };
    let mode = before.as_ref().map_or("100644", |entry| entry.mode.as_str()).to_owned();
    let tree = git.write_tree(tip.as_ref(), &[(mode, path.to_owned(), blob)]).await?;
    let now = call.ctx.clock.now();
    let author = Person::signature(request.author.as_ref().or(request.committer.as_ref()), actor, now)?;
    let committer = Person::signature(request.committer.as_ref(), actor, now)?;
    let parents: Vec<Sha> = tip.iter().cloned().collect();
    let commit = git.write_commit(&tree, &parents, &author, &committer, message).await?;
    let old = tip.unwrap_or_else(Sha::zero);
    if git.update_ref(&name, &commit, &old).await? == RefUpdate::Stale {
        return Err(Failure::conflict(format!("is at {old} but expected another commit")));
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, actor).await?;
    let made = git.commit(&commit).await?.ok_or_else(Failure::not_found)?;
    let shown = git.entry(&commit, path).await?;
    let json = json!({
        "content": shown.map(|entry| wire::content(&call.ctx, &repo, &entry, branch, None)),
        "commit": wire::git_commit(&call.ctx, &repo, &made),
    });
    let status = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Reply::json(status, &json))
}

/// Checks the `sha` of the request against the current blob.
fn check_blob(
    path: &str,
    before: Option<&TreeEntry>,
    sha: Option<&str>,
    removing: bool,
) -> Result<(), Failure> {
    match (before, sha) {
        (None, None) if !removing => Ok(()),
        (None, _) if removing => Err(Failure::not_found()),
        (None, Some(sha)) => Err(Failure::conflict(format!("{path} does not match {sha}"))),
        (Some(entry), Some(sha)) if entry.sha.as_str().eq_ignore_ascii_case(sha) => Ok(()),
        (Some(_), Some(sha)) => Err(Failure::conflict(format!("{path} does not match {sha}"))),
        (_, None) => Err(Failure::unprocessable("Invalid request.\n\n\"sha\" wasn't supplied.")),
    }
}
