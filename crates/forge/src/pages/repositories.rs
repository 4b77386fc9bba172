//! The list of repositories, the form for a new one, and the first page of each.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, flag, items, number, text};
use super::view::{RepoPage, Tab, View, page_number, redirect};
use super::{files, markdown, session};
use crate::server::{Call, Failure, Query, Reply, percent_encode};

pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let path = format!("/user/repos?per_page=30&page={}", page_number(call));
    let (repos, more) = client::list(call, &path).await?;
    view.begin("Repositories");
    view.html.put("<div class=\"bar\"><h1>Repositories</h1></div>", &[]);
    if repos.is_empty() {
        view.html.put("<div class=\"card pad empty\"><h2>No repositories yet</h2><p class=\"quiet\">Make one below, then push to it.</p></div>", &[]);
    } else {
        view.html.put("<ul class=\"card rows\">", &[]);
        for repo in &repos {
            row(&mut view, repo);
        }
        view.html.put("</ul>", &[]);
    }
    view.pager(more);
    new(&mut view, repos.is_empty());
    Ok(view.end())
}

fn row(view: &mut View<'_>, repo: &Value) {
    let (owner, name) = (text(repo, "/owner/login"), text(repo, "/name"));
    let link = format!("/{}/{}", percent_encode(owner), percent_encode(name));
    let html = &mut view.html;
    html.put(
        "<li><div class=\"grow\"><a class=\"title\" href=\"{}\">{}/<b>{}</b></a>",
        &[&link, &owner, &name],
    );
    if flag(repo, "/private") {
        html.put(" <span class=\"badge\">private</span>", &[]);
    }
    let description = text(repo, "/description");
    if !description.is_empty() {
        html.put("<p class=\"quiet\">{}</p>", &[&description]);
    }
    let open = number(repo, "/open_issues_count");
    html.put("</div><p class=\"quiet right\"><span>{} open</span> <span>pushed ", &[&open]);
    view.time(text(repo, "/pushed_at"));
    view.html.put("</span></p></li>", &[]);
}

fn new(view: &mut View<'_>, first: bool) {
    view.html
        .put(if first { "<details class=\"card make\" open>" } else { "<details class=\"card make\">" }, &[]);
    view.html.put("<summary>New repository</summary>", &[]);
    view.form("/", "pad");
    view.html.put(
        "<label class=\"field\">Name<input name=\"name\" required maxlength=\"100\" pattern=\"[A-Za-z0-9._\\-]+\" \
         autocomplete=\"off\"></label><label class=\"field\">What is it for?<input name=\"description\" \
         maxlength=\"350\"></label><label class=\"check\"><input type=\"checkbox\" name=\"auto_init\" value=\"1\" checked> \
         Begin with a README</label><label class=\"check\"><input type=\"checkbox\" name=\"private\" value=\"1\"> \
         Private</label><button class=\"button main\">Make it</button></form></details>",
        &[],
    );
}

pub(super) async fn create(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let body = json!({
        "name": fields.get("name").unwrap_or_default(),
        "description": fields.get("description"),
        "auto_init": fields.get("auto_init").is_some(),
        "private": fields.get("private").is_some(),
    });
    let made = client::send(call, Method::POST, "/user/repos", &body).await?;
    let (owner, name) = (text(&made, "/owner/login"), text(&made, "/name"));
    Ok(redirect(&format!("/{}/{}", percent_encode(owner), percent_encode(name))))
}

/// The fields of a form from a signed-in user.
pub(super) fn signed_in_form(call: &Call) -> Result<Query, Failure> {
    let fields = session::parse_form(call)?;
    if call.actor.is_none() {
        return Err(session::redirect_to_sign_in(call));
    }
    Ok(fields)
}

/// Users have no page of their own: redirects to the repositories.
pub(super) async fn owner(call: &Call) -> Result<Reply, Failure> {
    View::open(call)?;
    match call.ctx.users.by_login(call.params.get("owner")) {
        Some(_) => Ok(redirect("/")),
        None => Err(Failure::not_found()),
    }
}

/// The first page of a repository: clone URL, files, README.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let branch = text(&repo.json, "/default_branch").to_owned();
    let entries = client::try_get(call, &format!("{}/contents", repo.api)).await?;
    let commits = client::try_get(call, &format!("{}/commits?per_page=1", repo.api)).await?;
    view.begin_repo("Code", &repo, Tab::Code);
    let description = text(&repo.json, "/description");
    if !description.is_empty() {
        view.html.put("<p class=\"lead\">{}</p>", &[&description]);
    }
    let clone = text(&repo.json, "/clone_url");
    view.html.put("<div class=\"clone\"><span>Clone</span><code>git clone {}</code></div>", &[&clone]);
    let entries = items(&entries, "");
    if entries.is_empty() {
        nothing_yet(&mut view, clone, &branch);
        return Ok(view.end());
    }
    if let Some(last) = items(&commits, "").first() {
        files::headline(&mut view, &repo, last, &branch);
    }
    files::table(&mut view, &repo, &branch, entries);
    if let Some(readme) = readme(call, &repo, entries).await? {
        view.html.put("<article class=\"card pad prose\">", &[]);
        markdown::write(&mut view.html, &readme);
        view.html.put("</article>", &[]);
    }
    Ok(view.end())
}

fn nothing_yet(view: &mut View<'_>, clone: &str, branch: &str) {
    view.html.put(
        "<div class=\"card pad empty\"><h2>Nothing here yet</h2><p class=\"quiet\">Push what you have. Git asks for a password: \
         it is your token.</p><pre><code>git remote add forge {}\ngit push -u forge {}</code></pre></div>",
        &[&clone, &branch],
    );
}

async fn readme(call: &Call, repo: &RepoPage, entries: &[Value]) -> Result<Option<String>, Failure> {
    let is_readme = |entry: &&Value| {
        let name = text(entry, "/name").to_ascii_lowercase();
        text(entry, "/type") == "file" && (name == "readme.md" || name == "readme")
    };
    let Some(entry) = entries.iter().find(is_readme) else { return Ok(None) };
    let path = format!("{}/contents/{}", repo.api, percent_encode(text(entry, "/name")));
    let file = client::try_get(call, &path).await?;
    Ok(decoded(&file))
}

/// The text of a file in the API's JSON; `None` for binary files.
pub(super) fn decoded(file: &Value) -> Option<String> {
    let encoded: String = text(file, "/content").split_whitespace().collect();
    let bytes = STANDARD.decode(encoded).ok()?;
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
