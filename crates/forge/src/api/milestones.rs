//! Milestones.

use serde::Deserialize;
use serde_json::Value;
use sqlx::SqliteConnection;

use super::issues::state;
use super::nullable;
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, get, patch, post};
use crate::store::{MilestoneRow, ids, milestones};
use crate::timestamp::Timestamp;
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/milestones", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/milestones", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/milestones/{number}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/milestones/{number}", |call| Box::pin(edit(call))),
];

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let found = milestones::list(&mut db, repo.row.id, state(&call.query)?).await?;
    let total = i64::try_from(found.len()).ok();
    let rows = milestones::by_ids(&mut db, &ids(page.cut(found))).await?;
    let items = rows.iter().map(|row| wire::milestone(&call.ctx, &repo, row)).collect();
    Ok(page.reply(call, items, total))
}

async fn find(db: &mut SqliteConnection, id: Option<i64>) -> Result<MilestoneRow, Failure> {
    let rows = milestones::by_ids(db, &ids(id)).await?;
    rows.into_iter().next().ok_or_else(Failure::not_found)
}

async fn json_of(db: &mut SqliteConnection, call: &Call, repo: &Repo, id: i64) -> Result<Value, Failure> {
    let row = find(db, Some(id)).await?;
    Ok(wire::milestone(&call.ctx, repo, &row))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let id = milestones::id_by_number(&mut db, repo.row.id, call.number("number")?).await?;
    let row = find(&mut db, id).await?;
    Ok(Reply::ok(&wire::milestone(&call.ctx, &repo, &row)))
}

#[derive(Deserialize)]
struct MilestoneRequest {
    title: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    description: Option<Option<String>>,
    state: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    due_on: Option<Option<String>>,
}

fn already() -> Failure {
    Failure::invalid(FieldError::new("Milestone", "title", "already_exists"))
}

fn due(text: Option<String>) -> Result<Option<Timestamp>, Failure> {
    match text {
        None => Ok(None),
        Some(text) => match Timestamp::parse(&text) {
            Some(time) => Ok(Some(time)),
            None => Err(Failure::invalid(FieldError::new("Milestone", "due_on", "invalid"))),
        },
    }
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let actor = call.actor()?;
    let request: MilestoneRequest = call.json()?;
    let title = request.title.filter(|title| !title.trim().is_empty() && title.chars().count() <= 255);
    let title = title.ok_or_else(|| Failure::missing("Milestone", "title"))?;
    let description = request.description.flatten();
    let due = due(request.due_on.flatten())?;
    let mut tx = call.ctx.store.begin().await?;
    let now = call.ctx.clock.now();
    let id =
        milestones::insert(&mut tx, repo.row.id, title.trim(), description.as_deref(), actor.id, due, now)
            .await?;
    let json = json_of(&mut tx, call, &repo, id.ok_or_else(already)?).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&json))
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let request: MilestoneRequest = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let id = milestones::id_by_number(&mut tx, repo.row.id, call.number("number")?).await?;
    let mut row = find(&mut tx, id).await?;
    let now = call.ctx.clock.now();
    if let Some(title) = request.title.filter(|title| !title.trim().is_empty()) {
        row.title = title.trim().to_owned();
    }
    if let Some(description) = request.description {
        row.description = description;
    }
    if let Some(text) = request.due_on {
        row.due = due(text)?;
    }
    match request.state.as_deref() {
        None => {}
        Some("closed") => (row.state, row.closed) = ("closed".to_owned(), row.closed.or(Some(now))),
        Some("open") => (row.state, row.closed) = ("open".to_owned(), None),
        Some(_) => return Err(Failure::invalid(FieldError::new("Milestone", "state", "invalid"))),
    }
    row.updated = now;
    if !milestones::update(&mut tx, &row).await? {
        return Err(already());
    }
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&wire::milestone(&call.ctx, &repo, &row)))
}
