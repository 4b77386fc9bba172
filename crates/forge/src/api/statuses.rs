//! Commit statuses.

use serde::Deserialize;
use serde_json::{Value, json};

use super::revision::commit;
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Route, get, post};
use crate::store::{StatusRow, checks};
use crate::webhook::{self, Event};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/statuses/{sha}", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/commits/{ref*}/statuses", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/commits/{ref*}/status", |call| Box::pin(combined(call))),
];

const LONGEST: usize = 140;

#[derive(Deserialize)]
struct NewStatus {
    state: Option<String>,
    context: Option<String>,
    description: Option<String>,
    target_url: Option<String>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let new: NewStatus = call.json()?;
    let invalid = |field| Failure::invalid(FieldError::new("Status", field, "invalid"));
    let state = new.state.ok_or_else(|| Failure::missing("Status", "state"))?;
    if !["error", "failure", "pending", "success"].contains(&state.as_str()) {
        return Err(invalid("state"));
    }
    if new.description.as_ref().is_some_and(|text| text.chars().count() > LONGEST) {
        return Err(invalid("description"));
    }
    let web = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    if new.target_url.as_ref().is_some_and(|url| !url.is_empty() && !web(url)) {
        return Err(invalid("target_url"));
    }
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("sha")).await?;
    let row = StatusRow {
        id: 0,
        sha: sha.to_string(),
        state,
        context: new.context.unwrap_or_else(|| "default".to_owned()),
        description: new.description,
        target_url: new.target_url.filter(|url| !url.is_empty()),
        creator: actor.id,
        created: call.ctx.clock.now(),
    };
    let mut tx = call.ctx.store.begin().await?;
    let row = checks::insert_status(&mut tx, repo.row.id, &row).await?;
    webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Status(&row)).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&wire::status(&call.ctx, &repo, &row)))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("ref")).await?;
    let mut db = call.ctx.store.read().await?;
    let rows = checks::statuses_of_sha(&mut db, repo.row.id, sha.as_str()).await?;
    Ok(page.reply_all(call, rows, |row| wire::status(&call.ctx, &repo, &row)))
}

/// The combined status: a failed context fails it; without any status it is pending.
async fn combined(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("ref")).await?;
    let mut db = call.ctx.store.read().await?;
    let rows = checks::statuses_of_sha(&mut db, repo.row.id, sha.as_str()).await?;
    let rows = checks::latest(rows, |row| row.context.clone());
    let any = |states: &[&str]| rows.iter().any(|row| states.contains(&row.state.as_str()));
    let state = if any(&["failure", "error"]) {
        "failure"
    } else if rows.is_empty() || any(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let total = rows.len();
    let statuses: Vec<Value> =
        page.cut(rows).iter().take(page.size()).map(|row| wire::status(&call.ctx, &repo, row)).collect();
    let api = wire::repo_url(&call.ctx, &repo);
    Ok(Reply::ok(&json!({
        "state": state,
        "statuses": statuses,
        "sha": sha.as_str(),
        "total_count": total,
        "repository": wire::repository(&call.ctx, &repo),
        "commit_url": format!("{api}/commits/{sha}"),
        "url": format!("{api}/commits/{sha}/status"),
    })))
}
