//! Releases.

use serde::Deserialize;
use sqlx::SqliteConnection;

use super::revision::resolve;
use crate::git::RefUpdate;
use crate::name::{RefName, Sha};
use crate::reconcile;
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, patch, post};
use crate::store::{Permission, ReleaseRow, releases};
use crate::webhook::{self, Event};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/releases", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/releases", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/releases/latest", |call| Box::pin(latest(call))),
    get("/repos/{owner}/{repo}/releases/tags/{tag*}", |call| Box::pin(by_tag(call))),
    get("/repos/{owner}/{repo}/releases/{id}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/releases/{id}", |call| Box::pin(edit(call))),
    delete("/repos/{owner}/{repo}/releases/{id}", |call| Box::pin(remove(call))),
];

const LONGEST: usize = 125_000;

#[derive(Deserialize)]
struct ReleaseRequest {
    tag_name: Option<String>,
    target_commitish: Option<String>,
    name: Option<String>,
    body: Option<String>,
    draft: Option<bool>,
    prerelease: Option<bool>,
}

fn invalid(field: &'static str, code: &'static str) -> Failure {
    Failure::invalid(FieldError::new("Release", field, code))
}

fn check_request(request: &ReleaseRequest) -> Result<(), Failure> {
    if request.tag_name.as_deref().is_some_and(|tag| RefName::tag(tag).is_none()) {
        return Err(invalid("tag_name", "invalid"));
    }
    if request.body.as_ref().is_some_and(|body| body.chars().count() > LONGEST) {
        return Err(invalid("body", "invalid"));
    }
    Ok(())
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let request: ReleaseRequest = call.json()?;
    check_request(&request)?;
    let tag = request.tag_name.ok_or_else(|| Failure::missing("Release", "tag_name"))?;
    let draft = request.draft.unwrap_or(false);
    let target = request.target_commitish.filter(|target| !target.is_empty());
    let row = ReleaseRow {
        id: 0,
        tag,
        target: target.unwrap_or_else(|| repo.row.default_branch.clone()),
        name: request.name,
        body: request.body,
        draft,
        prerelease: request.prerelease.unwrap_or(false),
        author: actor.id,
        created: now,
        published: (!draft).then_some(now),
    };
    let mut db = call.ctx.store.read().await?;
    if !draft && releases::by_tag(&mut db, repo.row.id, &row.tag).await?.is_some() {
        return Err(invalid("tag_name", "already_exists"));
    }
    drop(db);
    // The tag comes first: a tag without a release is harmless, and a retry finds it.
    if !draft {
        publish_tag(call, &repo, &row).await?;
    }
    let mut tx = call.ctx.store.begin().await?;
    let row = releases::insert(&mut tx, repo.row.id, &row).await?;
    let row = row.ok_or_else(|| invalid("tag_name", "already_exists"))?;
    if !draft {
        webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Release("published", &row)).await?;
    }
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&wire::release(&call.ctx, &repo, &row)))
}

/// Creates the tag of a release unless it exists.
async fn publish_tag(call: &Call, repo: &Repo, row: &ReleaseRow) -> Result<(), Failure> {
    let name = RefName::tag(&row.tag).ok_or_else(|| invalid("tag_name", "invalid"))?;
    let git = call.ctx.repository(repo.row.id);
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    if git.read_ref(&name).await?.is_some() {
        return Ok(());
    }
    let target = resolve(&git, &row.target).await?.ok_or_else(|| invalid("target_commitish", "invalid"))?;
    if git.update_ref(&name, &target, &Sha::zero()).await? == RefUpdate::Stale {
        return Ok(());
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, call.actor()?).await
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let drafts = repo.permission >= Permission::Write;
    let rows = releases::list(&mut db, repo.row.id, drafts, page.limit(), page.offset()).await?;
    let items = rows.iter().map(|row| wire::release(&call.ctx, &repo, row)).collect();
    Ok(page.reply(call, items, None))
}

async fn latest(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = releases::latest(&mut db, repo.row.id).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::release(&call.ctx, &repo, &row)))
}

async fn by_tag(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = releases::by_tag(&mut db, repo.row.id, call.params.get("tag"))
        .await?
        .ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::release(&call.ctx, &repo, &row)))
}

/// The release in the path; drafts are visible to users with write access.
async fn find_release(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<ReleaseRow, Failure> {
    let row = releases::by_id(db, repo.row.id, call.number("id")?).await?;
    row.filter(|row| !row.draft || repo.permission >= Permission::Write).ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_release(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::release(&call.ctx, &repo, &row)))
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let request: ReleaseRequest = call.json()?;
    check_request(&request)?;
    let mut db = call.ctx.store.read().await?;
    let mut row = find_release(&mut db, call, &repo).await?;
    drop(db);
    let publishes = row.draft && request.draft == Some(false);
    row.tag = request.tag_name.unwrap_or(row.tag);
    row.target = request.target_commitish.unwrap_or(row.target);
    row.name = request.name.or(row.name);
    row.body = request.body.or(row.body);
    row.prerelease = request.prerelease.unwrap_or(row.prerelease);
    row.draft = request.draft.unwrap_or(row.draft);
    if publishes {
        row.published = Some(call.ctx.clock.now());
        publish_tag(call, &repo, &row).await?;
    }
    let mut tx = call.ctx.store.begin().await?;
    if !releases::update(&mut tx, &row).await? {
        return Err(invalid("tag_name", "already_exists"));
    }
    if publishes {
        webhook::enqueue(&call.ctx, &mut tx, &repo, call.actor()?, Event::Release("published", &row)).await?;
    }
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&wire::release(&call.ctx, &repo, &row)))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_release(&mut tx, call, &repo).await?;
    releases::remove(&mut tx, row.id).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}
