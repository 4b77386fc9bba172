//! Comments on issues and pull requests.

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::issues::{LONGEST_BODY, find, since};
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, patch, post};
use crate::store::{CommentRow, Permission, comments, issues};
use crate::webhook::{self, Event};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/issues/comments", |call| Box::pin(list_all(call))),
    get("/repos/{owner}/{repo}/issues/comments/{id}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/issues/comments/{id}", |call| Box::pin(edit(call))),
    delete("/repos/{owner}/{repo}/issues/comments/{id}", |call| Box::pin(remove(call))),
    get("/repos/{owner}/{repo}/issues/{number}/comments", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/issues/{number}/comments", |call| Box::pin(create(call))),
];

#[derive(Deserialize)]
struct CommentRequest {
    body: Option<String>,
}

/// The body of a comment, which must not be empty.
fn read_body(call: &Call) -> Result<String, Failure> {
    let text: CommentRequest = call.json()?;
    let body = text.body.filter(|body| !body.trim().is_empty());
    let body = body.ok_or_else(|| Failure::missing("IssueComment", "body"))?;
    if body.chars().count() > LONGEST_BODY {
        let error = format!("body is too long (maximum is {LONGEST_BODY} characters)");
        return Err(Failure::invalid(FieldError::custom("IssueComment", "body", error)));
    }
    Ok(body)
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let actor = call.actor()?;
    let body = read_body(call)?;
    let mut tx = call.ctx.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    if issue.locked && repo.permission < Permission::Write {
        return Err(Failure::forbidden("Unable to create comment because issue is locked."));
    }
    let now = call.ctx.clock.now();
    let row = comments::insert(&mut tx, repo.row.id, issue.id, actor.id, &body, now).await?;
    webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Comment("created", &row, json!({}))).await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&json))
}

async fn json_of(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &CommentRow,
) -> Result<Value, Failure> {
    let issue = issues::by_id(db, row.issue).await?.ok_or_else(Failure::not_found)?;
    let extras = wire::Extras::of_repo(db, repo).await?;
    Ok(wire::comment(&call.ctx, repo, row, issue.number, issue.pull, &extras))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let issue = find(&mut db, call, &repo).await?;
    let since = since(&call.query)?;
    let rows = comments::of_issue(&mut db, issue.id, since, page.limit(), page.offset()).await?;
    let extras = wire::Extras::of_repo(&mut db, &repo).await?;
    let shown = |row| wire::comment(&call.ctx, &repo, row, issue.number, issue.pull, &extras);
    let items = rows.iter().map(shown).collect();
    Ok(page.reply(call, items, since.is_none().then_some(issue.comments)))
}

async fn list_all(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let since = since(&call.query)?;
    let rows = if call.query.get("direction") == Some("desc") {
        comments::newest_of_repo(&mut db, repo.row.id, since, page.limit(), page.offset()).await?
    } else {
        comments::of_repo(&mut db, repo.row.id, since, page.limit(), page.offset()).await?
    };
    let mut items = Vec::new();
    for row in &rows {
        items.push(json_of(&mut db, call, &repo, row).await?);
    }
    Ok(page.reply(call, items, None))
}

async fn find_comment(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<CommentRow, Failure> {
    comments::by_id(db, repo.row.id, call.number("id")?).await?.ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_comment(&mut db, call, &repo).await?;
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &row).await?))
}

/// Authors may change their comments, users with write access all of them.
fn check_author(call: &Call, repo: &Repo, row: &CommentRow) -> Result<(), Failure> {
    if row.author == call.actor()?.id || repo.permission >= Permission::Write {
        return Ok(());
    }
    Err(Failure::forbidden("Must have admin rights to Repository."))
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let body = read_body(call)?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_comment(&mut tx, call, &repo).await?;
    check_author(call, &repo, &row)?;
    let before = row.body;
    let row = comments::edit(&mut tx, row.id, &body, call.ctx.clock.now()).await?;
    let changes = json!({"changes": {"body": {"from": before}}});
    webhook::enqueue(&call.ctx, &mut tx, &repo, call.actor()?, Event::Comment("edited", &row, changes))
        .await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_comment(&mut tx, call, &repo).await?;
    check_author(call, &repo, &row)?;
    comments::remove(&mut tx, row.id).await?;
    webhook::enqueue(&call.ctx, &mut tx, &repo, call.actor()?, Event::Comment("deleted", &row, json!({})))
        .await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}
