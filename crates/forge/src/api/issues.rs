//! Issues.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::nullable;
use crate::server::{Call, Failure, FieldError, Need, Page, Query, Reply, Repo, Route, get, patch, post};
use crate::store::issues::{Filter, Sort};
use crate::store::{IssueRow, NewEvent, Permission, User, collaborators, events, issues, labels, milestones};
use crate::timestamp::Timestamp;
use crate::{webhook, wire};

/// Routes about issues.
pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/issues", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/issues", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/issues/{number}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/issues/{number}", |call| Box::pin(edit(call))),
];

/// GitHub's longest title and body.
const LONGEST_TITLE: usize = 256;
pub(super) const LONGEST_BODY: usize = 65_536;

/// A label as a request names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum LabelName {
    Plain(String),
    Object { name: String },
}

impl LabelName {
    pub(super) fn text(&self) -> &str {
        match self {
            LabelName::Plain(name) | LabelName::Object { name } => name,
        }
    }
}

#[derive(Deserialize)]
struct New {
    title: Option<Value>,
    body: Option<String>,
    assignee: Option<String>,
    milestone: Option<i64>,
    labels: Option<Vec<LabelName>>,
    assignees: Option<Vec<String>>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Speak).await?;
    let actor = call.actor()?;
    let new: New = call.json()?;
    let title = title(new.title.as_ref())?;
    check_body(new.body.as_deref())?;
    let now = call.site.clock.now();
    let mut tx = call.site.store.begin().await?;
    let mut row =
        issues::insert(&mut tx, repo.row.id, false, actor.id, &title, new.body.as_deref(), now).await?;
    let (mut people, mut labels) = (Vec::new(), Vec::new());
    // Who may not sort issues has these fields ignored, as with GitHub.
    if repo.permission >= Permission::Triage {
        if let Some(number) = new.milestone {
            row.milestone = Some(milestone(&mut tx, &repo, number).await?);
            issues::update(&mut tx, &row).await?;
        }
        for name in new.labels.unwrap_or_default() {
            labels.extend(super::labels::put_on(&mut tx, &repo, &row, name.text()).await?);
        }
        let names = new.assignees.unwrap_or_default().into_iter().chain(new.assignee);
        people = assign_quietly(&mut tx, call, &repo, &row, &names.collect::<Vec<_>>()).await?;
    }
    // An issue is opened with everything it has; what that is, is told one by one behind it.
    webhook::issue(&call.site, &mut tx, &repo, actor, "opened", row.id, json!({})).await?;
    for label in &labels {
        super::labels::tell(&mut tx, call, &repo, &row, "labeled", label, now).await?;
    }
    for user in &people {
        tell_assignment(&mut tx, call, &repo, &row, "assigned", user, now).await?;
    }
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.site.commit(tx).await?;
    Ok(Reply::created(&json))
}

/// A title is text, or a number that is taken for text.
fn title(title: Option<&Value>) -> Result<String, Failure> {
    let title = match title {
        Some(Value::String(title)) => title.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null) | None => return Err(Failure::missing("Issue", "title")),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(Failure::invalid(FieldError::new("Issue", "title", "invalid")));
        }
    };
    check_title(&title)?;
    Ok(title)
}

pub(super) fn check_title(title: &str) -> Result<(), Failure> {
    if title.is_empty() {
        return Err(Failure::missing("Issue", "title"));
    }
    if title.chars().count() > LONGEST_TITLE {
        let error = format!("title is too long (maximum is {LONGEST_TITLE} characters)");
        return Err(Failure::invalid(FieldError::custom("Issue", "title", error)));
    }
    Ok(())
}

pub(super) fn check_body(body: Option<&str>) -> Result<(), Failure> {
    if body.is_some_and(|body| body.chars().count() > LONGEST_BODY) {
        let error = format!("body is too long (maximum is {LONGEST_BODY} characters)");
        return Err(Failure::invalid(FieldError::custom("Issue", "body", error)));
    }
    Ok(())
}

pub(super) async fn milestone(db: &mut SqliteConnection, repo: &Repo, number: i64) -> Result<i64, Failure> {
    let found = milestones::id_by_number(db, repo.row.id, number).await?;
    found.ok_or_else(|| Failure::invalid(FieldError::new("Issue", "milestone", "invalid").with_value(number)))
}

/// Gives an issue to people who may work on it; GitHub ignores the others in silence.
pub(super) async fn assign(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
    now: Timestamp,
) -> Result<(), Failure> {
    for user in assign_quietly(db, call, repo, row, people).await? {
        tell_assignment(db, call, repo, row, "assigned", &user, now).await?;
    }
    Ok(())
}

/// The same without a word to anybody. Gives who is new.
async fn assign_quietly(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
) -> Result<Vec<Arc<User>>, Failure> {
    let mut new = Vec::new();
    for login in people {
        let Some(user) = call.site.people.by_login(login) else { continue };
        let may = collaborators::permission(db, &repo.row, &user).await? >= Permission::Triage;
        if may && issues::assign(db, row.id, user.id).await? {
            new.push(user);
        }
    }
    Ok(new)
}

/// Takes an issue from people.
pub(super) async fn unassign(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[i64],
    now: Timestamp,
) -> Result<(), Failure> {
    for id in people {
        if issues::unassign(db, row.id, *id).await? {
            tell_assignment(db, call, repo, row, "unassigned", &call.site.user(*id), now).await?;
        }
    }
    Ok(())
}

async fn tell_assignment(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    what: &str,
    user: &User,
    now: Timestamp,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    note(db, row, actor, what, json!({"assignee": user.id, "assigner": actor.id}), now).await?;
    let more = json!({"assignee": wire::user(&call.site, user)});
    webhook::issue(&call.site, db, repo, actor, what, row.id, more).await
}

/// Writes down what somebody did to an issue.
pub(super) async fn note(
    db: &mut SqliteConnection,
    row: &IssueRow,
    actor: &User,
    event: &str,
    detail: Value,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let new = NewEvent { repo: row.repo, issue: row.id, actor: actor.id, event, commit_id: None, detail };
    events::insert(db, &new, now).await
}

/// An issue as it is shown.
pub(super) async fn json_of(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [row]).await?;
    Ok(wire::issue(&call.site, repo, row, &extras))
}

/// The issue in the path.
pub(super) async fn find(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<IssueRow, Failure> {
    let number = call.number("number")?;
    issues::by_number(db, repo.row.id, number).await?.ok_or_else(Failure::not_found)
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let Some(filter) = filter(&mut db, call, &repo).await? else {
        return Ok(page.reply(call, Vec::new(), Some(0)));
    };
    let until = call.site.clock.now().before(call.site.lags.lists);
    let rows = issues::list(&mut db, repo.row.id, &filter, until, page.limit(), page.offset()).await?;
    let total = issues::tally(&mut db, repo.row.id, &filter).await?;
    let extras = wire::Extras::of(&mut db, &repo, &rows).await?;
    let items = rows.iter().map(|row| wire::issue(&call.site, &repo, row, &extras)).collect();
    Ok(page.reply(call, items, total))
}

/// The filter of a list; nothing when it names somebody or something that is not there.
async fn filter(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<Option<Filter>, Failure> {
    let query = &call.query;
    let mut filter = Filter {
        state: state(query)?,
        sort: sort(query)?,
        ascending: query.get("direction") == Some("asc"),
        since: since(query)?,
        ..Filter::default()
    };
    for name in query.get("labels").into_iter().flat_map(|names| names.split(',')) {
        match labels::by_name(db, repo.row.id, name.trim()).await? {
            Some(label) => filter.labels.push(label.id),
            None => return Ok(None),
        }
    }
    if let Some(login) = query.get("creator") {
        let Some(user) = call.site.people.by_login(login) else { return Ok(None) };
        filter.creator = Some(user.id);
    }
    if let Some(login) = query.get("assignee").filter(|login| *login != "*") {
        let Some(user) = call.site.people.by_login(login) else { return Ok(None) };
        filter.assignee = Some(user.id);
    }
    match query.get("milestone") {
        None | Some("*") => {}
        Some("none") => filter.milestone = Some(None),
        Some(number) => {
            let number = number.parse().unwrap_or(0);
            let Some(id) = milestones::id_by_number(db, repo.row.id, number).await? else { return Ok(None) };
            filter.milestone = Some(Some(id));
        }
    }
    Ok(Some(filter))
}

/// `state` of a list, `open` by default.
pub(super) fn state(query: &Query) -> Result<Option<&'static str>, Failure> {
    match query.get("state") {
        None | Some("open") => Ok(Some("open")),
        Some("closed") => Ok(Some("closed")),
        Some("all") => Ok(None),
        Some(other) => Err(Failure::invalid(FieldError::new("Issue", "state", "invalid").with_value(other))),
    }
}

fn sort(query: &Query) -> Result<Sort, Failure> {
    match query.get("sort") {
        None | Some("created") => Ok(Sort::Created),
        Some("updated") => Ok(Sort::Updated),
        Some("comments") => Ok(Sort::Comments),
        Some(other) => Err(Failure::invalid(FieldError::new("Issue", "sort", "invalid").with_value(other))),
    }
}

/// `since` of a list.
pub(super) fn since(query: &Query) -> Result<Option<Timestamp>, Failure> {
    match query.get("since") {
        None => Ok(None),
        Some(text) => match Timestamp::parse(text) {
            Some(time) => Ok(Some(time)),
            None => Err(Failure::invalid(FieldError::new("Issue", "since", "invalid").with_value(text))),
        },
    }
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let mut db = call.site.store.read().await?;
    let row = find(&mut db, call, &repo).await?;
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &row).await?))
}

#[derive(Deserialize)]
struct Edit {
    title: Option<Value>,
    #[serde(default, deserialize_with = "nullable")]
    body: Option<Option<String>>,
    state: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    state_reason: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    milestone: Option<Option<i64>>,
    labels: Option<Vec<LabelName>>,
    assignees: Option<Vec<String>>,
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Speak).await?;
    let (actor, now) = (call.actor()?, call.site.clock.now());
    let edit: Edit = call.json()?;
    let mut tx = call.site.store.begin().await?;
    let mut row = find(&mut tx, call, &repo).await?;
    if repo.permission < Permission::Triage && row.author != actor.id {
        return Err(Failure::forbidden("Must have admin rights to Repository."));
    }
    let before = row.clone();
    if let Some(new) = &edit.title {
        row.title = title(Some(new))?;
    }
    if let Some(body) = edit.body {
        check_body(body.as_deref())?;
        row.body = body;
    }
    if let Some(state) = &edit.state {
        set_state(&mut tx, &mut row, state, edit.state_reason.flatten(), actor, now).await?;
    }
    row.updated = now;
    let sorts = repo.permission >= Permission::Triage;
    if let Some(number) = edit.milestone.filter(|_| sorts) {
        row.milestone = match number {
            Some(number) => Some(milestone(&mut tx, &repo, number).await?),
            None => None,
        };
    }
    issues::update(&mut tx, &row).await?;
    tell_edit(&mut tx, call, &repo, &before, &row, now).await?;
    if let Some(names) = edit.labels.filter(|_| sorts) {
        let names: Vec<&str> = names.iter().map(LabelName::text).collect();
        super::labels::replace(&mut tx, call, &repo, &row, &names, now).await?;
    }
    if let Some(people) = edit.assignees.filter(|_| sorts) {
        reassign(&mut tx, call, &repo, &row, &people, now).await?;
    }
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.site.commit(tx).await?;
    Ok(Reply::ok(&json))
}

/// Tells what of an issue or pull request is different now: its words, and whether it is open.
pub(super) async fn tell_edit(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    before: &IssueRow,
    row: &IssueRow,
    now: Timestamp,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    let mut changes = json!({});
    if before.title != row.title {
        let detail = json!({"rename": {"from": before.title, "to": row.title}});
        note(db, row, actor, "renamed", detail, now).await?;
        changes["title"] = json!({"from": before.title});
    }
    if before.body != row.body {
        changes["body"] = json!({"from": before.body.as_deref().unwrap_or_default()});
    }
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        webhook::issue(&call.site, db, repo, actor, "edited", row.id, json!({"changes": changes})).await?;
    }
    match (before.is_open(), row.is_open()) {
        (true, false) => webhook::issue(&call.site, db, repo, actor, "closed", row.id, json!({})).await,
        (false, true) => webhook::issue(&call.site, db, repo, actor, "reopened", row.id, json!({})).await,
        (true, true) | (false, false) => Ok(()),
    }
}

/// Makes these people, and no others, the ones who have an issue.
async fn reassign(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
    now: Timestamp,
) -> Result<(), Failure> {
    let wanted: Vec<i64> =
        people.iter().filter_map(|login| call.site.people.by_login(login)).map(|user| user.id).collect();
    let had = issues::assignees(db, &crate::store::ids([row.id])).await?;
    let gone: Vec<i64> =
        had.into_iter().map(|(_, user)| user).filter(|user| !wanted.contains(user)).collect();
    unassign(db, call, repo, row, &gone, now).await?;
    assign(db, call, repo, row, people, now).await
}

/// Opens or closes an issue or pull request, which is not written yet.
pub(super) async fn set_state(
    db: &mut SqliteConnection,
    row: &mut IssueRow,
    state: &str,
    reason: Option<String>,
    actor: &User,
    now: Timestamp,
) -> Result<(), Failure> {
    if let Some(reason) = reason.as_deref()
        && !["completed", "not_planned", "duplicate", "reopened"].contains(&reason)
    {
        return Err(Failure::invalid(FieldError::new("Issue", "state_reason", "invalid").with_value(reason)));
    }
    match (state, row.is_open()) {
        ("closed", true) => {
            row.state = "closed".to_owned();
            row.reason = if row.pull { None } else { Some(reason.unwrap_or_else(|| "completed".to_owned())) };
            (row.closed, row.closed_by) = (Some(now), Some(actor.id));
            note(db, row, actor, "closed", json!({"state_reason": row.reason}), now).await?;
        }
        ("open", false) => {
            row.state = "open".to_owned();
            row.reason = (!row.pull).then(|| "reopened".to_owned());
            (row.closed, row.closed_by) = (None, None);
            note(db, row, actor, "reopened", json!({}), now).await?;
        }
        ("open", true) => {}
        ("closed", false) => {
            if let Some(reason) = reason {
                row.reason = Some(reason);
            }
        }
        (other, _) => {
            return Err(Failure::invalid(FieldError::new("Issue", "state", "invalid").with_value(other)));
        }
    }
    Ok(())
}
