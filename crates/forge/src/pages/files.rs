//! Files and commits.

use serde_json::Value;

use super::client::{self, items, number, text};
use super::diff::{self, LineComments};
use super::html::Html;
use super::repositories::decoded;
use super::view::{RepoPage, Tab, View, avatar};
use crate::server::{Call, Failure, Reply, percent_encode};

const MOST_LINES: usize = 5000;

fn encoded(path: &str) -> String {
    percent_encode(path).replace("%2F", "/")
}

/// A directory or file at a revision.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let (revision, path) = (call.params.get("ref").to_owned(), call.params.get("path").to_owned());
    let address = format!("{}/contents/{}?ref={}", repo.api, encoded(&path), percent_encode(&revision));
    let found = client::get(call, &address.replace("/contents/?", "/contents?")).await?;
    view.begin_repo(if path.is_empty() { "Files" } else { &path }, &repo, Tab::Code);
    crumbs(&mut view, &repo, &revision, &path);
    match found.as_array() {
        Some(entries) => table(&mut view, &repo, &revision, entries),
        None => content(&mut view, &found),
    }
    Ok(view.end())
}

fn crumbs(view: &mut View<'_>, repo: &RepoPage, revision: &str, path: &str) {
    let root = format!("{}/tree/{}", repo.base, percent_encode(revision));
    let short = revision.get(..7).filter(|_| revision.len() == 40).unwrap_or(revision);
    view.html.put("<p class=\"trail\"><a href=\"{}\">{}</a>", &[&root, &short]);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (at, part) in parts.iter().enumerate() {
        let link = format!("{root}/{}", encoded(&parts[..=at].join("/")));
        view.html.put(" / <a href=\"{}\">{}</a>", &[&link, part]);
    }
    view.html.put("</p>", &[]);
}

/// The entries of a directory, directories first.
pub(super) fn table(view: &mut View<'_>, repo: &RepoPage, revision: &str, entries: &[Value]) {
    let mut entries: Vec<&Value> = entries.iter().collect();
    entries.sort_by_key(|entry| text(entry, "/type") != "dir");
    view.html.put("<ul class=\"card rows files\">", &[]);
    for entry in entries {
        let dir = text(entry, "/type") == "dir";
        let kind = if dir { "tree" } else { "blob" };
        let link =
            format!("{}/{kind}/{}/{}", repo.base, percent_encode(revision), encoded(text(entry, "/path")));
        view.html.put(if dir { "<li class=\"dir\">" } else { "<li>" }, &[]);
        view.html.put("<a href=\"{}\">{}</a></li>", &[&link, &text(entry, "/name")]);
    }
    view.html.put("</ul>", &[]);
}

fn content(view: &mut View<'_>, file: &Value) {
    view.html.put("<div class=\"card file\"><div class=\"head\"><span class=\"path\">{}</span><span class=\"grow\"></span><span class=\"quiet\">{} bytes</span></div>", &[
        &text(file, "/name"),
        &number(file, "/size"),
    ]);
    match (text(file, "/type"), text(file, "/encoding"), decoded(file)) {
        ("symlink", _, _) => {
            view.html.put("<p class=\"quiet pad\">A link to <code>{}</code></p>", &[&text(file, "/target")]);
        }
        ("submodule", _, _) => {
            view.html.put(
                "<p class=\"quiet pad\">Another repository, at <code>{}</code></p>",
                &[&text(file, "/sha")],
            );
        }
        (_, "none", _) => {
            view.html.put(
                "<p class=\"quiet pad\">Too large to be shown. Clone the repository to see it.</p>",
                &[],
            );
        }
        (_, _, None) => {
            view.html.put("<p class=\"quiet pad\">Not a text. Clone the repository to see it.</p>", &[]);
        }
        (_, _, Some(words)) if words.is_empty() => {
            view.html.put("<p class=\"quiet pad\">This file is empty.</p>", &[]);
        }
        (_, _, Some(words)) => lines(&mut view.html, &words),
    }
    view.html.put("</div>", &[]);
}

fn lines(html: &mut Html, words: &str) {
    html.put("<div class=\"scroll\"><table class=\"diff\">", &[]);
    let mut lines = (1..).zip(words.lines());
    for (number, line) in lines.by_ref().take(MOST_LINES) {
        html.put("<tr><td class=\"n\">{}</td><td>{}</td></tr>", &[&number, &line]);
    }
    html.put("</table></div>", &[]);
    if lines.next().is_some() {
        html.put("<p class=\"quiet pad\">And more. Clone the repository to see all of it.</p>", &[]);
    }
}

/// The last commit above the files.
pub(super) fn headline(view: &mut View<'_>, repo: &RepoPage, commit: &Value, branch: &str) {
    view.html.put("<div class=\"headline\"><span class=\"branch\">{}</span>", &[&branch]);
    summary(view, repo, commit);
    view.html.put("</div>", &[]);
}

/// One commit on one line.
pub(super) fn summary(view: &mut View<'_>, repo: &RepoPage, commit: &Value) {
    let sha = text(commit, "/sha");
    let (name, message) = (text(commit, "/commit/author/name"), text(commit, "/commit/message"));
    avatar(&mut view.html, name);
    view.html.put(
        "<a class=\"grow cut\" href=\"{}/commit/{}\">{}</a><span class=\"quiet\">",
        &[&repo.base, &sha, &message.lines().next().unwrap_or_default()],
    );
    view.time(text(commit, "/commit/committer/date"));
    view.html.put("</span><code class=\"sha\">{}</code>", &[&sha.get(..7).unwrap_or(sha)]);
}

/// A commit with its diff.
pub(super) async fn commit(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let path = format!("{}/commits/{}", repo.api, percent_encode(call.params.get("sha")));
    let commit = client::get(call, &path).await?;
    let message = text(&commit, "/commit/message");
    let (title, body) = message.split_once('\n').unwrap_or((message, ""));
    view.begin_repo(title, &repo, Tab::Code);
    view.html.put("<div class=\"bar\"><h1>{}</h1></div><p class=\"quiet\">", &[&title]);
    view.html.put("{} committed ", &[&text(&commit, "/commit/author/name")]);
    view.time(text(&commit, "/commit/committer/date"));
    view.html.put(" · <code>{}</code></p>", &[&text(&commit, "/sha")]);
    if !body.trim().is_empty() {
        view.html.put("<pre class=\"card pad\">{}</pre>", &[&body.trim()]);
    }
    diff::write(&mut view.html, items(&commit, "/files"), &LineComments::new());
    Ok(view.end())
}
