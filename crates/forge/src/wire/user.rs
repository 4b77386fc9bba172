//! GitHub's JSON of users.

use serde_json::{Value, json};

use super::extend;
use crate::context::Context;
use crate::server::percent_encode;
use crate::store::User;

pub(crate) fn user(ctx: &Context, user: &User) -> Value {
    let login = &user.login;
    let root = &ctx.url;
    let url = format!("{root}/users/{}", percent_encode(login));
    json!({
        "login": login,
        "id": user.id,
        "node_id": format!("U_{}", user.id),
        "avatar_url": format!("{root}/_forge/avatar/{}", user.id),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{root}/{}", percent_encode(login)),
        "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"),
        "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"),
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"),
        "received_events_url": format!("{url}/received_events"),
        "type": user.kind,
        "site_admin": user.admin,
    })
}

/// A user with the private fields.
pub(crate) fn private_user(ctx: &Context, who: &User) -> Value {
    let created = who.created.iso();
    extend(
        user(ctx, who),
        json!({
            "name": who.login,
            "company": null,
            "blog": "",
            "location": null,
            "email": who.email(),
            "hireable": null,
            "bio": null,
            "twitter_username": null,
            "notification_email": null,
            "public_repos": 0,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": created,
            "updated_at": created,
            "private_gists": 0,
            "total_private_repos": 0,
            "owned_private_repos": 0,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": false,
        }),
    )
}
