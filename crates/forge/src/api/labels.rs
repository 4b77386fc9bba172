//! Labels of repositories and issues.

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::issues::{LabelName, find, record_event};
use crate::server::{
    Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, patch, post, put,
};
use crate::store::{IssueRow, LabelRow, ids, issues, labels};
use crate::timestamp::Timestamp;
use crate::{webhook, wire};

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/labels", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/labels", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(edit(call))),
    delete("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(remove(call))),
    get("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(of_issue(call))),
    post("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(add_to_issue(call))),
    put("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(replace_on_issue(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(clear_issue(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/labels/{name*}", |call| Box::pin(remove_from_issue(call))),
];

/// The color of a label without one.
const COLOR: &str = "ededed";
const LONGEST_NAME: usize = 50;
const LONGEST_DESCRIPTION: usize = 100;

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let rows = labels::list(&mut db, repo.row.id, page.limit(), page.offset()).await?;
    let items = rows.iter().map(|row| wire::label(&call.ctx, &repo, row)).collect();
    Ok(page.reply(call, items, None))
}

#[derive(Deserialize)]
struct NewLabel {
    name: Option<String>,
    color: Option<String>,
    description: Option<String>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let new: NewLabel = call.json()?;
    let name = new.name.as_deref().ok_or_else(|| Failure::missing("Label", "name"))?;
    check_name(name)?;
    let color = color(new.color.as_deref().unwrap_or(COLOR))?;
    check_description(new.description.as_deref())?;
    let mut tx = call.ctx.store.begin().await?;
    let row = labels::insert(&mut tx, repo.row.id, name.trim(), &color, new.description.as_deref()).await?;
    let row = row.ok_or_else(already)?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&wire::label(&call.ctx, &repo, &row)))
}

fn already() -> Failure {
    Failure::invalid(FieldError::new("Label", "name", "already_exists"))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let name = name.trim();
    let valid = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.contains(|c: char| c.is_control() || c == ',');
    if valid { Ok(()) } else { Err(Failure::invalid(FieldError::new("Label", "name", "invalid"))) }
}

fn check_description(text: Option<&str>) -> Result<(), Failure> {
    let valid = text.is_none_or(|text| text.chars().count() <= LONGEST_DESCRIPTION);
    if valid { Ok(()) } else { Err(Failure::invalid(FieldError::new("Label", "description", "invalid"))) }
}

fn color(text: &str) -> Result<String, Failure> {
    let text = text.trim_start_matches('#');
    let valid = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if valid {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Failure::invalid(FieldError::new("Label", "color", "invalid")))
    }
}

async fn find_label(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<LabelRow, Failure> {
    labels::by_name(db, repo.row.id, call.params.get("name")).await?.ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_label(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::label(&call.ctx, &repo, &row)))
}

#[derive(Deserialize)]
struct LabelEdit {
    new_name: Option<String>,
    color: Option<String>,
    description: Option<String>,
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let edit: LabelEdit = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let mut row = find_label(&mut tx, call, &repo).await?;
    if let Some(name) = edit.new_name {
        check_name(&name)?;
        row.name = name.trim().to_owned();
    }
    if let Some(new) = edit.color {
        row.color = color(&new)?;
    }
    if let Some(text) = edit.description {
        check_description(Some(&text))?;
        row.description = Some(text);
    }
    if !labels::update(&mut tx, &row).await? {
        return Err(already());
    }
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&wire::label(&call.ctx, &repo, &row)))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_label(&mut tx, call, &repo).await?;
    labels::remove(&mut tx, row.id).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}

/// Adds a label to an issue, and creates the label if it is missing.
pub(super) async fn attach(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    name: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    match attach_unreported(db, repo, issue, name).await? {
        Some(row) => report_label(db, call, repo, issue, "labeled", &row, now).await,
        None => Ok(()),
    }
}

/// Like [`attach`], without event and webhook; `None` if the issue has the label already.
pub(super) async fn attach_unreported(
    db: &mut SqliteConnection,
    repo: &Repo,
    issue: &IssueRow,
    name: &str,
) -> Result<Option<LabelRow>, Failure> {
    check_name(name)?;
    let row = match labels::by_name(db, repo.row.id, name.trim()).await? {
        Some(row) => row,
        None => labels::insert(db, repo.row.id, name.trim(), COLOR, None).await?.ok_or_else(already)?,
    };
    Ok(labels::attach(db, issue.id, issue.is_open(), row.id).await?.then_some(row))
}

/// Removes a label from an issue; false if the issue does not have it.
async fn detach(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    row: &LabelRow,
    now: Timestamp,
) -> Result<bool, Failure> {
    let gone = labels::detach(db, issue.id, row.id).await?;
    if gone {
        report_label(db, call, repo, issue, "unlabeled", row, now).await?;
    }
    Ok(gone)
}

/// Records that an issue got or lost a label, and enqueues the webhook.
pub(super) async fn report_label(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    what: &str,
    row: &LabelRow,
    now: Timestamp,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    record_event(db, issue, actor, what, json!({"label": {"name": row.name, "color": row.color}}), now)
        .await?;
    let more = json!({"label": wire::label(&call.ctx, repo, row)});
    webhook::enqueue_issue(&call.ctx, db, repo, actor, what, issue.id, more).await
}

/// Replaces the labels of an issue.
pub(super) async fn replace(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    names: &[&str],
    now: Timestamp,
) -> Result<(), Failure> {
    for row in labels::of_issues(db, &ids([issue.id])).await? {
        let row = row.label;
        if !names.iter().any(|name| name.eq_ignore_ascii_case(&row.name)) {
            detach(db, call, repo, issue, &row, now).await?;
        }
    }
    for name in names {
        attach(db, call, repo, issue, name, now).await?;
    }
    Ok(())
}

async fn of_issue(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let issue = find(&mut db, call, &repo).await?;
    let items = labels_json(&mut db, call, &repo, &issue).await?;
    Ok(page.reply_all(call, items, |item| item))
}

async fn labels_json(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
) -> Result<Vec<Value>, Failure> {
    let rows = labels::of_issues(db, &ids([issue.id])).await?;
    Ok(rows.into_iter().map(|row| wire::label(&call.ctx, repo, &row.label)).collect())
}

/// `{"labels": […]}`, or the list alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum LabelNames {
    Object { labels: Option<Vec<LabelName>> },
    List(Vec<LabelName>),
}

impl LabelNames {
    fn list(self) -> Vec<LabelName> {
        match self {
            LabelNames::Object { labels } => labels.unwrap_or_default(),
            LabelNames::List(labels) => labels,
        }
    }
}

async fn add_to_issue(call: &Call) -> Result<Reply, Failure> {
    let names = call.json::<LabelNames>()?.list();
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    for name in &names {
        attach(&mut tx, call, &repo, &issue, name.text(), now).await?;
    }
    finish(call, tx, &repo, &issue, now).await
}

async fn replace_on_issue(call: &Call) -> Result<Reply, Failure> {
    let names = call.json::<LabelNames>()?.list();
    let names: Vec<&str> = names.iter().map(LabelName::text).collect();
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    replace(&mut tx, call, &repo, &issue, &names, now).await?;
    finish(call, tx, &repo, &issue, now).await
}

async fn clear_issue(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    replace(&mut tx, call, &repo, &issue, &[], now).await?;
    finish(call, tx, &repo, &issue, now).await?;
    Ok(Reply::no_content())
}

async fn remove_from_issue(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    let missing = || Failure { message: "Label does not exist".to_owned(), ..Failure::not_found() };
    let row = labels::by_name(&mut tx, repo.row.id, call.params.get("name")).await?.ok_or_else(missing)?;
    if !detach(&mut tx, call, &repo, &issue, &row, now).await? {
        return Err(missing());
    }
    finish(call, tx, &repo, &issue, now).await
}

/// Commits the transaction and replies with the labels of the issue.
async fn finish(
    call: &Call,
    mut tx: sqlx::Transaction<'static, sqlx::Sqlite>,
    repo: &Repo,
    issue: &IssueRow,
    now: Timestamp,
) -> Result<Reply, Failure> {
    issues::touch(&mut tx, issue.id, now).await?;
    let json = labels_json(&mut tx, call, repo, issue).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}
