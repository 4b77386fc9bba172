//! Issues: the list, one of them, and what can be done to it.

use hyper::Method;
use serde_json::{Value, json};

use super::ask::{self, items, number, text, yes};
use super::icon::Sign;
use super::repositories::signed_in_form;
use super::thread;
use super::view::{Place, Tab, View, label, page_number, see};
use crate::server::{Call, Failure, Reply, percent_encode};

/// The list.
pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let state = if call.query.get("state") == Some("closed") { "closed" } else { "open" };
    let labels = call.query.get("labels").unwrap_or_default();
    // The API lists pull requests among issues, and a search is the way to have issues alone.
    let mut search = format!("repo:{}/{} is:issue state:{state}", place.owner, place.name);
    if !labels.is_empty() {
        search.push_str(&format!(" label:\"{}\"", labels.replace('"', "")));
    }
    let path = format!("/search/issues?per_page=30&page={}&q={}", page_number(call), percent_encode(&search));
    let found = ask::get(call, &path).await?;
    let rows = items(&found, "/items");
    let more = number(&found, "/total_count") > page_number(call) * 30;
    view.begin_in("Issues", &place, Tab::Issues);
    view.html.put("<div class=\"bar\">", &[]);
    states(&mut view, &place, "issues", state, &[("open", "Open"), ("closed", "Closed")]);
    view.html.put(
        "<span class=\"grow\"></span><a class=\"button main\" href=\"{}/issues/new\">New issue</a></div>",
        &[&place.base],
    );
    if !labels.is_empty() {
        view.html.put(
            "<p class=\"quiet\">With the label <b>{}</b> · <a href=\"{}/issues\">show all</a></p>",
            &[&labels, &place.base],
        );
    }
    table(&mut view, &place, rows, "No issues here", "An issue says what is wrong, or what should be.");
    view.pager(more);
    Ok(view.end())
}

/// The states that a list can show.
pub(super) fn states(view: &mut View<'_>, place: &Place, page: &str, now: &str, all: &[(&str, &str)]) {
    view.html.put("<div class=\"switch\">", &[]);
    for (state, words) in all {
        view.html.put("<a href=\"{}/{}?state={}\"", &[&place.base, &page, state]);
        if *state == now {
            view.html.put(" aria-current=\"true\"", &[]);
        }
        view.html.put(">{}</a>", &[words]);
    }
    view.html.put("</div>", &[]);
}

/// Issues or pull requests as rows.
pub(super) fn table(view: &mut View<'_>, place: &Place, rows: &[Value], none: &str, hint: &str) {
    if rows.is_empty() {
        view.html
            .put("<div class=\"card pad empty\"><h2>{}</h2><p class=\"quiet\">{}</p></div>", &[&none, &hint]);
        return;
    }
    view.html.put("<ul class=\"card rows\">", &[]);
    for row in rows {
        let pull = row.get("pull_request").is_some() || row.get("head").is_some();
        let merged = !row["merged_at"].is_null() || !row["pull_request"]["merged_at"].is_null();
        let sign = Sign::of_state(pull, text(row, "/state") == "open", pull && merged, yes(row, "/draft"));
        let kind = if pull { "pull" } else { "issues" };
        view.html.put("<li>", &[]);
        sign.draw(&mut view.html);
        view.html.put(
            "<div class=\"grow\"><a class=\"title\" href=\"{}/{}/{}\">{}</a> ",
            &[&place.base, &kind, &number(row, "/number"), &text(row, "/title")],
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

/// The page of a new one.
pub(super) async fn new(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let (labels, _) = ask::list(call, &format!("{}/labels?per_page=100", place.api)).await?;
    view.begin_in("New issue", &place, Tab::Issues);
    view.html.put("<div class=\"bar\"><h1>New issue</h1></div>", &[]);
    view.form(&format!("{}/issues", place.base), "card pad");
    view.html.put(
        "<label class=\"field\">Title<input name=\"title\" required maxlength=\"256\" autofocus autocomplete=\"off\"></label>\
         <label class=\"field\">What should happen?<textarea name=\"body\" rows=\"10\" maxlength=\"65536\"></textarea></label>",
        &[],
    );
    if place.may("triage") && !labels.is_empty() {
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

/// The form of that page.
pub(super) async fn create(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let place = Place::of(call).await?;
    let body = json!({
        "title": fields.get("title").unwrap_or_default(),
        "body": fields.get("body"),
        "labels": fields.all("label"),
    });
    let made = ask::ask(call, Method::POST, &format!("{}/issues", place.api), &body).await?;
    Ok(see(&format!("{}/issues/{}", place.base, number(&made, "/number"))))
}

/// One issue.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let path = format!("{}/issues/{}", place.api, call.number("number")?);
    let issue = ask::get(call, &path).await?;
    if issue.get("pull_request").is_some() {
        return Ok(see(&format!("{}/pull/{}", place.base, number(&issue, "/number"))));
    }
    let timeline = everything(call, &path).await?;
    let (labels, _) = ask::list(call, &format!("{}/labels?per_page=100", place.api)).await?;
    view.begin_in(text(&issue, "/title"), &place, Tab::Issues);
    heading(&mut view, &issue, Sign::of_state(false, text(&issue, "/state") == "open", false, false));
    view.html.put("<div class=\"columns\"><div>", &[]);
    thread::said(
        &mut view,
        text(&issue, "/user/login"),
        text(&issue, "/created_at"),
        "",
        text(&issue, "/body"),
    );
    thread::happened(&mut view, &timeline);
    let own = number(&issue, "/user/id") == view.user.id;
    let open = text(&issue, "/state") == "open";
    thread::answer(&mut view, &place, number(&issue, "/number"), open, own || place.may("triage"));
    view.html.put("</div><aside>", &[]);
    thread::labels(&mut view, &place, &issue, &labels);
    people(&mut view, "Assigned to", items(&issue, "/assignees"));
    view.html.put("</aside></div>", &[]);
    Ok(view.end())
}

/// The newest part of what happened, which a page can show.
pub(super) async fn everything(call: &Call, path: &str) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    for page in 1..=5 {
        let (items, more) = ask::list(call, &format!("{path}/timeline?per_page=100&page={page}")).await?;
        all.extend(items);
        if !more {
            break;
        }
    }
    Ok(all)
}

/// The title of an issue or a pull request, and how it stands.
pub(super) fn heading(view: &mut View<'_>, issue: &Value, sign: Sign) {
    view.html.put(
        "<div class=\"heading\"><h1>{} <span class=\"quiet\">#{}</span></h1><p><span class=\"state {}\">",
        &[&text(issue, "/title"), &number(issue, "/number"), &sign.class()],
    );
    sign.draw(&mut view.html);
    view.html
        .put("{}</span> <span class=\"quiet\">by <b>{}</b> ", &[&sign.word(), &text(issue, "/user/login")]);
    view.time(text(issue, "/created_at"));
    view.html.put("</span></p></div>", &[]);
}

/// Some people, at the side.
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

/// The form below an issue or a pull request: a comment, another state, or both.
pub(super) async fn comment(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let place = Place::of(call).await?;
    let path = format!("{}/issues/{}", place.api, call.number("number")?);
    let issue = ask::get(call, &path).await?;
    let state = fields.get("state");
    match fields.get("body").filter(|body| !body.trim().is_empty()) {
        Some(body) => {
            ask::ask(call, Method::POST, &format!("{path}/comments"), &json!({"body": body})).await?;
        }
        None if state.is_none() => return Err(Failure::unprocessable("Write something first.")),
        None => {}
    }
    if let Some(state) = state {
        let kind = if issue.get("pull_request").is_some() { "pulls" } else { "issues" };
        let path = format!("{}/{kind}/{}", place.api, number(&issue, "/number"));
        ask::ask(call, Method::PATCH, &path, &json!({"state": state})).await?;
    }
    Ok(back(&place, &issue))
}

/// To the page of an issue or a pull request.
fn back(place: &Place, issue: &Value) -> Reply {
    let kind = if issue.get("pull_request").is_some() { "pull" } else { "issues" };
    see(&format!("{}/{kind}/{}", place.base, number(issue, "/number")))
}

/// The form of its labels.
pub(super) async fn label_form(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let place = Place::of(call).await?;
    let path = format!("{}/issues/{}", place.api, call.number("number")?);
    let issue = ask::get(call, &path).await?;
    let mut labels = fields.all("label");
    labels.extend(fields.get("new").map(str::trim).filter(|name| !name.is_empty()));
    ask::ask(call, Method::PUT, &format!("{path}/labels"), &json!({"labels": labels})).await?;
    Ok(back(&place, &issue))
}
