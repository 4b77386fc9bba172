//! Who may do what with a repository.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Call, Failure, FieldError, Need, Page, Reply, Repo, Route, delete, get, put};
use crate::store::{Permission, User, collaborators};
use crate::wire;

/// Routes about collaborators.
pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/collaborators", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/collaborators/{username}/permission", |call| Box::pin(permission(call))),
    get("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(is_one(call))),
    put("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(add(call))),
    delete("/repos/{owner}/{repo}/collaborators/{username}", |call| Box::pin(remove(call))),
];

fn json_of(call: &Call, user: &User, permission: Permission) -> Value {
    let has = |wanted| permission >= wanted;
    let more = json!({
        "permissions": {
            "admin": has(Permission::Admin),
            "maintain": has(Permission::Maintain),
            "push": has(Permission::Write),
            "triage": has(Permission::Triage),
            "pull": has(Permission::Read),
        },
        "role_name": permission.role(),
    });
    wire::extend(wire::user(&call.site, user), more)
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Write).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let mut people = vec![(repo.owner.id, Permission::Admin)];
    people.extend(collaborators::of_repo(&mut db, repo.row.id).await?);
    let total = i64::try_from(people.len()).ok();
    let shown = |(id, permission)| json_of(call, &call.site.user(id), permission);
    let items = page.cut(people).into_iter().map(shown).collect();
    Ok(page.reply(call, items, total))
}

fn somebody(call: &Call) -> Result<std::sync::Arc<User>, Failure> {
    call.site.people.by_login(call.params.get("username")).ok_or_else(Failure::not_found)
}

async fn permission(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    call.actor()?;
    let user = somebody(call)?;
    let mut db = call.site.store.read().await?;
    let permission = collaborators::permission(&mut db, &repo.row, &user).await?;
    Ok(Reply::ok(&json!({
        "permission": permission.legacy(),
        "role_name": permission.role(),
        "user": json_of(call, &user, permission),
    })))
}

async fn is_one(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Write).await?;
    let user = somebody(call)?;
    let mut db = call.site.store.read().await?;
    let listed = collaborators::of_repo(&mut db, repo.row.id).await?.iter().any(|(id, _)| *id == user.id);
    if listed || user.id == repo.owner.id { Ok(Reply::no_content()) } else { Err(Failure::not_found()) }
}

#[derive(Deserialize)]
struct Wish {
    permission: Option<String>,
}

/// There are no invitations here: whoever is added is in. GitHub answers 201 with an invitation for somebody new.
async fn add(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Admin).await?;
    let actor = call.actor()?;
    let user = somebody(call)?;
    let wish: Wish = call.json()?;
    let word = wish.permission.as_deref().unwrap_or("push");
    let permission = Permission::parse(word).filter(|permission| *permission != Permission::None);
    let invalid = || Failure::invalid(FieldError::new("Repository", "permission", "invalid"));
    let permission = permission.ok_or_else(invalid)?;
    let mut tx = call.site.store.begin().await?;
    let known = collaborators::of_repo(&mut tx, repo.row.id).await?.iter().any(|(id, _)| *id == user.id);
    if user.id != repo.owner.id {
        collaborators::put(&mut tx, repo.row.id, user.id, permission).await?;
    }
    call.site.commit(tx).await?;
    if known || user.id == repo.owner.id {
        return Ok(Reply::no_content());
    }
    Ok(Reply::json(StatusCode::CREATED, &invitation(call, &repo, &user, actor, permission)))
}

fn invitation(call: &Call, repo: &Repo, user: &User, actor: &User, permission: Permission) -> Value {
    let url = format!("{}/collaborators/{}", wire::repo_url(&call.site, repo), user.login);
    json!({
        "id": user.id,
        "node_id": format!("RI_{}", user.id),
        "repository": wire::repository(&call.site, repo),
        "invitee": wire::user(&call.site, user),
        "inviter": wire::user(&call.site, actor),
        "permissions": permission.role(),
        "created_at": call.site.clock.now().iso(),
        "url": url,
        "html_url": wire::html_url(&call.site, repo),
    })
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Admin).await?;
    let user = somebody(call)?;
    let mut tx = call.site.store.begin().await?;
    collaborators::remove(&mut tx, repo.row.id, user.id).await?;
    call.site.commit(tx).await?;
    Ok(Reply::no_content())
}
