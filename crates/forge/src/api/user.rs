//! Users and their rate limits.

use serde_json::json;

use crate::server::{Call, Failure, Reply, Route, get};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/user", |call| Box::pin(show_own(call))),
    get("/users/{username}", |call| Box::pin(show_user(call))),
    get("/rate_limit", |call| Box::pin(rate_limit(call))),
];

async fn show_own(call: &Call) -> Result<Reply, Failure> {
    Ok(Reply::ok(&wire::private_user(&call.ctx, call.actor()?)))
}

async fn show_user(call: &Call) -> Result<Reply, Failure> {
    let user = call.ctx.users.by_login(call.params.get("username")).ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::private_user(&call.ctx, &user)))
}

async fn rate_limit(call: &Call) -> Result<Reply, Failure> {
    let user = call.actor.as_ref().map(|actor| actor.id);
    let usage = call.ctx.rate.usage(user, call.ctx.clock.now());
    let core = json!({
        "limit": usage.limit,
        "used": usage.used,
        "remaining": usage.remaining(),
        "reset": usage.reset,
    });
    Ok(Reply::ok(&json!({"resources": {"core": core, "search": core}, "rate": core})))
}
