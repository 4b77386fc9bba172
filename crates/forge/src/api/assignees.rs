//! Who is to do something about an issue.

use hyper::StatusCode;
use serde::Deserialize;

use super::issues::{assign, find, json_of, unassign};
use crate::server::{Call, Failure, Need, Page, Reply, Route, delete, get, post};
use crate::store::{Permission, collaborators, issues};
use crate::wire;

/// Routes about assignees.
pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/assignees", |call| Box::pin(possible(call))),
    get("/repos/{owner}/{repo}/assignees/{assignee}", |call| Box::pin(is_possible(call))),
    post("/repos/{owner}/{repo}/issues/{number}/assignees", |call| Box::pin(add(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/assignees", |call| Box::pin(remove(call))),
];

async fn possible(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let mut people = vec![repo.owner.id];
    for (user, permission) in collaborators::of_repo(&mut db, repo.row.id).await? {
        if permission >= Permission::Triage {
            people.push(user);
        }
    }
    let total = i64::try_from(people.len()).ok();
    let items = page.cut(people).into_iter().map(|id| wire::user(&call.site, &call.site.user(id))).collect();
    Ok(page.reply(call, items, total))
}

async fn is_possible(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let user = call.site.people.by_login(call.params.get("assignee")).ok_or_else(Failure::not_found)?;
    let mut db = call.site.store.read().await?;
    let permission = collaborators::permission(&mut db, &repo.row, &user).await?;
    if permission >= Permission::Triage { Ok(Reply::no_content()) } else { Err(Failure::not_found()) }
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    assignees: Vec<String>,
}

async fn add(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let names: Names = call.json()?;
    let mut tx = call.site.store.begin().await?;
    let row = find(&mut tx, call, &repo).await?;
    assign(&mut tx, call, &repo, &row, &names.assignees, now).await?;
    issues::touch(&mut tx, row.id, now).await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.site.commit(tx).await?;
    Ok(Reply::json(StatusCode::CREATED, &json))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let names: Names = call.json()?;
    let mut tx = call.site.store.begin().await?;
    let row = find(&mut tx, call, &repo).await?;
    let known = names.assignees.iter().filter_map(|login| call.site.people.by_login(login));
    let people: Vec<i64> = known.map(|user| user.id).collect();
    unassign(&mut tx, call, &repo, &row, &people, now).await?;
    issues::touch(&mut tx, row.id, now).await?;
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.site.commit(tx).await?;
    Ok(Reply::ok(&json))
}
