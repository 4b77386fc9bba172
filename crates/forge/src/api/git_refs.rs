//! Git refs: read, create, update, delete.

use serde::Deserialize;
use serde_json::Value;

use super::protection::{self, BranchChange};
use crate::git::{FullRef, RefUpdate, Repository};
use crate::name::{RefName, Sha};
use crate::reconcile;
use crate::server::{Access, Call, Failure, Page, Reply, Repo, Route, delete, get, patch, post};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/git/ref/{ref*}", |call| Box::pin(show(call))),
    get("/repos/{owner}/{repo}/git/matching-refs/{ref*}", |call| Box::pin(matching(call))),
    post("/repos/{owner}/{repo}/git/refs", |call| Box::pin(create(call))),
    patch("/repos/{owner}/{repo}/git/refs/{ref*}", |call| Box::pin(update(call))),
    delete("/repos/{owner}/{repo}/git/refs/{ref*}", |call| Box::pin(remove(call))),
];

/// The ref in the path; only branches and tags are public.
fn find_name(call: &Call) -> Option<RefName> {
    let text = call.params.get("ref");
    let text = text.strip_prefix("refs/").unwrap_or(text);
    RefName::parse(&format!("refs/{text}")).filter(is_public)
}

fn is_public(name: &RefName) -> bool {
    name.as_branch().is_some_and(|branch| RefName::branch(branch).is_some())
        || name.as_tag().is_some_and(|tag| RefName::tag(tag).is_some())
}

async fn json_of(
    call: &Call,
    git: &Repository<'_>,
    repo: &Repo,
    name: &RefName,
    sha: &Sha,
) -> Result<Value, Failure> {
    let kind = git.kind(sha).await?.unwrap_or_else(|| "commit".to_owned());
    Ok(wire::git_ref(&call.ctx, repo, name, sha, &kind))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let name = find_name(call).ok_or_else(Failure::not_found)?;
    let sha = git.read_ref(&name).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&json_of(call, &git, &repo, &name, &sha).await?))
}

async fn matching(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let git = call.ctx.repository(repo.row.id);
    let wanted = format!("refs/{}", call.params.get("ref"));
    let mut found = git.full_refs(&["refs/heads", "refs/tags"]).await?;
    found.retain(|found| found.name.as_str().starts_with(&wanted));
    let shown = |found: &FullRef| wire::git_ref(&call.ctx, &repo, &found.name, &found.sha, &found.kind);
    let items = page.cut(found).iter().map(shown).collect();
    Ok(page.reply(call, items, None))
}

#[derive(Deserialize)]
struct NewRef {
    r#ref: Option<String>,
    sha: Option<String>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let new: NewRef = call.json()?;
    let text = new.r#ref.ok_or_else(|| Failure::missing("Reference", "ref"))?;
    let invalid = || Failure::unprocessable(format!("{text} is not a valid ref name."));
    let name = RefName::parse(&text).filter(is_public).ok_or_else(invalid)?;
    let git = call.ctx.repository(repo.row.id);
    let sha = object(&git, new.sha.as_deref(), &name).await?;
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    if git.update_ref(&name, &sha, &Sha::zero()).await? == RefUpdate::Stale {
        return Err(Failure::unprocessable("Reference already exists"));
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, actor).await?;
    Ok(Reply::created(&json_of(call, &git, &repo, &name, &sha).await?))
}

/// The object that a ref shall point to: a commit for a branch, any object for a tag.
async fn object(git: &Repository<'_>, text: Option<&str>, name: &RefName) -> Result<Sha, Failure> {
    let text = text.ok_or_else(|| Failure::missing("Reference", "sha"))?;
    let sha = Sha::parse(text).ok_or_else(|| {
        Failure::unprocessable("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    })?;
    match git.kind(&sha).await?.as_deref() {
        None => Err(Failure::unprocessable("Object does not exist")),
        Some(kind) if name.as_branch().is_some() && kind != "commit" => {
            Err(Failure::unprocessable("Object is not a commit"))
        }
        Some(_) => Ok(sha),
    }
}

#[derive(Deserialize)]
struct RefRequest {
    sha: Option<String>,
    force: Option<bool>,
}

async fn update(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let update: RefRequest = call.json()?;
    let name = find_name(call).ok_or_else(|| Failure::unprocessable("Reference does not exist"))?;
    let git = call.ctx.repository(repo.row.id);
    let new = object(&git, update.sha.as_deref(), &name).await?;
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let old = git.read_ref(&name).await?.ok_or_else(|| Failure::unprocessable("Reference does not exist"))?;
    let forward = git.is_ancestor(&old, &new).await?;
    if !forward && update.force != Some(true) {
        return Err(Failure::unprocessable("Update is not a fast forward"));
    }
    let change = if forward { BranchChange::Push } else { BranchChange::Force };
    protection::check_change(call, &repo, &name, change).await?;
    if git.update_ref(&name, &new, &old).await? == RefUpdate::Stale {
        return Err(Failure::conflict("Reference cannot be updated"));
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, actor).await?;
    Ok(Reply::ok(&json_of(call, &git, &repo, &name, &new).await?))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let missing = || Failure::unprocessable("Reference does not exist");
    let name = find_name(call).ok_or_else(missing)?;
    let git = call.ctx.repository(repo.row.id);
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let old = git.read_ref(&name).await?.ok_or_else(missing)?;
    if name.as_branch() == Some(repo.row.default_branch.as_str()) {
        return Err(Failure::unprocessable("Cannot delete the default branch"));
    }
    protection::check_change(call, &repo, &name, BranchChange::Delete).await?;
    if git.update_ref(&name, &Sha::zero(), &old).await? == RefUpdate::Stale {
        return Err(missing());
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, actor).await?;
    Ok(Reply::no_content())
}
