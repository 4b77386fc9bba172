//! Assignees of issues.

use hyper::StatusCode;
use serde::Deserialize;

use super::issues::{assign, find, json_of, unassign};
use crate::server::{Access, Call, Failure, Page, Reply, Route, delete, get, post};
use crate::store::{Permission, collaborators, issues};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/assignees", |call| Box::pin(list_assignable(call))),
    get("/repos/{owner}/{repo}/assignees/{assignee}", |call| Box::pin(check_assignable(call))),
    post("/repos/{owner}/{repo}/issues/{number}/assignees", |call| Box::pin(add(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/assignees", |call| Box::pin(remove(call))),
];

async fn list_assignable(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let mut people = vec![repo.owner.id];
    for (user, permission) in collaborators::of_repo(&mut db, repo.row.id).await? {
        if permission >= Permission::Triage {
            people.push(user);
        }
    }
    Ok(page.reply_all(call, people, |id| wire::user(&call.ctx, &call.ctx.user(id))))
}

async fn check_assignable(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let user = call.ctx.users.by_login(call.params.get("assignee")).ok_or_else(Failure::not_found)?;
    let mut db = call.ctx.store.read().await?;
    let permission = collaborators::permission(&mut db, &repo.row, &user).await?;
    if permission >= Permission::Triage { Ok(Reply::no_content()) } else { Err(Failure::not_found()) }
}

#[derive(Deserialize)]
struct AssigneeNames {
    #[serde(default)]
    assignees: Vec<String>,
}

async fn add(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let names: AssigneeNames = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find(&mut tx, call, &repo).await?;
    assign(&mut tx, call, &repo, &row, &names.assignees, now).await?;
    issues::touch(&mut tx, row.id, now).await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(StatusCode::CREATED, &json))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let names: AssigneeNames = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find(&mut tx, call, &repo).await?;
    let known = names.assignees.iter().filter_map(|login| call.ctx.users.by_login(login));
    let people: Vec<i64> = known.map(|user| user.id).collect();
    unassign(&mut tx, call, &repo, &row, &people, now).await?;
    issues::touch(&mut tx, row.id, now).await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}
