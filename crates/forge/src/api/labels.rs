//! Labels of repositories and of issues.

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::issues::{LabelName, find, note};
use crate::server::{
    Call, Failure, FieldError, Need, Page, Reply, Repo, Route, delete, get, patch, post, put,
};
use crate::store::{IssueRow, LabelRow, ids, issues, labels};
use crate::timestamp::Timestamp;
use crate::{webhook, wire};

/// Routes about labels.
pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/labels", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/labels", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(edit(call))),
    delete("/repos/{owner}/{repo}/labels/{name*}", |call| Box::pin(remove(call))),
    get("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(of_issue(call))),
    post("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(add(call))),
    put("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(set(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/labels", |call| Box::pin(clear(call))),
    delete("/repos/{owner}/{repo}/issues/{number}/labels/{name*}", |call| Box::pin(take(call))),
];

/// The colour of a label that nobody gave one.
const COLOR: &str = "ededed";
const LONGEST_NAME: usize = 50;
const LONGEST_DESCRIPTION: usize = 100;

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let rows = labels::list(&mut db, repo.row.id, page.limit(), page.offset()).await?;
    let items = rows.iter().map(|row| wire::label(&call.site, &repo, row)).collect();
    Ok(page.reply(call, items, None))
}

#[derive(Deserialize)]
struct New {
    name: Option<String>,
    color: Option<String>,
    description: Option<String>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let new: New = call.json()?;
    let name = new.name.as_deref().ok_or_else(|| Failure::missing("Label", "name"))?;
    check_name(name)?;
    let color = color(new.color.as_deref().unwrap_or(COLOR))?;
    check_description(new.description.as_deref())?;
    let mut tx = call.site.store.begin().await?;
    let row = labels::insert(&mut tx, repo.row.id, name.trim(), &color, new.description.as_deref()).await?;
    let row = row.ok_or_else(already)?;
    call.site.commit(tx).await?;
    Ok(Reply::created(&wire::label(&call.site, &repo, &row)))
}

fn already() -> Failure {
    Failure::invalid(FieldError::new("Label", "name", "already_exists"))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let name = name.trim();
    let sound = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.contains(|c: char| c.is_control() || c == ',');
    if sound { Ok(()) } else { Err(Failure::invalid(FieldError::new("Label", "name", "invalid"))) }
}

fn check_description(text: Option<&str>) -> Result<(), Failure> {
    let sound = text.is_none_or(|text| text.chars().count() <= LONGEST_DESCRIPTION);
    if sound { Ok(()) } else { Err(Failure::invalid(FieldError::new("Label", "description", "invalid"))) }
}

fn color(text: &str) -> Result<String, Failure> {
    let text = text.trim_start_matches('#');
    let sound = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if sound {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Failure::invalid(FieldError::new("Label", "color", "invalid")))
    }
}

async fn named(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<LabelRow, Failure> {
    labels::by_name(db, repo.row.id, call.params.get("name")).await?.ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let mut db = call.site.store.read().await?;
    let row = named(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::label(&call.site, &repo, &row)))
}

#[derive(Deserialize)]
struct Edit {
    new_name: Option<String>,
    color: Option<String>,
    description: Option<String>,
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let edit: Edit = call.json()?;
    let mut tx = call.site.store.begin().await?;
    let mut row = named(&mut tx, call, &repo).await?;
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
    call.site.commit(tx).await?;
    Ok(Reply::ok(&wire::label(&call.site, &repo, &row)))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let mut tx = call.site.store.begin().await?;
    let row = named(&mut tx, call, &repo).await?;
    labels::remove(&mut tx, row.id).await?;
    call.site.commit(tx).await?;
    Ok(Reply::no_content())
}

/// Puts a label on an issue, and makes it if nobody has.
pub(super) async fn attach(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    name: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    match put_on(db, repo, issue, name).await? {
        Some(row) => tell(db, call, repo, issue, "labeled", &row, now).await,
        None => Ok(()),
    }
}

/// The same without a word to anybody; nothing if it was there.
pub(super) async fn put_on(
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
    Ok(labels::attach(db, issue, row.id).await?.then_some(row))
}

/// Takes a label off an issue; false if it was not there.
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
        tell(db, call, repo, issue, "unlabeled", row, now).await?;
    }
    Ok(gone)
}

/// Tells that an issue got a label, or lost one.
pub(super) async fn tell(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    what: &str,
    row: &LabelRow,
    now: Timestamp,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    note(db, issue, actor, what, json!({"label": {"name": row.name, "color": row.color}}), now).await?;
    let more = json!({"label": wire::label(&call.site, repo, row)});
    webhook::issue(&call.site, db, repo, actor, what, issue.id, more).await
}

/// Gives an issue these labels and no others.
pub(super) async fn replace(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
    names: &[&str],
    now: Timestamp,
) -> Result<(), Failure> {
    for row in labels::of_issues(db, &ids([issue.id])).await? {
        let row = row.label();
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
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let issue = find(&mut db, call, &repo).await?;
    let items = shown(&mut db, call, &repo, &issue).await?;
    let total = i64::try_from(items.len()).ok();
    Ok(page.reply(call, page.cut(items), total))
}

async fn shown(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    issue: &IssueRow,
) -> Result<Vec<Value>, Failure> {
    let rows = labels::of_issues(db, &ids([issue.id])).await?;
    Ok(rows.into_iter().map(|row| wire::label(&call.site, repo, &row.label())).collect())
}

/// `{"labels": […]}`, or the list alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Object { labels: Option<Vec<LabelName>> },
    List(Vec<LabelName>),
}

impl Names {
    fn list(self) -> Vec<LabelName> {
        match self {
            Names::Object { labels } => labels.unwrap_or_default(),
            Names::List(labels) => labels,
        }
    }
}

async fn add(call: &Call) -> Result<Reply, Failure> {
    let names = call.json::<Names>()?.list();
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let mut tx = call.site.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    for name in &names {
        attach(&mut tx, call, &repo, &issue, name.text(), now).await?;
    }
    finish(call, tx, &repo, &issue, now).await
}

async fn set(call: &Call) -> Result<Reply, Failure> {
    let names = call.json::<Names>()?.list();
    let names: Vec<&str> = names.iter().map(LabelName::text).collect();
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let mut tx = call.site.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    replace(&mut tx, call, &repo, &issue, &names, now).await?;
    finish(call, tx, &repo, &issue, now).await
}

async fn clear(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let mut tx = call.site.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    replace(&mut tx, call, &repo, &issue, &[], now).await?;
    finish(call, tx, &repo, &issue, now).await?;
    Ok(Reply::no_content())
}

async fn take(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Triage).await?;
    let now = call.site.clock.now();
    let mut tx = call.site.store.begin().await?;
    let issue = find(&mut tx, call, &repo).await?;
    let missing = || Failure { message: "Label does not exist".to_owned(), ..Failure::not_found() };
    let row = labels::by_name(&mut tx, repo.row.id, call.params.get("name")).await?.ok_or_else(missing)?;
    if !detach(&mut tx, call, &repo, &issue, &row, now).await? {
        return Err(missing());
    }
    finish(call, tx, &repo, &issue, now).await
}

/// Commits, and shows the labels that an issue has now.
async fn finish(
    call: &Call,
    mut tx: sqlx::Transaction<'static, sqlx::Sqlite>,
    repo: &Repo,
    issue: &IssueRow,
    now: Timestamp,
) -> Result<Reply, Failure> {
    issues::touch(&mut tx, issue.id, now).await?;
    let shown = shown(&mut tx, call, repo, issue).await?;
    call.site.commit(tx).await?;
    Ok(Reply::ok(&shown))
}
