//! What happened in a repository lately: what was opened, done to issues, said, run, committed, released.

use serde_json::Value;

use super::ask::{self, items, number, text};
use super::icon::Sign;
use super::view::{Place, Tab, View, avatar};
use super::{files, thread};
use crate::server::{Call, Failure, Reply};

/// How many of each kind are read, and how many are shown in all.
const EACH: usize = 30;
const ALL: usize = 60;

/// One thing that happened.
enum Item<'a> {
    /// An issue or a pull request.
    Opened(&'a Value),
    Deed(&'a Value),
    Comment(&'a Value),
    Run(&'a Value),
    Commit(&'a Value),
    Release(&'a Value),
}

impl Item<'_> {
    fn time(&self) -> &str {
        match self {
            Item::Opened(value) | Item::Deed(value) | Item::Comment(value) => text(value, "/created_at"),
            Item::Run(value) => text(value, "/updated_at"),
            Item::Commit(value) => text(value, "/commit/committer/date"),
            Item::Release(value) => text(value, "/published_at"),
        }
    }
}

/// The page.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let api = &place.api;
    let (opened, _) = ask::list(call, &format!("{api}/issues?state=all&per_page={EACH}")).await?;
    let (deeds, _) = ask::list(call, &format!("{api}/issues/events?per_page={EACH}")).await?;
    let (comments, _) =
        ask::list(call, &format!("{api}/issues/comments?direction=desc&per_page={EACH}")).await?;
    let runs = ask::get(call, &format!("{api}/actions/runs?per_page={EACH}")).await?;
    let commits = ask::try_get(call, &format!("{api}/commits?per_page={EACH}")).await?;
    let (releases, _) = ask::list(call, &format!("{api}/releases?per_page={EACH}")).await?;
    let mut all: Vec<Item<'_>> = deeds.iter().map(Item::Deed).collect();
    all.extend(opened.iter().map(Item::Opened));
    all.extend(releases.iter().filter(|release| release["draft"] == false).map(Item::Release));
    all.extend(comments.iter().map(Item::Comment));
    all.extend(items(&runs, "/workflow_runs").iter().map(Item::Run));
    all.extend(items(&commits, "").iter().map(Item::Commit));
    all.sort_by(|one, other| other.time().cmp(one.time()));
    view.begin_in("Activity", &place, Tab::Activity);
    view.html.put("<div class=\"bar\"><h1>Activity</h1></div>", &[]);
    if all.is_empty() {
        view.html.put("<div class=\"card pad empty\"><h2>All quiet</h2><p class=\"quiet\">Nothing has happened here yet.</p></div>", &[]);
        return Ok(view.end());
    }
    view.html.put("<ul class=\"card rows\">", &[]);
    for item in all.iter().take(ALL) {
        view.html.put("<li>", &[]);
        row(&mut view, &place, item);
        view.html.put("</li>", &[]);
    }
    view.html.put("</ul>", &[]);
    Ok(view.end())
}

fn row(view: &mut View<'_>, place: &Place, item: &Item<'_>) {
    match item {
        Item::Opened(value) => {
            let (login, number) = (text(value, "/user/login"), number(value, "/number"));
            let kind = if value["pull_request"].is_object() { "pull" } else { "issues" };
            avatar(&mut view.html, login);
            view.html.put(
                "<span class=\"grow\"><b>{}</b> opened <a href=\"{}/{}/{}\">#{} {}</a></span>",
                &[&login, &place.base, &kind, &number, &number, &text(value, "/title")],
            );
        }
        Item::Release(value) => {
            let login = text(value, "/author/login");
            avatar(&mut view.html, login);
            view.html.put(
                "<span class=\"grow\"><b>{}</b> released <a href=\"{}/releases\">{}</a></span>",
                &[&login, &place.base, &text(value, "/tag_name")],
            );
        }
        Item::Deed(value) => {
            avatar(&mut view.html, text(value, "/actor/login"));
            view.html.put("<span class=\"grow\"><b>{}</b> ", &[&text(value, "/actor/login")]);
            thread::deed(view, value);
            let number = number(value, "/issue/number");
            view.html.put(
                " · <a href=\"{}/issues/{}\">#{} {}</a></span>",
                &[&place.base, &number, &number, &text(value, "/issue/title")],
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
                    &place.base,
                    &number,
                    &number,
                    &text(value, "/body").lines().next().unwrap_or_default(),
                ],
            );
        }
        Item::Run(value) => {
            Sign::of_check(text(value, "/status"), text(value, "/conclusion")).draw(&mut view.html);
            view.html.put("<span class=\"grow\"><a href=\"{}/actions/runs/{}\">Run {}</a> of <span class=\"branch\">{}</span> {}</span>", &[
                &place.base,
                &number(value, "/id"),
                &number(value, "/run_number"),
                &text(value, "/head_branch"),
                &text(value, "/display_title"),
            ]);
        }
        Item::Commit(value) => {
            files::summary(view, place, value);
            return;
        }
    }
    view.html.put("<span class=\"quiet\">", &[]);
    view.time(item.time());
    view.html.put("</span>", &[]);
}
