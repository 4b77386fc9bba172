//! The timeline of an issue or pull request, and the form for a comment.

use serde_json::Value;

use super::client::{items, text};
use super::markdown;
use super::view::{RepoPage, View, avatar, label};

pub(super) fn comment_card(view: &mut View<'_>, login: &str, time: &str, badge: &str, body: &str) {
    view.html.put("<article class=\"card said\"><div class=\"head\">", &[]);
    avatar(&mut view.html, login);
    view.html.put("<b>{}</b> ", &[&login]);
    if !badge.is_empty() {
        view.html.put("<span class=\"badge\">{}</span> ", &[&badge]);
    }
    view.html.put("<span class=\"quiet\">", &[]);
    view.time(time);
    view.html.put("</span></div><div class=\"prose pad\">", &[]);
    markdown::write(&mut view.html, body);
    view.html.put("</div></article>", &[]);
}

pub(super) fn timeline(view: &mut View<'_>, timeline: &[Value]) {
    for item in timeline {
        let login = text(item, "/actor/login");
        match text(item, "/event") {
            "commented" => comment_card(view, login, text(item, "/created_at"), "", text(item, "/body")),
            "reviewed" => reviewed(view, item),
            _ => event_line(view, item),
        }
    }
}

fn reviewed(view: &mut View<'_>, item: &Value) {
    let (words, class) = match text(item, "/state").to_ascii_uppercase().as_str() {
        "APPROVED" => ("approved", "good"),
        "CHANGES_REQUESTED" => ("asks for changes", "bad"),
        "DISMISSED" => ("reviewed (dismissed)", "dim"),
        _ => ("reviewed", "dim"),
    };
    let login = text(item, "/user/login");
    let body = text(item, "/body");
    if body.trim().is_empty() {
        view.html.put("<p class=\"event\">", &[]);
        avatar(&mut view.html, login);
        view.html.put("<span><b>{}</b> <b class=\"{}\">{}</b> ", &[&login, &class, &words]);
        view.time(text(item, "/submitted_at"));
        view.html.put("</span></p>", &[]);
    } else {
        comment_card(view, login, text(item, "/submitted_at"), words, body);
    }
}

fn event_line(view: &mut View<'_>, item: &Value) {
    let login = text(item, "/actor/login");
    view.html.put("<p class=\"event\">", &[]);
    avatar(&mut view.html, login);
    view.html.put("<span><b>{}</b> ", &[&login]);
    event_text(view, item);
    view.html.put(" ", &[]);
    view.time(text(item, "/created_at"));
    view.html.put("</span></p>", &[]);
}

/// Writes an event as a phrase.
pub(super) fn event_text(view: &mut View<'_>, item: &Value) {
    let html = &mut view.html;
    match text(item, "/event") {
        word @ ("labeled" | "unlabeled") => {
            html.put(if word == "labeled" { "added " } else { "took off " }, &[]);
            label(html, &item["label"]);
        }
        "closed" if text(item, "/state_reason") == "not_planned" => {
            html.put("closed this as not planned", &[]);
        }
        "closed" => html.put("closed this", &[]),
        "reopened" => html.put("opened this again", &[]),
        "merged" => html.put("merged this", &[]),
        "renamed" => html.put(
            "changed the title from <s>{}</s> to <b>{}</b>",
            &[&text(item, "/rename/from"), &text(item, "/rename/to")],
        ),
        "assigned" => html.put("assigned <b>{}</b>", &[&text(item, "/assignee/login")]),
        "unassigned" => html.put("unassigned <b>{}</b>", &[&text(item, "/assignee/login")]),
        "review_requested" => {
            html.put("asked <b>{}</b> for a review", &[&text(item, "/requested_reviewer/login")]);
        }
        "review_request_removed" => {
            html.put("no longer asks <b>{}</b> for a review", &[&text(item, "/requested_reviewer/login")]);
        }
        "head_ref_deleted" => html.put("deleted the branch", &[]),
        "head_ref_force_pushed" => html.put("pushed the branch by force", &[]),
        other => html.put("{}", &[&other.replace('_', " ")]),
    }
}

/// The form to comment, close or reopen.
pub(super) fn comment_form(view: &mut View<'_>, repo: &RepoPage, number: i64, open: bool, may_close: bool) {
    view.form(&format!("{}/issues/{number}/comments", repo.base), "card pad answer");
    view.html.put(
        "<label class=\"field\">Add a comment<textarea name=\"body\" rows=\"4\" maxlength=\"65536\"></textarea></label>\
         <div class=\"buttons\">",
        &[],
    );
    if may_close {
        view.html.put(
            if open {
                "<button class=\"button\" name=\"state\" value=\"closed\">Close</button>"
            } else {
                "<button class=\"button\" name=\"state\" value=\"open\">Open again</button>"
            },
            &[],
        );
    }
    view.html.put("<button class=\"button main\">Comment</button></div></form>", &[]);
}

/// The labels of an issue with the form to change them.
pub(super) fn labels(view: &mut View<'_>, repo: &RepoPage, issue: &Value, all: &[Value]) {
    let has = items(issue, "/labels");
    view.html.put("<section class=\"card pad\"><h2>Labels</h2><div class=\"labels\">", &[]);
    for one in has {
        label(&mut view.html, one);
    }
    if has.is_empty() {
        view.html.put("<span class=\"quiet\">None</span>", &[]);
    }
    view.html.put("</div>", &[]);
    if repo.may("triage") {
        view.html.put("<details><summary>Change</summary>", &[]);
        view.form(
            &format!("{}/issues/{}/labels", repo.base, super::client::number(issue, "/number")),
            "choose",
        );
        for one in all {
            let name = text(one, "/name");
            let on = has.iter().any(|label| text(label, "/name") == name);
            view.html
                .put("<label class=\"check\"><input type=\"checkbox\" name=\"label\" value=\"{}\"", &[&name]);
            view.html.put(if on { " checked>" } else { ">" }, &[]);
            label(&mut view.html, one);
            view.html.put("</label>", &[]);
        }
        view.html.put(
            "<label class=\"field\">New label<input name=\"new\" maxlength=\"50\" autocomplete=\"off\"></label>\
             <button class=\"button\">Save</button></form></details>",
            &[],
        );
    }
    view.html.put("</section>", &[]);
}
