//! Issues.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::nullable;
use crate::server::{Access, Call, Failure, FieldError, Page, Query, Reply, Repo, Route, get, patch, post};
use crate::store::{
    IssueFilter, IssueRow, IssueSort, NewEvent, Permission, User, collaborators, events, issues, labels,
    milestones,
};
use crate::timestamp::Timestamp;
use crate::{webhook, wire};

pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/issues", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/issues", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/issues/{number}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/issues/{number}", |call| Box::pin(edit(call))),
];

/// GitHub's limits in characters.
const LONGEST_TITLE: usize = 256;
pub(super) const LONGEST_BODY: usize = 65_536;

/// A label in a request: its name or an object.
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
struct NewIssue {
    title: Option<Value>,
    body: Option<String>,
    assignee: Option<String>,
    milestone: Option<i64>,
    labels: Option<Vec<LabelName>>,
    assignees: Option<Vec<String>>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let actor = call.actor()?;
    let new: NewIssue = call.json()?;
    let title = title(new.title.as_ref())?;
    check_body(new.body.as_deref())?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let mut row =
        issues::insert(&mut tx, repo.row.id, false, actor.id, &title, new.body.as_deref(), now).await?;
    let (mut people, mut labels) = (Vec::new(), Vec::new());
    // GitHub ignores these fields from users without triage permission.
    if repo.permission >= Permission::Triage {
        if let Some(number) = new.milestone {
            row.milestone = Some(milestone(&mut tx, &repo, number).await?);
            issues::update(&mut tx, &row).await?;
        }
        for name in new.labels.unwrap_or_default() {
            labels.extend(super::labels::attach_unreported(&mut tx, &repo, &row, name.text()).await?);
        }
        let names = new.assignees.unwrap_or_default().into_iter().chain(new.assignee);
        people = assign_unreported(&mut tx, call, &repo, &row, &names.collect::<Vec<_>>()).await?;
    }
    // As with GitHub: `opened` has the labels and assignees already; `labeled` and `assigned` follow.
    webhook::enqueue_issue(&call.ctx, &mut tx, &repo, actor, "opened", row.id, json!({})).await?;
    for label in &labels {
        super::labels::report_label(&mut tx, call, &repo, &row, "labeled", label, now).await?;
    }
    for user in &people {
        report_assignment(&mut tx, call, &repo, &row, "assigned", user, now).await?;
    }
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&json))
}

/// Reads a title, which may be a number.
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

/// Assigns users; like GitHub it ignores those without triage permission.
pub(super) async fn assign(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
    now: Timestamp,
) -> Result<(), Failure> {
    for user in assign_unreported(db, call, repo, row, people).await? {
        report_assignment(db, call, repo, row, "assigned", &user, now).await?;
    }
    Ok(())
}

/// Like [`assign`], without events and webhooks; returns the newly assigned users.
async fn assign_unreported(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
) -> Result<Vec<Arc<User>>, Failure> {
    let mut new = Vec::new();
    for login in people {
        let Some(user) = call.ctx.users.by_login(login) else { continue };
        let may = collaborators::permission(db, &repo.row, &user).await? >= Permission::Triage;
        if may && issues::assign(db, row.id, user.id).await? {
            new.push(user);
        }
    }
    Ok(new)
}

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
            report_assignment(db, call, repo, row, "unassigned", &call.ctx.user(*id), now).await?;
        }
    }
    Ok(())
}

async fn report_assignment(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    what: &str,
    user: &User,
    now: Timestamp,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    record_event(db, row, actor, what, json!({"assignee": user.id, "assigner": actor.id}), now).await?;
    let more = json!({"assignee": wire::user(&call.ctx, user)});
    webhook::enqueue_issue(&call.ctx, db, repo, actor, what, row.id, more).await
}

/// Stores an issue event.
pub(super) async fn record_event(
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

pub(super) async fn json_of(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [row]).await?;
    Ok(wire::issue(&call.ctx, repo, row, &extras))
}

/// The issue in the path.
pub(super) async fn find(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<IssueRow, Failure> {
    let number = call.number("number")?;
    issues::by_number(db, repo.row.id, number).await?.ok_or_else(Failure::not_found)
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let Some(filter) = filter(&mut db, call, &repo).await? else {
        return Ok(page.reply(call, Vec::new(), Some(0)));
    };
    let until = call.ctx.clock.now().before(call.ctx.lags.lists);
    let rows = issues::list(&mut db, repo.row.id, &filter, until, page.limit(), page.offset()).await?;
    let total = issues::tally(&mut db, repo.row.id, &filter).await?;
    let extras = wire::Extras::of(&mut db, &repo, &rows).await?;
    let items = rows.iter().map(|row| wire::issue(&call.ctx, &repo, row, &extras)).collect();
    Ok(page.reply(call, items, total))
}

/// The filter of a list; `None` if it names an unknown user, label or milestone, so nothing can match.
async fn filter(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<Option<IssueFilter>, Failure> {
    let query = &call.query;
    let mut filter = IssueFilter {
        state: state(query)?,
        sort: sort(query)?,
        ascending: query.get("direction") == Some("asc"),
        since: since(query)?,
        ..IssueFilter::default()
    };
    for name in query.get("labels").into_iter().flat_map(|names| names.split(',')) {
        match labels::by_name(db, repo.row.id, name.trim()).await? {
            Some(label) => filter.labels.push(label.id),
            None => return Ok(None),
        }
    }
    if let Some(login) = query.get("creator") {
        let Some(user) = call.ctx.users.by_login(login) else { return Ok(None) };
        filter.creator = Some(user.id);
    }
    if let Some(login) = query.get("assignee").filter(|login| *login != "*") {
        let Some(user) = call.ctx.users.by_login(login) else { return Ok(None) };
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

/// The `state` parameter of a list, `open` by default.
pub(super) fn state(query: &Query) -> Result<Option<&'static str>, Failure> {
    match query.get("state") {
        None | Some("open") => Ok(Some("open")),
        Some("closed") => Ok(Some("closed")),
        Some("all") => Ok(None),
        Some(other) => Err(Failure::invalid(FieldError::new("Issue", "state", "invalid").with_value(other))),
    }
}

fn sort(query: &Query) -> Result<IssueSort, Failure> {
    match query.get("sort") {
        None | Some("created") => Ok(IssueSort::Created),
        Some("updated") => Ok(IssueSort::Updated),
        Some("comments") => Ok(IssueSort::Comments),
        Some(other) => Err(Failure::invalid(FieldError::new("Issue", "sort", "invalid").with_value(other))),
    }
}

/// The `since` parameter of a list.
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
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find(&mut db, call, &repo).await?;
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &row).await?))
}

#[derive(Deserialize)]
struct IssueEdit {
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
    let repo = call.repo(Access::Comment).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let edit: IssueEdit = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
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
    report_edit(&mut tx, call, &repo, &before, &row, now).await?;
    if let Some(names) = edit.labels.filter(|_| sorts) {
        let names: Vec<&str> = names.iter().map(LabelName::text).collect();
        super::labels::replace(&mut tx, call, &repo, &row, &names, now).await?;
    }
    if let Some(people) = edit.assignees.filter(|_| sorts) {
        reassign(&mut tx, call, &repo, &row, &people, now).await?;
    }
    let json = json_of(&mut tx, call, &repo, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

/// Records the changes of title, body and state, and enqueues their webhooks.
pub(super) async fn report_edit(
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
        record_event(db, row, actor, "renamed", detail, now).await?;
        changes["title"] = json!({"from": before.title});
    }
    if before.body != row.body {
        changes["body"] = json!({"from": before.body.as_deref().unwrap_or_default()});
    }
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        webhook::enqueue_issue(&call.ctx, db, repo, actor, "edited", row.id, json!({"changes": changes}))
            .await?;
    }
    match (before.is_open(), row.is_open()) {
        (true, false) => {
            webhook::enqueue_issue(&call.ctx, db, repo, actor, "closed", row.id, json!({})).await
        }
        (false, true) => {
            webhook::enqueue_issue(&call.ctx, db, repo, actor, "reopened", row.id, json!({})).await
        }
        (true, true) | (false, false) => Ok(()),
    }
}

/// Replaces the assignees.
async fn reassign(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &IssueRow,
    people: &[String],
    now: Timestamp,
) -> Result<(), Failure> {
    let wanted: Vec<i64> =
        people.iter().filter_map(|login| call.ctx.users.by_login(login)).map(|user| user.id).collect();
    let had = issues::assignees(db, &crate::store::ids([row.id])).await?;
    let gone: Vec<i64> =
        had.into_iter().map(|(_, user)| user).filter(|user| !wanted.contains(user)).collect();
    unassign(db, call, repo, row, &gone, now).await?;
    assign(db, call, repo, row, people, now).await
}

/// Sets the state in the row, without storing the row, and stores the event.
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
            record_event(db, row, actor, "closed", json!({"state_reason": row.reason}), now).await?;
        }
        ("open", false) => {
            row.state = "open".to_owned();
            row.reason = (!row.pull).then(|| "reopened".to_owned());
            (row.closed, row.closed_by) = (None, None);
            record_event(db, row, actor, "reopened", json!({}), now).await?;
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
