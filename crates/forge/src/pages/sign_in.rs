//! Signing in with the token or a one-time link, and out.

use hyper::StatusCode;

use super::door;
use super::html::Html;
use super::icon;
use super::view::{finish, head, see};
use crate::identity;
use crate::server::{Call, Failure, Reply};
use crate::store::users;

/// The page where one signs in.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    door::own_host(call)?;
    let back = door::way_back(call.query.get("to"));
    if call.actor.is_some() {
        return Ok(see(back));
    }
    Ok(ask(call, StatusCode::OK, back, None))
}

fn ask(call: &Call, status: StatusCode, back: &str, wrong: Option<&str>) -> Reply {
    // A form needs a cookie to belong to, also before anybody is known.
    let cookie = door::cookie(call).map_or_else(identity::new_token, str::to_owned);
    let mut html = Html::default();
    head(&mut html, "Sign in", None);
    html.put("<main class=\"lone\"><div class=\"card pad sign-in\">", &[]);
    icon::forge(&mut html);
    html.put("<h1>Sign in to your forge</h1>", &[]);
    if let Some(wrong) = wrong {
        html.put("<p class=\"notice bad\" role=\"alert\">{}</p>", &[&wrong]);
    }
    html.put(
        "<form method=\"post\" action=\"/login\"><input type=\"hidden\" name=\"csrf\" value=\"{}\">\
         <input type=\"hidden\" name=\"to\" value=\"{}\"><label class=\"field\">Token\
         <input type=\"password\" name=\"token\" autocomplete=\"current-password\" required autofocus></label>\
         <button class=\"button main\">Sign in</button></form>\
         <p class=\"quiet small\">The token is printed when <code>pilot forge serve</code> starts, beside a link that signs \
         you in once.</p></div>",
        &[&door::csrf(&call.site, &cookie), &back],
    );
    let mut reply = finish(status, html);
    reply.set("set-cookie", &door::set_cookie(&call.site, Some(&cookie)));
    reply
}

/// The form of that page.
pub(super) async fn enter(call: &Call) -> Result<Reply, Failure> {
    let fields = door::form(call)?;
    let back = door::way_back(fields.get("to"));
    let token = fields.get("token").unwrap_or_default().trim();
    let mut db = call.site.store.read().await?;
    match users::by_token(&mut db, &identity::digest(token)).await? {
        Some(user) => Ok(welcome(call, user, back)),
        None => {
            let wrong = "This token is not known. Copy it again from where the forge was started.";
            Ok(ask(call, StatusCode::FORBIDDEN, back, Some(wrong)))
        }
    }
}

/// A one-time link.
pub(super) async fn follow(call: &Call) -> Result<Reply, Failure> {
    door::own_host(call)?;
    match call.site.door.redeem(call.params.get("code")) {
        Some(user) => Ok(welcome(call, user, "/")),
        None if call.actor.is_some() => Ok(see("/")),
        None => Ok(ask(
            call,
            StatusCode::FORBIDDEN,
            "/",
            Some("This link was used before. Sign in with the token."),
        )),
    }
}

/// A new cookie, never the one somebody came with.
fn welcome(call: &Call, user: i64, back: &str) -> Reply {
    if let Some(old) = door::cookie(call) {
        call.site.door.leave(old);
    }
    let cookie = call.site.door.enter(user, call.site.clock.now());
    let mut reply = see(back);
    reply.set("set-cookie", &door::set_cookie(&call.site, Some(&cookie)));
    reply
}

/// Out again.
pub(super) async fn leave(call: &Call) -> Result<Reply, Failure> {
    door::form(call)?;
    if let Some(cookie) = door::cookie(call) {
        call.site.door.leave(cookie);
    }
    let mut reply = see("/login");
    reply.set("set-cookie", &door::set_cookie(&call.site, None));
    Ok(reply)
}
