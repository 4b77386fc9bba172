//! The frame of every page: head, top bar, tabs of a repository, pager, and failures.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::Value;

use super::client::{self, flag, number, text};
use super::html::Html;
use super::icon;
use super::session;
use super::time::format_ago;
use crate::server::{Call, Failure, Query, Reply, percent_encode};
use crate::store::{IssueFilter, User, issues};

/// The pages use no scripts, only the forge's own style sheet, images and forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

const PICTURE: &str = include_str!("forge.svg");
const STYLE: &str = include_str!("forge.css");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Code,
    Issues,
    Pulls,
    Releases,
    Activity,
}

/// A page for a signed-in user.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) call: &'a Call,
    pub(super) user: Arc<User>,
    pub(super) html: Html,
    csrf: String,
    /// Seconds until the browser reloads the page; only for pages without input fields.
    again: Option<u32>,
}

impl<'a> View<'a> {
    /// Starts a page; redirects to the sign-in page without a session.
    pub(super) fn open(call: &'a Call) -> Result<View<'a>, Failure> {
        session::check_host(call)?;
        let user = call.actor.clone().ok_or_else(|| session::redirect_to_sign_in(call))?;
        let csrf = session::csrf(&call.ctx, session::cookie(call).unwrap_or_default());
        Ok(View { call, user, html: Html::default(), csrf, again: None })
    }

    pub(super) fn refresh_after(&mut self, seconds: u32) {
        self.again = Some(seconds);
    }

    /// Writes the head and the top bar.
    pub(super) fn begin(&mut self, title: &str) {
        head(&mut self.html, title, self.again);
        self.html.put("<header class=\"top\"><div class=\"wide\"><a class=\"brand\" href=\"/\">", &[]);
        icon::logo(&mut self.html);
        self.html.put("<span>Forge</span></a><span class=\"grow\"></span>", &[]);
        let user = Arc::clone(&self.user);
        avatar(&mut self.html, &user.login);
        self.html.put("<span class=\"me\">{}</span>", &[&user.login]);
        self.form("/logout", "out");
        self.html
            .put("<button class=\"link\">Sign out</button></form></div></header><main class=\"wide\">", &[]);
    }

    /// Writes the head of a page about a repository, with its tabs.
    pub(super) fn begin_repo(&mut self, title: &str, repo: &RepoPage, tab: Tab) {
        self.begin(&format!("{title} · {}/{}", repo.owner, repo.name));
        let html = &mut self.html;
        html.put(
            "<div class=\"where\"><h1 class=\"crumbs\"><a href=\"/\">{}</a><span class=\"sep\">/</span>",
            &[&repo.owner],
        );
        html.put("<a href=\"{}\"><b>{}</b></a></h1>", &[&repo.base, &repo.name]);
        if flag(&repo.json, "/private") {
            html.put("<span class=\"badge\">private</span>", &[]);
        }
        if flag(&repo.json, "/archived") {
            html.put("<span class=\"badge warn\">archived</span>", &[]);
        }
        html.put("</div><nav class=\"tabs\">", &[]);
        for (this, path, words, count) in [
            (Tab::Code, "", "Code", None),
            (Tab::Issues, "/issues", "Issues", Some(repo.issues)),
            (Tab::Pulls, "/pulls", "Pull requests", Some(repo.pulls)),
            (Tab::Releases, "/releases", "Releases", None),
            (Tab::Activity, "/activity", "Activity", None),
        ] {
            html.put("<a href=\"{}{}\"", &[&repo.base, &path]);
            if this == tab {
                html.put(" aria-current=\"page\"", &[]);
            }
            html.put(">{}", &[&words]);
            if let Some(count) = count.filter(|count| *count > 0) {
                html.put("<span class=\"count\">{}</span>", &[&count]);
            }
            html.put("</a>", &[]);
        }
        html.put("</nav>", &[]);
    }

    /// Opens a form with its CSRF token; the caller closes it.
    pub(super) fn form(&mut self, action: &str, class: &'static str) {
        self.html.put(
            "<form method=\"post\" action=\"{}\" class=\"{}\"><input type=\"hidden\" name=\"csrf\" value=\"{}\">",
            &[&action, &class, &self.csrf],
        );
    }

    /// Writes a relative time, with the exact one as its tooltip.
    pub(super) fn time(&mut self, iso: &str) {
        let words = format_ago(iso, self.call.ctx.clock.now());
        self.html.put("<time datetime=\"{}\" title=\"{}\">{}</time>", &[&iso, &iso, &words]);
    }

    /// Writes links to the previous and next page.
    pub(super) fn pager(&mut self, more: bool) {
        let page = page_number(self.call);
        if page == 1 && !more {
            return;
        }
        let rest = self.call.query.without(&["page"]);
        let link = |page: i64| {
            format!("{}?{rest}{}page={page}", self.call.path, if rest.is_empty() { "" } else { "&" })
        };
        self.html.put("<nav class=\"pager\">", &[]);
        if page > 1 {
            self.html.put("<a class=\"button\" href=\"{}\">← Newer</a>", &[&link(page - 1)]);
        }
        if more {
            self.html.put("<a class=\"button\" href=\"{}\">Older →</a>", &[&link(page + 1)]);
        }
        self.html.put("</nav>", &[]);
    }

    pub(super) fn end(self) -> Reply {
        finish(StatusCode::OK, self.html)
    }
}

/// The repository of a page.
#[derive(Debug)]
pub(super) struct RepoPage {
    pub(super) owner: String,
    pub(super) name: String,
    /// The path of its pages.
    pub(super) base: String,
    /// The path in the API.
    pub(super) api: String,
    pub(super) json: Value,
    issues: i64,
    pulls: i64,
}

impl RepoPage {
    /// The repository in the path, if the user may see it.
    pub(super) async fn of(call: &Call) -> Result<RepoPage, Failure> {
        let (owner, name) = (call.params.get("owner"), call.params.get("repo"));
        let path = format!("/{}/{}", percent_encode(owner), percent_encode(name));
        let json = client::get(call, &format!("/repos{path}")).await?;
        let (owner, name) = (text(&json, "/owner/login").to_owned(), text(&json, "/name").to_owned());
        let base = format!("/{}/{}", percent_encode(&owner), percent_encode(&name));
        let mut db = call.ctx.store.read().await?;
        let id = number(&json, "/id");
        let open = |pull| IssueFilter { pull: Some(pull), state: Some("open"), ..IssueFilter::default() };
        let issue_count = issues::tally(&mut db, id, &open(false)).await?.unwrap_or(0);
        let pull_count = issues::tally(&mut db, id, &open(true)).await?.unwrap_or(0);
        Ok(RepoPage {
            owner,
            name,
            api: format!("/repos{base}"),
            base,
            json,
            issues: issue_count,
            pulls: pull_count,
        })
    }

    /// Whether the user has a permission, by its name in the API.
    pub(super) fn may(&self, what: &str) -> bool {
        flag(&self.json, &format!("/permissions/{what}")) && !flag(&self.json, "/archived")
    }
}

pub(super) fn page_number(call: &Call) -> i64 {
    call.query.get("page").and_then(|text| text.parse().ok()).unwrap_or(1).clamp(1, 1_000_000)
}

/// The avatar of a user: the initial on a color.
pub(super) fn avatar(html: &mut Html, login: &str) {
    let tint = login.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 6;
    let initial = login.chars().next().unwrap_or('?').to_uppercase().to_string();
    html.put("<span class=\"avatar t{}\" aria-hidden=\"true\">{}</span>", &[&tint, &initial]);
}

pub(super) fn label(html: &mut Html, label: &Value) {
    let color = text(label, "/color");
    let valid = color.len() == 6 && color.bytes().all(|byte| byte.is_ascii_hexdigit());
    html.put("<span class=\"label\"><svg viewBox=\"0 0 8 8\" aria-hidden=\"true\"><circle cx=\"4\" cy=\"4\" r=\"4\" fill=\"#{}\"/></svg>{}</span>", &[
        &if valid { color } else { "888888" },
        &text(label, "/name"),
    ]);
}

/// Redirects to a page after a form.
pub(super) fn redirect(path: &str) -> Reply {
    let mut reply = Reply::empty(StatusCode::SEE_OTHER);
    reply.set("location", path);
    secure(reply)
}

pub(super) fn style() -> Reply {
    let mut reply = secure(Reply::text(StatusCode::OK, "text/css; charset=utf-8", STYLE));
    reply.set("cache-control", "private, max-age=60");
    reply
}

/// The favicon.
pub(super) fn picture() -> Reply {
    let mut reply = secure(Reply::text(StatusCode::OK, "image/svg+xml", PICTURE));
    reply.set("cache-control", "private, max-age=3600");
    reply
}

/// The page for a failure; it repeats the user's input, so that none is lost.
pub(super) fn failed(call: &Call, failure: &Failure) -> Reply {
    if let Some((_, to)) = failure.headers.iter().find(|(name, _)| *name == "location") {
        return redirect(session::local_path(Some(to)));
    }
    let words = match failure.status {
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::FORBIDDEN => "You may not do this",
        StatusCode::CONFLICT | StatusCode::METHOD_NOT_ALLOWED | StatusCode::UNPROCESSABLE_ENTITY => {
            "This did not work"
        }
        _ => "Something went wrong",
    };
    let mut html = Html::default();
    head(&mut html, words, None);
    let reason = match failure.status {
        StatusCode::NOT_FOUND => "It may have moved, or it is not yours to see.".to_owned(),
        _ => failure.user_message(),
    };
    html.put(
        "<main class=\"lone\"><div class=\"card pad\"><h1>{}</h1><p class=\"quiet\">{}</p>",
        &[&words, &reason],
    );
    let written = Query::parse(&String::from_utf8_lossy(&call.body));
    for (field, rows) in
        [("title", 1), ("name", 1), ("description", 1), ("tag", 1), ("target", 1), ("new", 1), ("body", 6)]
    {
        if let Some(value) = written.get(field).filter(|value| !value.trim().is_empty()) {
            html.put(
                "<label class=\"field\">What you wrote ({})<textarea readonly rows=\"{}\">{}</textarea></label>",
                &[&field, &rows, &value],
            );
        }
    }
    html.put("<p class=\"bar\">", &[]);
    if let Some(path) = session::referring_page(call) {
        html.put("<a class=\"button main\" href=\"{}\">Back</a>", &[&path]);
    }
    html.put("<a class=\"button\" href=\"/\">To the repositories</a></p></div>", &[]);
    finish(failure.status, html)
}

pub(super) fn head(html: &mut Html, title: &str, again: Option<u32>) {
    html.put(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{} · Forge</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"/assets/forge.svg\">\
         <link rel=\"stylesheet\" href=\"/assets/forge.css\">",
        &[&title],
    );
    if let Some(seconds) = again {
        html.put("<meta http-equiv=\"refresh\" content=\"{}\">", &[&seconds]);
    }
    html.put("</head><body>", &[]);
}

/// The reply with a page and its security headers.
pub(super) fn finish(status: StatusCode, mut html: Html) -> Reply {
    html.put("</main></body></html>\n", &[]);
    secure(Reply::text(status, "text/html; charset=utf-8", html.into_bytes()))
}

fn secure(mut reply: Reply) -> Reply {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        reply.set(name, value);
    }
    reply
}
