//! Releases.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, flag, text};
use super::markdown;
use super::repositories::signed_in_form;
use super::view::{RepoPage, Tab, View, page_number, redirect};
use crate::server::{Call, Failure, Reply, percent_encode};

/// The releases, and the form for a new one.
pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let (rows, more) =
        client::list(call, &format!("{}/releases?per_page=10&page={}", repo.api, page_number(call))).await?;
    view.begin_repo("Releases", &repo, Tab::Releases);
    view.html.put("<div class=\"bar\"><h1>Releases</h1></div>", &[]);
    if rows.is_empty() {
        let (tags, _) = client::list(call, &format!("{}/tags?per_page=10", repo.api)).await?;
        let names: Vec<&str> = tags.iter().map(|tag| text(tag, "/name")).collect();
        let tags = if names.is_empty() {
            "There are no tags.".to_owned()
        } else {
            format!("Tags: {}", names.join(", "))
        };
        view.html.put(
            "<div class=\"card pad empty\"><h2>No releases yet</h2><p class=\"quiet\">{}</p></div>",
            &[&tags],
        );
    }
    for row in &rows {
        card(&mut view, &repo, row);
    }
    view.pager(more);
    if repo.may("push") {
        new(&mut view, &repo);
    }
    Ok(view.end())
}

fn card(view: &mut View<'_>, repo: &RepoPage, row: &Value) {
    let tag = text(row, "/tag_name");
    let name = Some(text(row, "/name")).filter(|name| !name.is_empty()).unwrap_or(tag);
    let link = percent_encode(tag).replace("%2F", "/");
    view.html.put("<article class=\"card release\"><div class=\"head\"><a class=\"title\" href=\"{}/releases/tag/{}\">{}</a><span class=\"branch\">{}</span>", &[
        &repo.base, &link, &name, &tag,
    ]);
    if flag(row, "/draft") {
        view.html.put("<span class=\"badge\">draft</span>", &[]);
    }
    if flag(row, "/prerelease") {
        view.html.put("<span class=\"badge warn\">preview</span>", &[]);
    }
    view.html.put("<span class=\"grow\"></span><span class=\"quiet\">{} ", &[&text(row, "/author/login")]);
    view.time(text(row, "/created_at"));
    view.html.put("</span></div><div class=\"prose pad\">", &[]);
    markdown::write(&mut view.html, text(row, "/body"));
    view.html.put("</div></article>", &[]);
}

fn new(view: &mut View<'_>, repo: &RepoPage) {
    view.html.put("<details class=\"card make\"><summary>New release</summary>", &[]);
    view.form(&format!("{}/releases", repo.base), "pad");
    view.html.put(
        "<label class=\"field\">Tag<input name=\"tag\" required maxlength=\"200\" placeholder=\"v1.0.0\" autocomplete=\"off\"></label>\
         <label class=\"field\">Branch or commit<input name=\"target\" maxlength=\"200\" placeholder=\"{}\" autocomplete=\"off\"></label>\
         <label class=\"field\">Title<input name=\"name\" maxlength=\"200\" autocomplete=\"off\"></label>\
         <label class=\"field\">What is new?<textarea name=\"body\" rows=\"6\" maxlength=\"125000\"></textarea></label>\
         <label class=\"check\"><input type=\"checkbox\" name=\"prerelease\" value=\"1\"> Only a preview</label>\
         <button class=\"button main\">Release</button></form></details>",
        &[&text(&repo.json, "/default_branch")],
    );
}

pub(super) async fn create(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let repo = RepoPage::of(call).await?;
    let body = json!({
        "tag_name": fields.get("tag"),
        "target_commitish": fields.get("target"),
        "name": fields.get("name"),
        "body": fields.get("body"),
        "prerelease": fields.get("prerelease").is_some(),
    });
    client::send(call, Method::POST, &format!("{}/releases", repo.api), &body).await?;
    Ok(redirect(&format!("{}/releases", repo.base)))
}

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let tag = percent_encode(call.params.get("tag")).replace("%2F", "/");
    let row = client::get(call, &format!("{}/releases/tags/{tag}", repo.api)).await?;
    view.begin_repo(text(&row, "/tag_name"), &repo, Tab::Releases);
    card(&mut view, &repo, &row);
    Ok(view.end())
}
