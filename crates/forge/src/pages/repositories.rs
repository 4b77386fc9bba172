//! The list of repositories, a new one, and the first page of each.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use super::ask::{self, items, number, text, yes};
use super::view::{Place, Tab, View, page_number, see};
use super::{door, files, markdown};
use crate::server::{Call, Failure, Query, Reply, percent_encode};

/// All repositories of the reader.
pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let path = format!("/user/repos?per_page=30&page={}", page_number(call));
    let (repos, more) = ask::list(call, &path).await?;
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
    if yes(repo, "/private") {
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

/// The form of a new one.
pub(super) async fn create(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let body = json!({
        "name": fields.get("name").unwrap_or_default(),
        "description": fields.get("description"),
        "auto_init": fields.get("auto_init").is_some(),
        "private": fields.get("private").is_some(),
    });
    let made = ask::ask(call, Method::POST, "/user/repos", &body).await?;
    let (owner, name) = (text(&made, "/owner/login"), text(&made, "/name"));
    Ok(see(&format!("/{}/{}", percent_encode(owner), percent_encode(name))))
}

/// The fields of a form by somebody who is signed in.
pub(super) fn signed_in_form(call: &Call) -> Result<Query, Failure> {
    let fields = door::form(call)?;
    if call.actor.is_none() {
        return Err(door::ask_in(call));
    }
    Ok(fields)
}

/// Somebody's page: there is none beside their repositories.
pub(super) async fn owner(call: &Call) -> Result<Reply, Failure> {
    View::open(call)?;
    match call.site.people.by_login(call.params.get("owner")) {
        Some(_) => Ok(see("/")),
        None => Err(Failure::not_found()),
    }
}

/// The first page of a repository: how to clone it, its files, its README.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let branch = text(&place.json, "/default_branch").to_owned();
    let entries = ask::try_get(call, &format!("{}/contents", place.api)).await?;
    let commits = ask::try_get(call, &format!("{}/commits?per_page=1", place.api)).await?;
    view.begin_in("Code", &place, Tab::Code);
    let description = text(&place.json, "/description");
    if !description.is_empty() {
        view.html.put("<p class=\"lead\">{}</p>", &[&description]);
    }
    let clone = text(&place.json, "/clone_url");
    view.html.put("<div class=\"clone\"><span>Clone</span><code>git clone {}</code></div>", &[&clone]);
    let entries = items(&entries, "");
    if entries.is_empty() {
        nothing_yet(&mut view, clone, &branch);
        return Ok(view.end());
    }
    if let Some(last) = items(&commits, "").first() {
        files::headline(&mut view, &place, last, &branch);
    }
    files::table(&mut view, &place, &branch, entries);
    if let Some(readme) = readme(call, &place, entries).await? {
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

async fn readme(call: &Call, place: &Place, entries: &[Value]) -> Result<Option<String>, Failure> {
    let is_readme = |entry: &&Value| {
        let name = text(entry, "/name").to_ascii_lowercase();
        text(entry, "/type") == "file" && (name == "readme.md" || name == "readme")
    };
    let Some(entry) = entries.iter().find(is_readme) else { return Ok(None) };
    let path = format!("{}/contents/{}", place.api, percent_encode(text(entry, "/name")));
    let file = ask::try_get(call, &path).await?;
    Ok(decoded(&file))
}

/// The text of a file as the API has it.
pub(super) fn decoded(file: &Value) -> Option<String> {
    let encoded: String = text(file, "/content").split_whitespace().collect();
    let bytes = STANDARD.decode(encoded).ok()?;
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
