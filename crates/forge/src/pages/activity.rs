//! Recent activity in a repository: issues, events, comments, runs, commits, releases.

use serde_json::Value;

use super::client::{self, items, number, text};
use super::icon::Icon;
use super::view::{RepoPage, Tab, View, avatar};
use super::{files, thread};
use crate::server::{Call, Failure, Reply};

/// Items read of each kind, and items shown in all.
const EACH: usize = 30;
const ALL: usize = 60;

enum Item<'a> {
    /// An issue or a pull request.
    Opened(&'a Value),
    Event(&'a Value),
    Comment(&'a Value),
    Run(&'a Value),
    Commit(&'a Value),
    Release(&'a Value),
}

impl Item<'_> {
    fn time(&self) -> &str {
        match self {
            Item::Opened(value) | Item::Event(value) | Item::Comment(value) => text(value, "/created_at"),
            Item::Run(value) => text(value, "/updated_at"),
            Item::Commit(value) => text(value, "/commit/committer/date"),
            Item::Release(value) => text(value, "/published_at"),
        }
    }
}

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let api = &repo.api;
    let (opened, _) = client::list(call, &format!("{api}/issues?state=all&per_page={EACH}")).await?;
    let (events, _) = client::list(call, &format!("{api}/issues/events?per_page={EACH}")).await?;
    let (comments, _) =
        client::list(call, &format!("{api}/issues/comments?direction=desc&per_page={EACH}")).await?;
    let runs = client::get(call, &format!("{api}/actions/runs?per_page={EACH}")).await?;
    let commits = client::try_get(call, &format!("{api}/commits?per_page={EACH}")).await?;
    let (releases, _) = client::list(call, &format!("{api}/releases?per_page={EACH}")).await?;
    let mut all: Vec<Item<'_>> = events.iter().map(Item::Event).collect();
    all.extend(opened.iter().map(Item::Opened));
    all.extend(releases.iter().filter(|release| release["draft"] == false).map(Item::Release));
    all.extend(comments.iter().map(Item::Comment));
    all.extend(items(&runs, "/workflow_runs").iter().map(Item::Run));
    all.extend(items(&commits, "").iter().map(Item::Commit));
    all.sort_by(|one, other| other.time().cmp(one.time()));
    view.begin_repo("Activity", &repo, Tab::Activity);
    view.html.put("<div class=\"bar\"><h1>Activity</h1></div>", &[]);
    if all.is_empty() {
        view.html.put("<div class=\"card pad empty\"><h2>All quiet</h2><p class=\"quiet\">Nothing has happened here yet.</p></div>", &[]);
        return Ok(view.end());
    }
    view.html.put("<ul class=\"card rows\">", &[]);
    for item in all.iter().take(ALL) {
        view.html.put("<li>", &[]);
        row(&mut view, &repo, item);
        view.html.put("</li>", &[]);
    }
    view.html.put("</ul>", &[]);
    Ok(view.end())
}

fn row(view: &mut View<'_>, repo: &RepoPage, item: &Item<'_>) {
    match item {
        Item::Opened(value) => {
            let (login, number) = (text(value, "/user/login"), number(value, "/number"));
            let kind = if value["pull_request"].is_object() { "pull" } else { "issues" };
            avatar(&mut view.html, login);
            view.html.put(
                "<span class=\"grow\"><b>{}</b> opened <a href=\"{}/{}/{}\">#{} {}</a></span>",
                &[&login, &repo.base, &kind, &number, &number, &text(value, "/title")],
            );
        }
        Item::Release(value) => {
            let login = text(value, "/author/login");
            avatar(&mut view.html, login);
            view.html.put(
                "<span class=\"grow\"><b>{}</b> released <a href=\"{}/releases\">{}</a></span>",
                &[&login, &repo.base, &text(value, "/tag_name")],
            );
        }
        Item::Event(value) => {
            avatar(&mut view.html, text(value, "/actor/login"));
            view.html.put("<span class=\"grow\"><b>{}</b> ", &[&text(value, "/actor/login")]);
            thread::event_text(view, value);
            let number = number(value, "/issue/number");
            view.html.put(
                " · <a href=\"{}/issues/{}\">#{} {}</a></span>",
                &[&repo.base, &number, &number, &text(value, "/issue/title")],
            );
        }
        Item::Comment(value) => {
            let login = text(value, "/user/login");
            avatar(&mut view.html, login);
            let number = text(value, "/issue_url").rsplit('/').next().unwrap_or_default().to_owned();
            view.html.put(
                "<span class=\"grow cut\"><b>{}</b> on <a href=\"{}/issues/{}\">#{}</a>: {}</span>",
                &[
                    &login,
                    &repo.base,
                    &number,
                    &number,
                    &text(value, "/body").lines().next().unwrap_or_default(),
                ],
            );
        }
        Item::Run(value) => {
            Icon::of_check(text(value, "/status"), text(value, "/conclusion")).draw(&mut view.html);
            view.html.put("<span class=\"grow\"><a href=\"{}/actions/runs/{}\">Run {}</a> of <span class=\"branch\">{}</span> {}</span>", &[
                &repo.base,
                &number(value, "/id"),
                &number(value, "/run_number"),
                &text(value, "/head_branch"),
                &text(value, "/display_title"),
            ]);
        }
        Item::Commit(value) => {
            files::summary(view, repo, value);
            return;
        }
    }
    view.html.put("<span class=\"quiet\">", &[]);
    view.time(item.time());
    view.html.put("</span>", &[]);
}
