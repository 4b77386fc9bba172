//! Routes that GitHub does not have, for administrators: users, the fault plan, the request log.

use serde::Deserialize;
use serde_json::json;

use crate::context::Context;
use crate::faults::Plan;
use crate::name::is_login;
use crate::server::{Call, Failure, FieldError, Reply, Route, RouteKind};
use crate::store::users;
use crate::{identity, wire};

pub(crate) const ROUTES: &[Route] = &[
    Route::new("GET", RouteKind::Forge, "/_forge/requests", |call| Box::pin(requests(call))),
    Route::new("GET", RouteKind::Forge, "/_forge/faults", |call| Box::pin(faults(call))),
    Route::new("PUT", RouteKind::Forge, "/_forge/faults", |call| Box::pin(set_faults(call))),
    Route::new("POST", RouteKind::Forge, "/_forge/users", |call| Box::pin(create_user(call))),
];

fn require_admin(call: &Call) -> Result<(), Failure> {
    if call.actor()?.admin { Ok(()) } else { Err(Failure::not_found()) }
}

async fn requests(call: &Call) -> Result<Reply, Failure> {
    require_admin(call)?;
    let since = call.query.get("since").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (total, entries) = call.ctx.log.since(since);
    let route = call.query.get("route");
    let method = call.query.get("method");
    let wanted: Vec<_> = entries
        .iter()
        .filter(|entry| route.is_none_or(|route| entry.route == route))
        .filter(|entry| method.is_none_or(|method| entry.method.eq_ignore_ascii_case(method)))
        .collect();
    Ok(Reply::ok(&json!({"total": total, "count": wanted.len(), "requests": wanted})))
}

async fn faults(call: &Call) -> Result<Reply, Failure> {
    require_admin(call)?;
    Ok(Reply::ok(&call.ctx.faults.plan()))
}

async fn set_faults(call: &Call) -> Result<Reply, Failure> {
    require_admin(call)?;
    let text = String::from_utf8_lossy(&call.body);
    let plan = Plan::parse(&text).map_err(|error| Failure::unprocessable(error.to_string()))?;
    apply_plan(&call.ctx, plan);
    Ok(Reply::no_content())
}

/// Activates a fault plan.
pub(crate) fn apply_plan(ctx: &Context, plan: Plan) {
    ctx.clock.set_skew(plan.skew());
    ctx.faults.set(plan);
}

#[derive(Deserialize)]
struct NewUser {
    login: String,
    #[serde(default)]
    bot: bool,
}

async fn create_user(call: &Call) -> Result<Reply, Failure> {
    require_admin(call)?;
    let new: NewUser = call.json()?;
    if !is_login(&new.login) {
        return Err(Failure::invalid(FieldError::new("User", "login", "invalid")));
    }
    let mut tx = call.ctx.store.begin().await?;
    if call.ctx.users.by_login(&new.login).is_some() {
        return Err(Failure::invalid(FieldError::new("User", "login", "already_exists")));
    }
    let kind = if new.bot { "Bot" } else { "User" };
    let user = users::insert(&mut tx, &new.login, kind, false, call.ctx.clock.now()).await?;
    let token = identity::new_token();
    users::add_token(&mut tx, user.id, &identity::digest(&token)).await?;
    tx.commit().await?;
    let user = call.ctx.users.add(user);
    let json = wire::extend(wire::user(&call.ctx, &user), json!({"token": token}));
    Ok(Reply::created(&json))
}
