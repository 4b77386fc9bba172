//! What GitHub does not have: users by request, the fault plan, the log of requests. For the one who rules the forge.

use serde::Deserialize;
use serde_json::json;

use crate::faults::Plan;
use crate::name::is_login;
use crate::server::{Call, Face, Failure, FieldError, Reply, Route};
use crate::site::Site;
use crate::store::users;
use crate::{identity, wire};

/// Routes of the forge's own.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        pattern: "/_forge/requests",
        face: Face::Own,
        run: |call| Box::pin(requests(call)),
    },
    Route { method: "GET", pattern: "/_forge/faults", face: Face::Own, run: |call| Box::pin(faults(call)) },
    Route {
        method: "PUT",
        pattern: "/_forge/faults",
        face: Face::Own,
        run: |call| Box::pin(set_faults(call)),
    },
    Route {
        method: "POST",
        pattern: "/_forge/users",
        face: Face::Own,
        run: |call| Box::pin(create_user(call)),
    },
];

fn ruler(call: &Call) -> Result<(), Failure> {
    if call.actor()?.admin { Ok(()) } else { Err(Failure::not_found()) }
}

async fn requests(call: &Call) -> Result<Reply, Failure> {
    ruler(call)?;
    let since = call.query.get("since").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (total, entries) = call.site.log.since(since);
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
    ruler(call)?;
    Ok(Reply::ok(&call.site.faults.plan()))
}

async fn set_faults(call: &Call) -> Result<Reply, Failure> {
    ruler(call)?;
    let text = String::from_utf8_lossy(&call.body);
    let plan = Plan::parse(&text).map_err(|error| Failure::unprocessable(error.to_string()))?;
    apply(&call.site, plan);
    Ok(Reply::no_content())
}

/// Puts a plan in force.
pub(crate) fn apply(site: &Site, plan: Plan) {
    site.clock.set_skew(plan.skew());
    site.faults.set(plan);
}

#[derive(Deserialize)]
struct NewUser {
    login: String,
    #[serde(default)]
    bot: bool,
}

async fn create_user(call: &Call) -> Result<Reply, Failure> {
    ruler(call)?;
    let new: NewUser = call.json()?;
    if !is_login(&new.login) {
        return Err(Failure::invalid(FieldError::new("User", "login", "invalid")));
    }
    let mut tx = call.site.store.begin().await?;
    if call.site.people.by_login(&new.login).is_some() {
        return Err(Failure::invalid(FieldError::new("User", "login", "already_exists")));
    }
    let kind = if new.bot { "Bot" } else { "User" };
    let user = users::insert(&mut tx, &new.login, kind, false, call.site.clock.now()).await?;
    let token = identity::new_token();
    users::add_token(&mut tx, user.id, &identity::digest(&token)).await?;
    tx.commit().await?;
    let user = call.site.people.add(user);
    let json = wire::extend(wire::user(&call.site, &user), json!({"token": token}));
    Ok(Reply::created(&json))
}
