//! Who is at the door of the pages: sessions, one-time links, and the proof that a form is ours.
//!
//! A session is a cookie nobody guesses, known here by its digest and gone with the forge. A form counts when it comes from
//! one of our pages (`Origin`, `Sec-Fetch-Site`) and holds the token of the session (`csrf`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use hyper::StatusCode;
use sha2::Sha256;

use crate::identity;
use crate::server::{Call, Failure, Query, hex, percent_encode};
use crate::site::Site;
use crate::store::User;
use crate::timestamp::Timestamp;

/// How long somebody stays signed in.
const STAY: Duration = Duration::from_secs(30 * 24 * 3600);

/// Sessions at once; the oldest makes room.
const MOST_SESSIONS: usize = 256;

/// One-time links that nobody has used; the oldest makes room.
const MOST_LINKS: usize = 16;

/// Who may come in.
#[derive(Debug, Default)]
pub(crate) struct Door(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<String, Session>,
    /// Digests of one-time codes, and whom they let in.
    links: Vec<(String, i64)>,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    user: i64,
    until: Timestamp,
}

impl Door {
    /// A code that lets somebody in once.
    pub(crate) fn invite(&self, user: i64) -> String {
        let code = identity::new_token();
        let mut known = self.lock();
        if known.links.len() == MOST_LINKS {
            known.links.remove(0);
        }
        known.links.push((identity::digest(&code), user));
        code
    }

    /// Whom a code lets in; it is used up.
    pub(super) fn redeem(&self, code: &str) -> Option<i64> {
        let digest = identity::digest(code);
        let mut known = self.lock();
        let at = known.links.iter().position(|(known, _)| *known == digest)?;
        Some(known.links.remove(at).1)
    }

    /// Begins a session: the value of its cookie.
    pub(super) fn enter(&self, user: i64, now: Timestamp) -> String {
        let cookie = identity::new_token();
        let mut known = self.lock();
        known.sessions.retain(|_, session| session.until > now);
        while known.sessions.len() >= MOST_SESSIONS {
            let oldest = known.sessions.iter().min_by_key(|(_, session)| session.until);
            let Some(digest) = oldest.map(|(digest, _)| digest.clone()) else { break };
            known.sessions.remove(&digest);
        }
        known.sessions.insert(identity::digest(&cookie), Session { user, until: now.after(STAY) });
        cookie
    }

    /// Ends a session.
    pub(super) fn leave(&self, cookie: &str) {
        self.lock().sessions.remove(&identity::digest(cookie));
    }

    fn user(&self, cookie: &str, now: Timestamp) -> Option<i64> {
        let known = self.lock();
        let session = known.sessions.get(&identity::digest(cookie))?;
        (session.until > now).then_some(session.user)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Who asks for a page; nobody unless their session says so. A token in a header means nothing here, so that no other
/// program's request passes for a person's.
pub(crate) fn visitor(call: &Call) -> Option<Arc<User>> {
    let id = call.site.door.user(cookie(call)?, call.site.clock.now())?;
    call.site.people.by_id(id)
}

/// The name of the cookie. Browsers share cookies between the ports of a machine, so it holds ours.
fn cookie_name(site: &Site) -> String {
    let port = site.url.rsplit(':').next().unwrap_or_default();
    format!("forge_{port}")
}

/// The cookie that came.
pub(super) fn cookie(call: &Call) -> Option<&str> {
    let name = cookie_name(&call.site);
    let headers = call.headers.get_all("cookie").into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = headers.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
}

/// The header that sets the cookie, or takes it back.
pub(super) fn set_cookie(site: &Site, value: Option<&str>) -> String {
    let age = if value.is_some() { STAY.as_secs() } else { 0 };
    let (name, value) = (cookie_name(site), value.unwrap_or_default());
    format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax")
}

/// What every form of a session holds.
pub(super) fn csrf(site: &Site, cookie: &str) -> String {
    signature(site, cookie).map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default()
}

fn signature(site: &Site, cookie: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(site.secret.as_bytes()).ok()?;
    mac.update(b"form ");
    mac.update(cookie.as_bytes());
    Some(mac)
}

/// The fields of a form, if it is one of ours.
pub(super) fn form(call: &Call) -> Result<Query, Failure> {
    own_host(call)?;
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
        None => header(call, "sec-fetch-site").is_none_or(|site| site == "same-origin"),
    };
    let sent = fields.get("csrf").and_then(unhex).unwrap_or_default();
    let mac = cookie(call).and_then(|cookie| signature(&call.site, cookie)).ok_or_else(foreign)?;
    if own && mac.verify_slice(&sent).is_ok() { Ok(fields) } else { Err(foreign()) }
}

/// Pages answer only under the forge's own address: a foreign name that leads here is somebody's trick.
pub(super) fn own_host(call: &Call) -> Result<(), Failure> {
    let (_, own) = call.site.url.split_once("://").unwrap_or_default();
    let port = own.rsplit(':').next().unwrap_or_default();
    let host = header(call, "host").unwrap_or_default();
    if host == own || host == format!("localhost:{port}") {
        return Ok(());
    }
    let message = format!("The forge does not answer by this name. Use {}", call.site.url);
    Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message))
}

/// To the page where one signs in, and back afterwards.
pub(super) fn ask_in(call: &Call) -> Failure {
    let back = if call.method == hyper::Method::GET { call.address() } else { "/".to_owned() };
    let mut failure = Failure::new(StatusCode::SEE_OTHER, "Please sign in.");
    failure.headers.push(("location", format!("/login?to={}", percent_encode(&back))));
    failure
}

/// A place on these pages to go back to; anything else is the first page.
pub(super) fn way_back(text: Option<&str>) -> &str {
    let local = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace())
    };
    text.filter(local).unwrap_or("/")
}

/// The page of ours that a form was sent from.
pub(super) fn came_from(call: &Call) -> Option<&str> {
    let page = header(call, "referer")?.strip_prefix("http://")?;
    let path = page.strip_prefix(header(call, "host")?)?;
    (call.method == hyper::Method::POST).then(|| way_back(Some(path)))
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.headers.get(name).and_then(|value| value.to_str().ok())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let sound = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
    let byte = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    sound.then(|| (0..64).step_by(2).filter_map(byte).collect())
}

#[cfg(test)]
mod tests {
    use super::{Door, way_back};
    use crate::timestamp::Timestamp;

    #[test]
    fn the_way_back_stays_here() {
        for (text, expect) in [
            ("/a/b?c=d", "/a/b?c=d"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/a\r\nset-cookie: x", "/"),
        ] {
            assert_eq!(way_back(Some(text)), expect, "{text:?}");
        }
    }

    #[test]
    fn links_work_once_and_sessions_end() {
        let (door, now) = (Door::default(), Timestamp::of_seconds(0));
        let code = door.invite(7);
        assert_eq!(door.redeem("something"), None);
        assert_eq!(door.redeem(&code), Some(7));
        assert_eq!(door.redeem(&code), None);
        let cookie = door.enter(7, now);
        assert_eq!(door.user(&cookie, now), Some(7));
        assert_eq!(door.user(&cookie, Timestamp::of_seconds(40 * 24 * 3600)), None);
        door.leave(&cookie);
        assert_eq!(door.user(&cookie, now), None);
    }

    #[test]
    fn the_door_is_never_too_full() {
        let door = Door::default();
        let first = door.enter(1, Timestamp::of_seconds(0));
        for second in 1..300 {
            door.enter(1, Timestamp::of_seconds(second));
        }
        assert_eq!(door.user(&first, Timestamp::of_seconds(1)), None);
        assert_eq!(door.lock().sessions.len(), super::MOST_SESSIONS);
    }
}
