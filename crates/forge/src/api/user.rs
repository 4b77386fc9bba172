//! Users, and how many requests they have left.

use serde_json::json;

use crate::server::{Call, Failure, Reply, Route, get};
use crate::wire;

/// Routes about users.
pub(crate) const ROUTES: &[Route] = &[
    get("/user", |call| Box::pin(myself(call))),
    get("/users/{username}", |call| Box::pin(somebody(call))),
    get("/rate_limit", |call| Box::pin(rate_limit(call))),
];

async fn myself(call: &Call) -> Result<Reply, Failure> {
    Ok(Reply::ok(&wire::private_user(&call.site, call.actor()?)))
}

async fn somebody(call: &Call) -> Result<Reply, Failure> {
    let user = call.site.people.by_login(call.params.get("username")).ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::private_user(&call.site, &user)))
}

async fn rate_limit(call: &Call) -> Result<Reply, Failure> {
    let user = call.actor.as_ref().map(|actor| actor.id);
    let standing = call.site.rate.standing(user, call.site.clock.now());
    let core = json!({
        "limit": standing.limit,
        "used": standing.used,
        "remaining": standing.remaining(),
        "reset": standing.reset,
    });
    Ok(Reply::ok(&json!({"resources": {"core": core, "search": core}, "rate": core})))
}
