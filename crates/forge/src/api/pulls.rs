//! Pull requests.

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::issues::{check_body, check_title, report_edit, set_state, state};
use super::mergeability::facts;
use super::nullable;
use crate::git::Repository;
use crate::name::{RefName, Sha};
use crate::server::{Access, Call, Failure, FieldError, Media, Page, Reply, Repo, Route, get, patch, post};
use crate::store::{IssueFilter, Permission, Pull, PullFilter, PullRow, issues, pulls};
use crate::timestamp::Timestamp;
use crate::webhook::{self, Event};
use crate::{ci, wire};

pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/pulls", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/pulls", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/pulls/{number}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/pulls/{number}", |call| Box::pin(edit(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/commits", |call| Box::pin(commits(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/files", |call| Box::pin(files(call))),
];

/// GitHub's limit for listed commits.
const MOST_COMMITS: usize = 250;

#[derive(Deserialize)]
struct NewPull {
    title: Option<String>,
    head: Option<String>,
    base: Option<String>,
    body: Option<String>,
    draft: Option<bool>,
}

fn invalid(field: &'static str) -> Failure {
    Failure::invalid(FieldError::new("PullRequest", field, "invalid"))
}

fn custom(message: String) -> Failure {
    Failure::invalid(FieldError::custom("PullRequest", "head", message))
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let actor = call.actor()?;
    let new: NewPull = call.json()?;
    let title = new.title.ok_or_else(|| Failure::missing("PullRequest", "title"))?;
    check_title(title.trim())?;
    check_body(new.body.as_deref())?;
    let head = new.head.ok_or_else(|| Failure::missing("PullRequest", "head"))?;
    let base = new.base.ok_or_else(|| Failure::missing("PullRequest", "base"))?;
    let git = call.ctx.repository(repo.row.id);
    // The lock keeps the refs from moving before the row exists; reconciliation would miss that move.
    let _lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let (head, head_sha) = branch(&git, &repo, &head).await?.ok_or_else(|| invalid("head"))?;
    let (base, base_sha) = branch(&git, &repo, &base).await?.ok_or_else(|| invalid("base"))?;
    if git.count(&head_sha, &base_sha).await? == 0 {
        return Err(custom(format!("No commits between {base} and {head}")));
    }
    let commit = match ci::has_command(&call.ctx, &git, &head_sha).await? {
        true => git.commit(&head_sha).await?,
        false => None,
    };
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let same = PullFilter {
        state: Some("open"),
        head: Some(head.clone()),
        base: Some(base.clone()),
        ..PullFilter::default()
    };
    if !pulls::list(&mut tx, repo.row.id, &same, Timestamp(i64::MAX), 1, 0).await?.is_empty() {
        return Err(custom(format!("A pull request already exists for {}:{head}.", repo.owner.login)));
    }
    let issue =
        issues::insert(&mut tx, repo.row.id, true, actor.id, title.trim(), new.body.as_deref(), now).await?;
    let row = PullRow {
        issue: issue.id,
        repo: repo.row.id,
        head_ref: head,
        head_sha: head_sha.to_string(),
        base_ref: base,
        base_sha: base_sha.to_string(),
        base_told: base_sha.to_string(),
        draft: new.draft.unwrap_or(false),
        merged: None,
        merged_by: None,
        merge_commit: None,
        changed: now,
    };
    pulls::insert(&mut tx, &row).await?;
    let pull = Pull { issue, row };
    if let Some(found) = &commit {
        ci::enqueue(&call.ctx, &mut tx, &repo, actor, "pull_request", &pull.row.head_ref, found.as_ci())
            .await?;
    }
    webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Pull("opened", &pull, json!({}))).await?;
    // The ref comes first: a ref without a row is harmless, a row whose head is gone is not.
    git.write_pull_ref(pull.issue.number, &head_sha).await?;
    call.ctx.commit(tx).await?;
    let mut db = call.ctx.store.read().await?;
    Ok(Reply::created(&json_of(&mut db, call, &repo, &pull).await?))
}

/// Resolves a branch of a request, `name` or `owner:name`.
async fn branch(git: &Repository<'_>, repo: &Repo, text: &str) -> Result<Option<(String, Sha)>, Failure> {
    let name = match text.split_once(':') {
        Some((owner, name)) if owner.eq_ignore_ascii_case(&repo.owner.login) => name,
        Some(_) => return Ok(None),
        None => text,
    };
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    let Some(full) = RefName::branch(name) else { return Ok(None) };
    Ok(git.read_ref(&full).await?.map(|sha| (name.to_owned(), sha)))
}

/// The JSON of a single pull request.
pub(super) async fn json_of(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    pull: &Pull,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
    let facts = facts(&call.ctx, db, repo, pull).await?;
    Ok(wire::pull(&call.ctx, repo, pull, &extras, &facts))
}

/// The JSON of a pull request in a list.
pub(super) async fn simple_json(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    pull: &Pull,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
    Ok(wire::pull_simple(&call.ctx, repo, pull, &extras))
}

/// The pull request in the path.
pub(super) async fn find(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<Pull, Failure> {
    let number = call.number("number")?;
    pulls::by_number(db, repo.row.id, number).await?.ok_or_else(Failure::not_found)
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let query = &call.query;
    let by_update = match query.get("sort") {
        None | Some("created") => false,
        Some("updated" | "popularity" | "long-running") => true,
        Some(_) => return Err(invalid("sort")),
    };
    // GitHub's default: newest first by creation, oldest first by update.
    let ascending = match query.get("direction") {
        Some(direction) => direction == "asc",
        None => by_update,
    };
    let head = query.get("head").map(|head| head.split_once(':').map_or(head, |(_, name)| name).to_owned());
    let foreign = query.get("head").and_then(|head| head.split_once(':'));
    if foreign.is_some_and(|(owner, _)| !owner.eq_ignore_ascii_case(&repo.owner.login)) {
        return Ok(page.reply(call, Vec::new(), Some(0)));
    }
    let filter = PullFilter {
        state: state(query)?,
        head,
        base: query.get("base").map(str::to_owned),
        by_update,
        ascending,
        ..PullFilter::default()
    };
    let until = call.ctx.clock.now().before(call.ctx.lags.lists);
    let mut db = call.ctx.store.read().await?;
    let found = pulls::list(&mut db, repo.row.id, &filter, until, page.limit(), page.offset()).await?;
    let total = if filter.head.is_none() && filter.base.is_none() {
        let same = IssueFilter { pull: Some(true), state: filter.state, ..IssueFilter::default() };
        issues::tally(&mut db, repo.row.id, &same).await?
    } else {
        None
    };
    let extras = wire::Extras::of(&mut db, &repo, found.iter().map(|pull| &pull.issue)).await?;
    let items = found.iter().map(|pull| wire::pull_simple(&call.ctx, &repo, pull, &extras)).collect();
    Ok(page.reply(call, items, total))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    let media = call.media();
    if matches!(media, Media::Diff | Media::Patch) {
        let git = call.ctx.repository(repo.row.id);
        let (from, head) = span(&git, &pull).await?;
        return match media {
            Media::Patch => super::commits::patch(&git, Some(&from), &head).await,
            Media::Diff | Media::Json | Media::Raw | Media::Sha => {
                super::commits::diff(&git, &from, &head).await
            }
        };
    }
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &pull).await?))
}

#[derive(Deserialize)]
struct PullEdit {
    title: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    body: Option<Option<String>>,
    state: Option<String>,
    base: Option<String>,
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let actor = call.actor()?;
    let edit: PullEdit = call.json()?;
    let git = call.ctx.repository(repo.row.id);
    let _lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let base = match &edit.base {
        Some(base) => Some(branch(&git, &repo, base).await?.ok_or_else(|| invalid("base"))?),
        None => None,
    };
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let mut pull = find(&mut tx, call, &repo).await?;
    let before = pull.issue.clone();
    if repo.permission < Permission::Triage && pull.issue.author != actor.id {
        return Err(Failure::forbidden("Must have admin rights to Repository."));
    }
    if let Some(title) = edit.title {
        check_title(title.trim())?;
        pull.issue.title = title.trim().to_owned();
    }
    if let Some(body) = edit.body {
        check_body(body.as_deref())?;
        pull.issue.body = body;
    }
    if let Some((name, sha)) = base {
        (pull.row.base_ref, pull.row.base_sha, pull.row.changed) = (name, sha.to_string(), now);
        pull.row.base_told = sha.to_string();
    }
    if let Some(state) = &edit.state {
        if state == "open" && !pull.issue.is_open() {
            reopen(&git, &repo, &mut pull, now).await?;
        }
        set_state(&mut tx, &mut pull.issue, state, None, actor, now).await?;
    }
    pull.issue.updated = now;
    issues::update(&mut tx, &pull.issue).await?;
    pulls::update(&mut tx, &pull.row).await?;
    report_edit(&mut tx, call, &repo, &before, &pull.issue, now).await?;
    call.ctx.commit(tx).await?;
    let mut db = call.ctx.store.read().await?;
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &pull).await?))
}

/// Reopens a pull request if both branches exist, with their current tips.
async fn reopen(git: &Repository<'_>, repo: &Repo, pull: &mut Pull, now: Timestamp) -> Result<(), Failure> {
    if pull.row.merged.is_some() {
        return Err(Failure::invalid(FieldError::custom(
            "PullRequest",
            "state",
            "cannot be reopened: it is merged",
        )));
    }
    let gone = |what: &str| {
        let error = format!("state cannot be changed. The {what} branch has been deleted.");
        Failure::invalid(FieldError::custom("PullRequest", "state", error))
    };
    let (_, head) = branch(git, repo, &pull.row.head_ref.clone()).await?.ok_or_else(|| gone("head"))?;
    let (_, base) = branch(git, repo, &pull.row.base_ref.clone()).await?.ok_or_else(|| gone("base"))?;
    git.write_pull_ref(pull.issue.number, &head).await?;
    (pull.row.head_sha, pull.row.base_sha, pull.row.changed) = (head.to_string(), base.to_string(), now);
    pull.row.base_told = base.to_string();
    Ok(())
}

/// The base and the head of a pull request.
pub(super) fn sides(pull: &Pull) -> Result<(Sha, Sha), Failure> {
    match (Sha::parse(&pull.row.base_sha), Sha::parse(&pull.row.head_sha)) {
        (Some(base), Some(head)) => Ok((base, head)),
        _ => Err(Failure::internal(&"a pull request without commits")),
    }
}

/// The merge base and the head of a pull request.
pub(super) async fn span(git: &Repository<'_>, pull: &Pull) -> Result<(Sha, Sha), Failure> {
    let (base, head) = sides(pull)?;
    Ok((git.merge_base(&base, &head).await?.unwrap_or(base), head))
}

async fn commits(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    drop(db);
    let git = call.ctx.repository(repo.row.id);
    let (from, head) = span(&git, &pull).await?;
    let mut found = git.log(&head, Some(&from), MOST_COMMITS).await?;
    found.reverse();
    Ok(page.reply_all(call, found, |commit| wire::commit(&call.ctx, &repo, &commit)))
}

async fn files(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    drop(db);
    let git = call.ctx.repository(repo.row.id);
    let (from, head) = span(&git, &pull).await?;
    let found = git.changes(&from, &head).await?;
    Ok(page.reply_all(call, found, |file| wire::file_change(&call.ctx, &repo, &file, &head)))
}
