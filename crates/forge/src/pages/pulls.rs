//! Pull requests: the list, and one with its checks, diff, reviews and merge.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, flag, items, number, text};
use super::diff::{self, LineComments};
use super::icon::Icon;
use super::issues::{everything, heading, people, states, table};
use super::repositories::signed_in_form;
use super::time::format_duration;
use super::view::{RepoPage, Tab, View, page_number, redirect};
use super::{files as commits, thread};
use crate::server::{Call, Failure, Reply};

pub(super) async fn list(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let state = if call.query.get("state") == Some("closed") { "closed" } else { "open" };
    let path = format!("{}/pulls?state={state}&per_page=30&page={}", repo.api, page_number(call));
    let (rows, more) = client::list(call, &path).await?;
    view.begin_repo("Pull requests", &repo, Tab::Pulls);
    view.html.put("<div class=\"bar\">", &[]);
    states(&mut view, &repo, "pulls", state, &[("open", "Open"), ("closed", "Closed")]);
    view.html.put("</div>", &[]);
    table(
        &mut view,
        &repo,
        &rows,
        "No pull requests here",
        "Push a branch, then ask for it to be merged over the API.",
    );
    view.pager(more);
    Ok(view.end())
}

struct Subject {
    repo: RepoPage,
    pull: Value,
    path: String,
}

async fn subject(call: &Call) -> Result<Subject, Failure> {
    let repo = RepoPage::of(call).await?;
    let path = format!("{}/pulls/{}", repo.api, call.number("number")?);
    let pull = client::get(call, &path).await?;
    Ok(Subject { repo, pull, path })
}

fn icon(pull: &Value) -> Icon {
    Icon::of_state(true, text(pull, "/state") == "open", flag(pull, "/merged"), flag(pull, "/draft"))
}

fn top(view: &mut View<'_>, subject: &Subject, files: bool) {
    let Subject { repo, pull, .. } = subject;
    view.begin_repo(text(pull, "/title"), repo, Tab::Pulls);
    heading(view, pull, icon(pull));
    view.html.put(
        "<p class=\"quiet sides\"><span class=\"branch\">{}</span> → <span class=\"branch\">{}</span></p>",
        &[&text(pull, "/head/ref"), &text(pull, "/base/ref")],
    );
    let page = format!("{}/pull/{}", repo.base, number(pull, "/number"));
    view.html.put("<nav class=\"tabs inner\">", &[]);
    for (path, words, count, here) in [
        (page.clone(), "Conversation", None, !files),
        (format!("{page}/files"), "Changes", Some(number(pull, "/changed_files")), files),
    ] {
        view.html.put("<a href=\"{}\"", &[&path]);
        if here {
            view.html.put(" aria-current=\"page\"", &[]);
        }
        view.html.put(">{}", &[&words]);
        if let Some(count) = count {
            view.html.put("<span class=\"count\">{}</span>", &[&count]);
        }
        view.html.put("</a>", &[]);
    }
    view.html.put(
        "<span class=\"grow\"></span><span class=\"plus\">+{}</span><span class=\"minus\">−{}</span></nav>",
        &[&number(pull, "/additions"), &number(pull, "/deletions")],
    );
}

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let subject = subject(call).await?;
    let Subject { repo, pull, path } = &subject;
    let issue = format!("{}/issues/{}", repo.api, number(pull, "/number"));
    let timeline = everything(call, &issue).await?;
    let (list, _) = client::list(call, &format!("{path}/commits?per_page=100")).await?;
    let (labels, _) = client::list(call, &format!("{}/labels?per_page=100", repo.api)).await?;
    let sha = text(pull, "/head/sha");
    let checks = client::get(call, &format!("{}/commits/{sha}/check-runs?per_page=100", repo.api)).await?;
    let status = client::get(call, &format!("{}/commits/{sha}/status", repo.api)).await?;
    top(&mut view, &subject, false);
    view.html.put("<div class=\"columns\"><div>", &[]);
    thread::comment_card(
        &mut view,
        text(pull, "/user/login"),
        text(pull, "/created_at"),
        "",
        text(pull, "/body"),
    );
    view.html.put("<ul class=\"card rows commits\">", &[]);
    for commit in &list {
        view.html.put("<li>", &[]);
        commits::summary(&mut view, repo, commit);
        view.html.put("</li>", &[]);
    }
    view.html.put("</ul>", &[]);
    thread::timeline(&mut view, &timeline);
    checks_card(&mut view, repo, items(&checks, "/check_runs"), items(&status, "/statuses"));
    merge_card(&mut view, repo, pull);
    let own = number(pull, "/user/id") == view.user.id;
    let open = text(pull, "/state") == "open";
    thread::comment_form(
        &mut view,
        repo,
        number(pull, "/number"),
        open,
        !flag(pull, "/merged") && (own || repo.may("triage")),
    );
    view.html.put("</div><aside>", &[]);
    thread::labels(&mut view, repo, pull, &labels);
    people(&mut view, "Asked for a review", items(pull, "/requested_reviewers"));
    people(&mut view, "Assigned to", items(pull, "/assignees"));
    view.html.put("</aside></div>", &[]);
    Ok(view.end())
}

fn checks_card(view: &mut View<'_>, repo: &RepoPage, checks: &[Value], statuses: &[Value]) {
    if checks.is_empty() && statuses.is_empty() {
        return;
    }
    view.html.put("<section class=\"card\"><h2 class=\"head\">Checks</h2><ul class=\"rows\">", &[]);
    for check in checks {
        view.html.put("<li>", &[]);
        Icon::of_check(text(check, "/status"), text(check, "/conclusion")).draw(&mut view.html);
        view.html.put(
            "<a class=\"grow\" href=\"{}/checks/{}\">{}</a><span class=\"quiet\">{}</span>",
            &[&repo.base, &number(check, "/id"), &text(check, "/name"), &verdict(check)],
        );
        view.html.put("</li>", &[]);
    }
    for status in statuses {
        let icon = match text(status, "/state") {
            "success" => Icon::Good,
            "pending" => Icon::Waiting,
            _ => Icon::Bad,
        };
        view.html.put("<li>", &[]);
        icon.draw(&mut view.html);
        view.html.put(
            "<span class=\"grow\">{}</span><span class=\"quiet\">{}</span></li>",
            &[&text(status, "/context"), &text(status, "/description")],
        );
    }
    view.html.put("</ul></section>", &[]);
}

/// The result and duration of a check run.
pub(super) fn verdict(check: &Value) -> String {
    let word = match (text(check, "/status"), text(check, "/conclusion")) {
        ("completed", conclusion) => conclusion.replace('_', " "),
        ("queued", _) => return "waiting".to_owned(),
        _ => return "running".to_owned(),
    };
    match format_duration(text(check, "/started_at"), text(check, "/completed_at")) {
        Some(time) => format!("{word} in {time}"),
        None => word,
    }
}

/// Whether the pull request can be merged, with the button.
fn merge_card(view: &mut View<'_>, repo: &RepoPage, pull: &Value) {
    let state = text(pull, "/mergeable_state");
    let (class, title, words, ready) = match icon(pull) {
        Icon::Merged => ("done", "Merged", "The changes are in.", false),
        Icon::Dropped => ("dim", "Closed", "It was closed without a merge.", false),
        Icon::Draft => ("dim", "Still a draft", "It cannot be merged yet.", false),
        Icon::Open | Icon::Done | Icon::Pull | Icon::Good | Icon::Bad | Icon::Waiting | Icon::Neutral => {
            match state {
                "clean" => ("good", "Ready to merge", "Nothing is in the way.", true),
                "unstable" => ("wait", "Can be merged", "Not every check has passed.", true),
                "dirty" => (
                    "bad",
                    "Conflicts",
                    "Both branches changed the same lines. Solve that on the branch and push.",
                    false,
                ),
                "blocked" => {
                    ("bad", "Not yet", "The rules of the branch want a check or a review first.", false)
                }
                "behind" => {
                    ("bad", "Out of date", "The rules of the branch want its newest commits first.", false)
                }
                _ => ("wait", "Looking for conflicts", "This takes a moment. Load the page again.", false),
            }
        }
    };
    view.html.put(
        "<section class=\"card pad merge {}\"><div class=\"grow\"><h2>{}</h2><p class=\"quiet\">{}</p></div>",
        &[&class, &title, &words],
    );
    if ready && repo.may("push") {
        view.form(&format!("{}/pull/{}/merge", repo.base, number(pull, "/number")), "merging");
        view.html.put("<input type=\"hidden\" name=\"sha\" value=\"{}\"><select name=\"method\" aria-label=\"How to merge\">", &[
            &text(pull, "/head/sha"),
        ]);
        for (allowed, value, words) in [
            ("/allow_squash_merge", "squash", "Squash into one commit"),
            ("/allow_merge_commit", "merge", "With a merge commit"),
            ("/allow_rebase_merge", "rebase", "Rebase its commits"),
        ] {
            if flag(&repo.json, allowed) {
                view.html.put("<option value=\"{}\">{}</option>", &[&value, &words]);
            }
        }
        view.html.put("</select><button class=\"button main\">Merge</button></form>", &[]);
    }
    view.html.put("</section>", &[]);
}

/// The diff, and the form for a review.
pub(super) async fn files(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let subject = subject(call).await?;
    let Subject { repo, pull, path } = &subject;
    let (files, more) =
        client::list(call, &format!("{path}/files?per_page=100&page={}", page_number(call))).await?;
    let (comments, _) = client::list(call, &format!("{path}/comments?per_page=100")).await?;
    let mut comments_by_line = LineComments::new();
    for comment in &comments {
        comments_by_line.entry((text(comment, "/path"), number(comment, "/line"))).or_default().push(comment);
    }
    top(&mut view, &subject, true);
    diff::write(&mut view.html, &files, &comments_by_line);
    view.pager(more);
    if text(pull, "/state") == "open" {
        let own = number(pull, "/user/id") == view.user.id;
        review_form(&mut view, repo, pull, own);
    }
    Ok(view.end())
}

fn review_form(view: &mut View<'_>, repo: &RepoPage, pull: &Value, own: bool) {
    view.form(&format!("{}/pull/{}/reviews", repo.base, number(pull, "/number")), "card pad answer");
    view.html.put(
        "<input type=\"hidden\" name=\"sha\" value=\"{}\"><h2>Your review</h2>\
         <label class=\"field\">What do you think?<textarea name=\"body\" rows=\"4\" maxlength=\"65536\"></textarea></label>\
         <div class=\"buttons\">",
        &[&text(pull, "/head/sha")],
    );
    if !own {
        view.html.put(
            "<button class=\"button\" name=\"event\" value=\"REQUEST_CHANGES\">Ask for changes</button>\
             <button class=\"button good\" name=\"event\" value=\"APPROVE\">Approve</button>",
            &[],
        );
    }
    view.html.put(
        "<button class=\"button main\" name=\"event\" value=\"COMMENT\">Comment</button></div></form>",
        &[],
    );
}

pub(super) async fn review(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let subject = subject(call).await?;
    let body = json!({
        "body": fields.get("body").unwrap_or_default(),
        "event": fields.get("event").unwrap_or("COMMENT"),
        "commit_id": fields.get("sha"),
    });
    client::send(call, Method::POST, &format!("{}/reviews", subject.path), &body).await?;
    Ok(redirect(&format!("{}/pull/{}", subject.repo.base, number(&subject.pull, "/number"))))
}

/// Merges exactly the commit that the user saw.
pub(super) async fn merge(call: &Call) -> Result<Reply, Failure> {
    let fields = signed_in_form(call)?;
    let subject = subject(call).await?;
    let sha = fields.get("sha").ok_or_else(|| Failure::unprocessable("The form names no commit."))?;
    let body = json!({"sha": sha, "merge_method": fields.get("method")});
    client::send(call, Method::PUT, &format!("{}/merge", subject.path), &body).await?;
    Ok(redirect(&format!("{}/pull/{}", subject.repo.base, number(&subject.pull, "/number"))))
}
