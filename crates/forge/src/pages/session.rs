//! Sessions of the pages: cookies, one-time links, and protection against forged forms.
//!
//! A session is a random cookie, stored as its digest and lost when the forge stops. A form is accepted if it comes from one
//! of these pages (`Origin`, `Sec-Fetch-Site`) and holds the session's `csrf` token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use hyper::StatusCode;
use sha2::Sha256;

use crate::context::Context;
use crate::identity;
use crate::server::{Call, Failure, Query, hex, percent_encode};
use crate::store::User;
use crate::timestamp::Timestamp;

/// The lifetime of a session.
const STAY: Duration = Duration::from_secs(30 * 24 * 3600);

/// Limit for sessions; the oldest is dropped.
const MOST_SESSIONS: usize = 256;

/// Limit for unused one-time links; the oldest is dropped.
const MOST_LINKS: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<SessionTable>);

#[derive(Debug, Default)]
struct SessionTable {
    sessions: HashMap<String, PageSession>,
    /// Digests of one-time codes with their user ids.
    links: Vec<(String, i64)>,
}

#[derive(Clone, Copy, Debug)]
struct PageSession {
    user: i64,
    until: Timestamp,
}

impl Sessions {
    /// Creates the code of a link that signs a user in once.
    pub(crate) fn create_link(&self, user: i64) -> String {
        let code = identity::new_token();
        let mut known = self.lock();
        if known.links.len() == MOST_LINKS {
            known.links.remove(0);
        }
        known.links.push((identity::digest(&code), user));
        code
    }

    /// Uses a code up; returns its user.
    pub(super) fn redeem_link(&self, code: &str) -> Option<i64> {
        let digest = identity::digest(code);
        let mut known = self.lock();
        let at = known.links.iter().position(|(known, _)| *known == digest)?;
        Some(known.links.remove(at).1)
    }

    /// Starts a session; returns the value of its cookie.
    pub(super) fn start(&self, user: i64, now: Timestamp) -> String {
        let cookie = identity::new_token();
        let mut known = self.lock();
        known.sessions.retain(|_, session| session.until > now);
        while known.sessions.len() >= MOST_SESSIONS {
            let oldest = known.sessions.iter().min_by_key(|(_, session)| session.until);
            let Some(digest) = oldest.map(|(digest, _)| digest.clone()) else { break };
            known.sessions.remove(&digest);
        }
        known.sessions.insert(identity::digest(&cookie), PageSession { user, until: now.after(STAY) });
        cookie
    }

    pub(super) fn end(&self, cookie: &str) {
        self.lock().sessions.remove(&identity::digest(cookie));
    }

    fn user(&self, cookie: &str, now: Timestamp) -> Option<i64> {
        let known = self.lock();
        let session = known.sessions.get(&identity::digest(cookie))?;
        (session.until > now).then_some(session.user)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SessionTable> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The user of the session. Tokens in headers do not count here, so that requests of other programs do not pass for a
/// user's.
pub(crate) fn session_user(call: &Call) -> Option<Arc<User>> {
    let id = call.ctx.sessions.user(cookie(call)?, call.ctx.clock.now())?;
    call.ctx.users.by_id(id)
}

/// Browsers share cookies between the ports of a host, so the name contains the port.
fn cookie_name(ctx: &Context) -> String {
    let port = ctx.url.rsplit(':').next().unwrap_or_default();
    format!("forge_{port}")
}

pub(super) fn cookie(call: &Call) -> Option<&str> {
    let name = cookie_name(&call.ctx);
    let headers = call.headers.get_all("cookie").into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = headers.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
}

/// The header that sets or deletes the cookie.
pub(super) fn set_cookie(ctx: &Context, value: Option<&str>) -> String {
    let age = if value.is_some() { STAY.as_secs() } else { 0 };
    let (name, value) = (cookie_name(ctx), value.unwrap_or_default());
    format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax")
}

/// The CSRF token of a session's forms.
pub(super) fn csrf(ctx: &Context, cookie: &str) -> String {
    signature(ctx, cookie).map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default()
}

fn signature(ctx: &Context, cookie: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(ctx.secret.as_bytes()).ok()?;
    mac.update(b"form ");
    mac.update(cookie.as_bytes());
    Some(mac)
}

/// The fields of a form, if it comes from these pages.
pub(super) fn parse_form(call: &Call) -> Result<Query, Failure> {
    check_host(call)?;
    let kind = header(call, "content-type").unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not a form of these pages."));
    }
    let fields = Query::parse(&String::from_utf8_lossy(&call.body));
    let foreign =
        || Failure::forbidden("This form did not come from these pages. Open the page and try again.");
    let host = header(call, "host").unwrap_or_default();
    let own = match header(call, "origin") {
        Some(origin) => origin.strip_prefix("http://") == Some(host),
        None => header(call, "sec-fetch-site").is_none_or(|ctx| ctx == "same-origin"),
    };
    let sent = fields.get("csrf").and_then(unhex).unwrap_or_default();
    let mac = cookie(call).and_then(|cookie| signature(&call.ctx, cookie)).ok_or_else(foreign)?;
    if own && mac.verify_slice(&sent).is_ok() { Ok(fields) } else { Err(foreign()) }
}

/// Pages answer only to the forge's own host name, against DNS rebinding.
pub(super) fn check_host(call: &Call) -> Result<(), Failure> {
    let (_, own) = call.ctx.url.split_once("://").unwrap_or_default();
    let port = own.rsplit(':').next().unwrap_or_default();
    let host = header(call, "host").unwrap_or_default();
    if host == own || host == format!("localhost:{port}") {
        return Ok(());
    }
    let message = format!("The forge does not answer by this name. Use {}", call.ctx.url);
    Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message))
}

/// Redirects to the sign-in page, which returns to the requested page.
pub(super) fn redirect_to_sign_in(call: &Call) -> Failure {
    let back = if call.method == hyper::Method::GET { call.address() } else { "/".to_owned() };
    let mut failure = Failure::new(StatusCode::SEE_OTHER, "Please sign in.");
    failure.headers.push(("location", format!("/login?to={}", percent_encode(&back))));
    failure
}

/// A path on these pages to redirect to; anything else becomes `/`.
pub(super) fn local_path(text: Option<&str>) -> &str {
    let local = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace())
    };
    text.filter(local).unwrap_or("/")
}

/// The path of the page that sent the form.
pub(super) fn referring_page(call: &Call) -> Option<&str> {
    let page = header(call, "referer")?.strip_prefix("http://")?;
    let path = page.strip_prefix(header(call, "host")?)?;
    (call.method == hyper::Method::POST).then(|| local_path(Some(path)))
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.headers.get(name).and_then(|value| value.to_str().ok())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let valid = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
    let byte = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    valid.then(|| (0..64).step_by(2).filter_map(byte).collect())
}

#[cfg(test)]
mod tests {
    use super::{Sessions, local_path};
    use crate::timestamp::Timestamp;

    #[test]
    fn redirects_stay_on_these_pages() {
        for (text, expect) in [
            ("/a/b?c=d", "/a/b?c=d"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/a\r\nset-cookie: x", "/"),
        ] {
            assert_eq!(local_path(Some(text)), expect, "{text:?}");
        }
    }

    #[test]
    fn links_work_once_and_sessions_end() {
        let (sessions, now) = (Sessions::default(), Timestamp::of_seconds(0));
        let code = sessions.create_link(7);
        assert_eq!(sessions.redeem_link("something"), None);
        assert_eq!(sessions.redeem_link(&code), Some(7));
        assert_eq!(sessions.redeem_link(&code), None);
        let cookie = sessions.start(7, now);
        assert_eq!(sessions.user(&cookie, now), Some(7));
        assert_eq!(sessions.user(&cookie, Timestamp::of_seconds(40 * 24 * 3600)), None);
        sessions.end(&cookie);
        assert_eq!(sessions.user(&cookie, now), None);
    }

    #[test]
    fn the_number_of_sessions_is_limited() {
        let sessions = Sessions::default();
        let first = sessions.start(1, Timestamp::of_seconds(0));
        for second in 1..300 {
            sessions.start(1, Timestamp::of_seconds(second));
        }
        assert_eq!(sessions.user(&first, Timestamp::of_seconds(1)), None);
        assert_eq!(sessions.lock().sessions.len(), super::MOST_SESSIONS);
    }
}
