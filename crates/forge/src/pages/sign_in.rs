//! Signing in with a token or a one-time link, and signing out.

use hyper::StatusCode;

use super::html::Html;
use super::icon;
use super::session;
use super::view::{finish, head, redirect};
use crate::identity;
use crate::server::{Call, Failure, Reply};
use crate::store::users;

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    session::check_host(call)?;
    let back = session::local_path(call.query.get("to"));
    if call.actor.is_some() {
        return Ok(redirect(back));
    }
    Ok(ask(call, StatusCode::OK, back, None))
}

fn ask(call: &Call, status: StatusCode, back: &str, wrong: Option<&str>) -> Reply {
    // The CSRF token belongs to a cookie, so a form needs one before the user is known.
    let cookie = session::cookie(call).map_or_else(identity::new_token, str::to_owned);
    let mut html = Html::default();
    head(&mut html, "Sign in", None);
    html.put("<main class=\"lone\"><div class=\"card pad sign-in\">", &[]);
    icon::logo(&mut html);
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
        &[&session::csrf(&call.ctx, &cookie), &back],
    );
    let mut reply = finish(status, html);
    reply.set("set-cookie", &session::set_cookie(&call.ctx, Some(&cookie)));
    reply
}

pub(super) async fn enter(call: &Call) -> Result<Reply, Failure> {
    let fields = session::parse_form(call)?;
    let back = session::local_path(fields.get("to"));
    let token = fields.get("token").unwrap_or_default().trim();
    let mut db = call.ctx.store.read().await?;
    match users::by_token(&mut db, &identity::digest(token)).await? {
        Some(user) => Ok(welcome(call, user, back)),
        None => {
            let wrong = "This token is not known. Copy it again from where the forge was started.";
            Ok(ask(call, StatusCode::FORBIDDEN, back, Some(wrong)))
        }
    }
}

pub(super) async fn follow(call: &Call) -> Result<Reply, Failure> {
    session::check_host(call)?;
    match call.ctx.sessions.redeem_link(call.params.get("code")) {
        Some(user) => Ok(welcome(call, user, "/")),
        None if call.actor.is_some() => Ok(redirect("/")),
        None => Ok(ask(
            call,
            StatusCode::FORBIDDEN,
            "/",
            Some("This link was used before. Sign in with the token."),
        )),
    }
}

/// Starts a session with a new cookie, never the one that the browser sent.
fn welcome(call: &Call, user: i64, back: &str) -> Reply {
    if let Some(old) = session::cookie(call) {
        call.ctx.sessions.end(old);
    }
    let cookie = call.ctx.sessions.start(user, call.ctx.clock.now());
    let mut reply = redirect(back);
    reply.set("set-cookie", &session::set_cookie(&call.ctx, Some(&cookie)));
    reply
}

pub(super) async fn leave(call: &Call) -> Result<Reply, Failure> {
    session::parse_form(call)?;
    if let Some(cookie) = session::cookie(call) {
        call.ctx.sessions.end(cookie);
    }
    let mut reply = redirect("/login");
    reply.set("set-cookie", &session::set_cookie(&call.ctx, None));
    Ok(reply)
}
