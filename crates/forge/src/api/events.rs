//! Issue events and timelines.

use serde_json::{Value, json};

use super::issues::{find, json_of};
use crate::server::{Access, Call, Failure, Page, Reply, Route, get};
use crate::store::{comments, events, issues, reviews};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/issues/events", |call| Box::pin(of_repo(call))),
    get("/repos/{owner}/{repo}/issues/{number}/events", |call| Box::pin(of_issue(call))),
    get("/repos/{owner}/{repo}/issues/{number}/timeline", |call| Box::pin(timeline(call))),
];

async fn of_repo(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let rows = events::of_repo(&mut db, repo.row.id, page.limit(), page.offset()).await?;
    let mut items = Vec::new();
    for row in &rows {
        let issue = issues::by_id(&mut db, row.issue).await?.ok_or_else(Failure::not_found)?;
        let issue = json_of(&mut db, call, &repo, &issue).await?;
        items.push(wire::extend(wire::event(&call.ctx, &repo, row), json!({"issue": issue})));
    }
    Ok(page.reply(call, items, None))
}

async fn of_issue(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let issue = find(&mut db, call, &repo).await?;
    let rows = events::of_issue(&mut db, issue.id, page.limit(), page.offset()).await?;
    let items = rows.iter().map(|row| wire::event(&call.ctx, &repo, row)).collect();
    Ok(page.reply(call, items, None))
}

/// Events, comments and reviews, ordered by time.
async fn timeline(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let issue = find(&mut db, call, &repo).await?;
    let extras = wire::Extras::of_repo(&mut db, &repo).await?;
    let mut items: Vec<(i64, Value)> = Vec::new();
    for row in events::of_issue(&mut db, issue.id, i64::MAX, 0).await? {
        items.push((row.created.0, wire::event(&call.ctx, &repo, &row)));
    }
    for row in comments::of_issue(&mut db, issue.id, None, i64::MAX, 0).await? {
        let comment = wire::comment(&call.ctx, &repo, &row, issue.number, issue.pull, &extras);
        let actor = comment["user"].clone();
        items.push((row.created.0, wire::extend(comment, json!({"event": "commented", "actor": actor}))));
    }
    for row in reviews::of_issue(&mut db, issue.id).await? {
        if let Some(submitted) = row.submitted {
            let review = wire::review(&call.ctx, &repo, &row, issue.number, &extras);
            items.push((submitted.0, wire::extend(review, json!({"event": "reviewed"}))));
        }
    }
    items.sort_by_key(|(time, _)| *time);
    Ok(page.reply_all(call, items, |(_, item)| item))
}
