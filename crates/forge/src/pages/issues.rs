//! Issues: the list, one issue, and its forms.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, flag, items, number, text};
use super::icon::Icon;
use super::repositories::signed_in_form;
use super::thread;
use super::view::{RepoPage, Tab, View, label, page_number, redirect};
use crate::server::{Call, Failure, Reply, percent_encode};

pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let state = if call.query.get("state") == Some("closed") { "closed" } else { "open" };
    let labels = call.query.get("labels").unwrap_or_default();
    // The API lists pull requests among issues; a search can leave them out.
    let mut search = format!("repo:{}/{} is:issue state:{state}", repo.owner, repo.name);
    if !labels.is_empty() {
        search.push_str(&format!(" label:\"{}\"", labels.replace('"', "")));
    }
    let path = format!("/search/issues?per_page=30&page={}&q={}", page_number(call), percent_encode(&search));
    let found = client::get(call, &path).await?;
    let rows = items(&found, "/items");
    let more = number(&found, "/total_count") > page_number(call) * 30;
    view.begin_repo("Issues", &repo, Tab::Issues);
    view.html.put("<div class=\"bar\">", &[]);
    states(&mut view, &repo, "issues", state, &[("open", "Open"), ("closed", "Closed")]);
    view.html.put(
        "<span class=\"grow\"></span><a class=\"button main\" href=\"{}/issues/new\">New issue</a></div>",
        &[&repo.base],
    );
    if !labels.is_empty() {
        view.html.put(
            "<p class=\"quiet\">With the label <b>{}</b> · <a href=\"{}/issues\">show all</a></p>",
            &[&labels, &repo.base],
        );
    }
    table(&mut view, &repo, rows, "No issues here", "An issue says what is wrong, or what should be.");
    view.pager(more);
    Ok(view.end())
}

/// The links to the states of a list.
pub(super) fn states(view: &mut View<'_>, repo: &RepoPage, page: &str, now: &str, all: &[(&str, &str)]) {
    view.html.put("<div class=\"switch\">", &[]);
    for (state, words) in all {
        view.html.put("<a href=\"{}/{}?state={}\"", &[&repo.base, &page, state]);
        if *state == now {
            view.html.put(" aria-current=\"true\"", &[]);
        }
        view.html.put(">{}</a>", &[words]);
    }
    view.html.put("</div>", &[]);
}

/// Issues or pull requests as rows.
pub(super) fn table(view: &mut View<'_>, repo: &RepoPage, rows: &[Value], none: &str, hint: &str) {
    if rows.is_empty() {
        view.html
            .put("<div class=\"card pad empty\"><h2>{}</h2><p class=\"quiet\">{}</p></div>", &[&none, &hint]);
        return;
    }
    view.html.put("<ul class=\"card rows\">", &[]);
    for row in rows {
        let pull = row.get("pull_request").is_some() || row.get("head").is_some();
        let merged = !row["merged_at"].is_null() || !row["pull_request"]["merged_at"].is_null();
        let icon = Icon::of_state(pull, text(row, "/state") == "open", pull && merged, flag(row, "/draft"));
        let kind = if pull { "pull" } else { "issues" };
        view.html.put("<li>", &[]);
        icon.draw(&mut view.html);
        view.html.put(
            "<div class=\"grow\"><a class=\"title\" href=\"{}/{}/{}\">{}</a> ",
            &[&repo.base, &kind, &number(row, "/number"), &text(row, "/title")],
        );
        for one in items(row, "/labels") {
            label(&mut view.html, one);
        }
        view.html.put("<p class=\"quiet\">#{} by {} ", &[&number(row, "/number"), &text(row, "/user/login")]);
        view.time(text(row, "/created_at"));
        view.html.put("</p></div>", &[]);
        let comments = number(row, "/comments");
        if comments > 0 {
            view.html
                .put("<span class=\"quiet bubble\" title=\"{} comments\">{}</span>", &[&comments, &comments]);
        }
        view.html.put("</li>", &[]);
    }
    view.html.put("</ul>", &[]);
}

pub(super) async fn new(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let (labels, _) = client::list(call, &format!("{}/labels?per_page=100", repo.api)).await?;
    view.begin_repo("New issue", &repo, Tab::Issues);
    view.html.put("<div class=\"bar\"><h1>New issue</h1></div>", &[]);
    view.form(&format!("{}/issues", repo.base), "card pad");
    view.html.put(
        "<label class=\"field\">Title<input name=\"title\" required maxlength=\"256\" autofocus autocomplete=\"off\"></label>\
         <label class=\"field\">What should happen?<textarea name=\"body\" rows=\"10\" maxlength=\"65536\"></textarea></label>",
        &[],
    );
    if repo.may("triage") && !labels.is_empty() {
        view.html.put("<fieldset class=\"choose\"><legend>Labels</legend>", &[]);
        for one in &labels {
            view.html.put(
                "<label class=\"check\"><input type=\"checkbox\" name=\"label\" value=\"{}\">",
                &[&text(one, "/name")],
            );
            label(&mut view.html, one);
            view.html.put("</label>", &[]);
        }
        view.html.put("</fieldset>", &[]);
    }
    view.html.put(
        "<div class=\"buttons\"><button class=\"button main\">Open the issue</button></div></form>",
        &[],
    );
    Ok(view.end())
}

pub(super) async fn create(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let repo = RepoPage::of(call).await?;
    let body = json!({
        "title": fields.get("title").unwrap_or_default(),
        "body": fields.get("body"),
        "labels": fields.all("label"),
    });
    let made = client::send(call, Method::POST, &format!("{}/issues", repo.api), &body).await?;
    Ok(redirect(&format!("{}/issues/{}", repo.base, number(&made, "/number"))))
}

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let path = format!("{}/issues/{}", repo.api, call.number("number")?);
    let issue = client::get(call, &path).await?;
    if issue.get("pull_request").is_some() {
        return Ok(redirect(&format!("{}/pull/{}", repo.base, number(&issue, "/number"))));
    }
    let timeline = everything(call, &path).await?;
    let (labels, _) = client::list(call, &format!("{}/labels?per_page=100", repo.api)).await?;
    view.begin_repo(text(&issue, "/title"), &repo, Tab::Issues);
    heading(&mut view, &issue, Icon::of_state(false, text(&issue, "/state") == "open", false, false));
    view.html.put("<div class=\"columns\"><div>", &[]);
    thread::comment_card(
        &mut view,
        text(&issue, "/user/login"),
        text(&issue, "/created_at"),
        "",
        text(&issue, "/body"),
    );
    thread::timeline(&mut view, &timeline);
    let own = number(&issue, "/user/id") == view.user.id;
    let open = text(&issue, "/state") == "open";
    thread::comment_form(&mut view, &repo, number(&issue, "/number"), open, own || repo.may("triage"));
    view.html.put("</div><aside>", &[]);
    thread::labels(&mut view, &repo, &issue, &labels);
    people(&mut view, "Assigned to", items(&issue, "/assignees"));
    view.html.put("</aside></div>", &[]);
    Ok(view.end())
}

/// The timeline, up to 500 items.
pub(super) async fn everything(call: &Call, path: &str) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    for page in 1..=5 {
        let (items, more) = client::list(call, &format!("{path}/timeline?per_page=100&page={page}")).await?;
        all.extend(items);
        if !more {
            break;
        }
    }
    Ok(all)
}

/// The title and state of an issue or pull request.
pub(super) fn heading(view: &mut View<'_>, issue: &Value, icon: Icon) {
    view.html.put(
        "<div class=\"heading\"><h1>{} <span class=\"quiet\">#{}</span></h1><p><span class=\"state {}\">",
        &[&text(issue, "/title"), &number(issue, "/number"), &icon.class()],
    );
    icon.draw(&mut view.html);
    view.html
        .put("{}</span> <span class=\"quiet\">by <b>{}</b> ", &[&icon.word(), &text(issue, "/user/login")]);
    view.time(text(issue, "/created_at"));
    view.html.put("</span></p></div>", &[]);
}

/// A list of users in the sidebar.
pub(super) fn people(view: &mut View<'_>, words: &str, people: &[Value]) {
    if people.is_empty() {
        return;
    }
    view.html.put("<section class=\"card pad\"><h2>{}</h2>", &[&words]);
    for one in people {
        view.html.put("<p class=\"person\">", &[]);
        super::view::avatar(&mut view.html, text(one, "/login"));
        view.html.put("{}</p>", &[&text(one, "/login")]);
    }
    view.html.put("</section>", &[]);
}

/// Adds a comment, changes the state, or both.
pub(super) async fn comment(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let repo = RepoPage::of(call).await?;
    let path = format!("{}/issues/{}", repo.api, call.number("number")?);
    let issue = client::get(call, &path).await?;
    let state = fields.get("state");
    match fields.get("body").filter(|body| !body.trim().is_empty()) {
        Some(body) => {
            client::send(call, Method::POST, &format!("{path}/comments"), &json!({"body": body})).await?;
        }
        None if state.is_none() => return Err(Failure::unprocessable("Write something first.")),
        None => {}
    }
    if let Some(state) = state {
        let kind = if issue.get("pull_request").is_some() { "pulls" } else { "issues" };
        let path = format!("{}/{kind}/{}", repo.api, number(&issue, "/number"));
        client::send(call, Method::PATCH, &path, &json!({"state": state})).await?;
    }
    Ok(back(&repo, &issue))
}

/// Redirects to an issue or pull request.
fn back(repo: &RepoPage, issue: &Value) -> Reply {
    let kind = if issue.get("pull_request").is_some() { "pull" } else { "issues" };
    redirect(&format!("{}/{kind}/{}", repo.base, number(issue, "/number")))
}

pub(super) async fn label_form(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let repo = RepoPage::of(call).await?;
    let path = format!("{}/issues/{}", repo.api, call.number("number")?);
    let issue = client::get(call, &path).await?;
    let mut labels = fields.all("label");
    labels.extend(fields.get("new").map(str::trim).filter(|name| !name.is_empty()));
    client::send(call, Method::PUT, &format!("{path}/labels"), &json!({"labels": labels})).await?;
    Ok(back(&repo, &issue))
}
