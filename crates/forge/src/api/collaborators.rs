//! Collaborators of a repository and their permissions.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, put};
use crate::store::{Permission, User, collaborators};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/collaborators", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/collaborators/{username}/permission", |call| Box::pin(permission(call))),
    get("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(check_collaborator(call))),
    put("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(add(call))),
    delete("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(remove(call))),
];

fn json_of(call: &Call, user: &User, permission: Permission) -> Value {
    let more = json!({"permissions": wire::permissions(permission), "role_name": permission.role()});
    wire::extend(wire::user(&call.ctx, user), more)
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let mut people = vec![(repo.owner.id, Permission::Admin)];
    people.extend(collaborators::of_repo(&mut db, repo.row.id).await?);
    Ok(page.reply_all(call, people, |(id, permission)| json_of(call, &call.ctx.user(id), permission)))
}

fn find_user(call: &Call) -> Result<std::sync::Arc<User>, Failure> {
    call.ctx.users.by_login(call.params.get("username")).ok_or_else(Failure::not_found)
}

async fn permission(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    call.actor()?;
    let user = find_user(call)?;
    let mut db = call.ctx.store.read().await?;
    let permission = collaborators::permission(&mut db, &repo.row, &user).await?;
    Ok(Reply::ok(&json!({
        "permission": permission.legacy(),
        "role_name": permission.role(),
        "user": json_of(call, &user, permission),
    })))
}

async fn check_collaborator(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let user = find_user(call)?;
    let mut db = call.ctx.store.read().await?;
    let listed = collaborators::of_repo(&mut db, repo.row.id).await?.iter().any(|(id, _)| *id == user.id);
    if listed || user.id == repo.owner.id { Ok(Reply::no_content()) } else { Err(Failure::not_found()) }
}

#[derive(Deserialize)]
struct CollaboratorRequest {
    permission: Option<String>,
}

/// Adds a collaborator at once; GitHub sends an invitation, so a new one is answered with 201 and an invitation.
async fn add(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let actor = call.actor()?;
    let user = find_user(call)?;
    let request: CollaboratorRequest = call.json()?;
    let word = request.permission.as_deref().unwrap_or("push");
    let permission = Permission::parse(word).filter(|permission| *permission != Permission::None);
    let invalid = || Failure::invalid(FieldError::new("Repository", "permission", "invalid"));
    let permission = permission.ok_or_else(invalid)?;
    let mut tx = call.ctx.store.begin().await?;
    let known = collaborators::of_repo(&mut tx, repo.row.id).await?.iter().any(|(id, _)| *id == user.id);
    if user.id != repo.owner.id {
        collaborators::put(&mut tx, repo.row.id, user.id, permission).await?;
    }
    call.ctx.commit(tx).await?;
    if known || user.id == repo.owner.id {
        return Ok(Reply::no_content());
    }
    Ok(Reply::json(StatusCode::CREATED, &invitation(call, &repo, &user, actor, permission)))
}

fn invitation(call: &Call, repo: &Repo, user: &User, actor: &User, permission: Permission) -> Value {
    let url = format!("{}/collaborators/{}", wire::repo_url(&call.ctx, repo), user.login);
    json!({
        "id": user.id,
        "node_id": format!("RI_{}", user.id),
        "repository": wire::repository(&call.ctx, repo),
        "invitee": wire::user(&call.ctx, user),
        "inviter": wire::user(&call.ctx, actor),
        "permissions": permission.role(),
        "created_at": call.ctx.clock.now().iso(),
        "url": url,
        "html_url": wire::html_url(&call.ctx, repo),
    })
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let user = find_user(call)?;
    let mut tx = call.ctx.store.begin().await?;
    collaborators::remove(&mut tx, repo.row.id, user.id).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}
