//! Check runs and check suites.

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::revision::commit;
use crate::ci;
use crate::name::Sha;
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, get, patch, post};
use crate::store::{CheckRow, SuiteRow, checks, pulls, runs};
use crate::timestamp::Timestamp;
use crate::webhook::{self, Event};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/check-runs", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/check-runs/{id}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/check-runs/{id}", |call| Box::pin(edit(call))),
    get("/repos/{owner}/{repo}/check-runs/{id}/annotations", |call| Box::pin(annotations(call))),
    post("/repos/{owner}/{repo}/check-runs/{id}/rerequest", |call| Box::pin(rerequest(call))),
    get("/repos/{owner}/{repo}/check-suites/{suite}", |call| Box::pin(suite(call))),
    get("/repos/{owner}/{repo}/check-suites/{suite}/check-runs", |call| Box::pin(of_suite(call))),
    post("/repos/{owner}/{repo}/check-suites/{suite}/rerequest", |call| Box::pin(rerequest_suite(call))),
    get("/repos/{owner}/{repo}/commits/{ref*}/check-runs", |call| Box::pin(of_commit(call))),
    get("/repos/{owner}/{repo}/commits/{ref*}/check-suites", |call| Box::pin(suites(call))),
];

const CONCLUSIONS: [&str; 8] =
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"];

const LONGEST_NAME: usize = 255;
const LONGEST_TEXT: usize = 65_535;

#[derive(Deserialize)]
struct CheckRunRequest {
    name: Option<String>,
    head_sha: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    external_id: Option<String>,
    details_url: Option<String>,
    started_at: Option<String>,
    completed_at: Option<String>,
    output: Option<CheckOutput>,
}

#[derive(Deserialize)]
struct CheckOutput {
    title: Option<String>,
    summary: Option<String>,
    text: Option<String>,
}

fn invalid(field: &'static str) -> Failure {
    Failure::invalid(FieldError::new("CheckRun", field, "invalid"))
}

fn time(text: Option<&str>, field: &'static str) -> Result<Option<Timestamp>, Failure> {
    text.map(|text| Timestamp::parse(text).ok_or_else(|| invalid(field))).transpose()
}

/// Applies a request to a row.
fn apply(row: &mut CheckRow, request: CheckRunRequest, now: Timestamp) -> Result<(), Failure> {
    if let Some(name) = request.name {
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            return Err(invalid("name"));
        }
        row.name = name;
    }
    if let Some(status) = request.status {
        if !["queued", "in_progress", "completed"].contains(&status.as_str()) {
            return Err(invalid("status"));
        }
        row.status = status;
    }
    if let Some(conclusion) = request.conclusion {
        if !CONCLUSIONS.contains(&conclusion.as_str()) {
            return Err(invalid("conclusion"));
        }
        row.conclusion = Some(conclusion);
        row.status = "completed".to_owned();
    }
    row.started = time(request.started_at.as_deref(), "started_at")?.or(row.started);
    row.completed = time(request.completed_at.as_deref(), "completed_at")?.or(row.completed);
    row.external_id = request.external_id.or(row.external_id.take());
    row.details_url = request.details_url.or(row.details_url.take());
    if let Some(output) = request.output {
        let texts = [&output.title, &output.summary, &output.text];
        if texts.iter().any(|text| text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_TEXT)) {
            return Err(invalid("output"));
        }
        (row.title, row.summary, row.body) = (output.title, output.summary, output.text);
    }
    if row.status == "completed" {
        if row.conclusion.is_none() {
            return Err(Failure::missing("CheckRun", "conclusion"));
        }
        row.completed = row.completed.or(Some(now));
    } else {
        (row.conclusion, row.completed) = (None, None);
    }
    Ok(())
}

/// GitHub wants an app for this; here every user with write access counts as one.
async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let request: CheckRunRequest = call.json()?;
    if request.name.is_none() {
        return Err(Failure::missing("CheckRun", "name"));
    }
    let sha = request.head_sha.as_deref().ok_or_else(|| Failure::missing("CheckRun", "head_sha"))?;
    let git = call.ctx.repository(repo.row.id);
    let sha = match Sha::parse(sha) {
        Some(sha) if git.kind(&sha).await?.as_deref() == Some("commit") => sha,
        Some(_) | None => return Err(Failure::unprocessable(format!("No commit found for SHA: {sha}"))),
    };
    let mut tx = call.ctx.store.begin().await?;
    let about = pulls::open_by_head_sha(&mut tx, repo.row.id, sha.as_str()).await?;
    let branch = about.first().map(|pull| pull.row.head_ref.clone());
    let suite =
        checks::ensure_suite(&mut tx, repo.row.id, sha.as_str(), branch.as_deref(), &actor.login, now, now)
            .await?;
    let mut row = CheckRow::queued(repo.row.id, suite.id, sha.as_str(), "", now);
    apply(&mut row, request, now)?;
    let row = checks::insert(&mut tx, &row).await?;
    report_check(&mut tx, call, &repo, &suite, &row, "created").await?;
    let json = wire::check_run(&call.ctx, &repo, &row, &suite.app, &about);
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&json))
}

/// Enqueues the webhooks of a check run, and of its suite when that is complete.
async fn report_check(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    suite: &SuiteRow,
    row: &CheckRow,
    action: &str,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    webhook::enqueue(&call.ctx, db, repo, actor, Event::CheckRun(action, row)).await?;
    if row.status == "completed" {
        if action != "completed" {
            webhook::enqueue(&call.ctx, db, repo, actor, Event::CheckRun("completed", row)).await?;
        }
        if suite_state(db, suite, call.ctx.clock.now()).await?.conclusion.is_some() {
            webhook::enqueue(&call.ctx, db, repo, actor, Event::CheckSuite("completed", suite)).await?;
        }
    }
    Ok(())
}

/// The combined state of a suite: the worst conclusion of its latest check runs, once all are complete.
pub(crate) async fn suite_state(
    db: &mut SqliteConnection,
    suite: &SuiteRow,
    now: Timestamp,
) -> Result<wire::SuiteState, sqlx::Error> {
    let mut rows = checks::of_sha(db, suite.repo, &suite.head_sha, now).await?;
    rows.retain(|row| row.suite == suite.id);
    let rows = checks::latest(rows, |row| row.name.clone());
    let count = rows.len();
    if rows.iter().any(|row| row.status != "completed") || rows.is_empty() {
        let begun = rows.iter().any(|row| row.status != "queued");
        return Ok(wire::SuiteState {
            status: if begun { "in_progress" } else { "queued" },
            conclusion: None,
            count,
        });
    }
    let worst =
        ["failure", "timed_out", "action_required", "cancelled", "stale", "success", "neutral", "skipped"];
    let has = |wanted: &&&str| rows.iter().any(|row| row.conclusion.as_deref() == Some(**wanted));
    let conclusion = worst.iter().find(has).map(|word| (*word).to_owned());
    Ok(wire::SuiteState { status: "completed", conclusion, count })
}

async fn find_check(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<CheckRow, Failure> {
    let now = call.ctx.clock.now();
    checks::by_id(db, repo.row.id, call.number("id")?, now).await?.ok_or_else(Failure::not_found)
}

async fn suite_of(db: &mut SqliteConnection, call: &Call, repo: &Repo, id: i64) -> Result<SuiteRow, Failure> {
    let now = call.ctx.clock.now();
    checks::suite_by_id(db, repo.row.id, id, now).await?.ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_check(&mut db, call, &repo).await?;
    let suite = suite_of(&mut db, call, &repo, row.suite).await?;
    let about = pulls::open_by_head_sha(&mut db, repo.row.id, &row.head_sha).await?;
    Ok(Reply::ok(&wire::check_run(&call.ctx, &repo, &row, &suite.app, &about)))
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let request: CheckRunRequest = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let mut row = find_check(&mut tx, call, &repo).await?;
    let was_done = row.status == "completed";
    apply(&mut row, request, call.ctx.clock.now())?;
    checks::update(&mut tx, &row).await?;
    let suite = suite_of(&mut tx, call, &repo, row.suite).await?;
    if row.status == "completed" && !was_done {
        report_check(&mut tx, call, &repo, &suite, &row, "completed").await?;
    }
    let about = pulls::open_by_head_sha(&mut tx, repo.row.id, &row.head_sha).await?;
    let json = wire::check_run(&call.ctx, &repo, &row, &suite.app, &about);
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

async fn annotations(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    find_check(&mut db, call, &repo).await?;
    Ok(Page::of(call).reply(call, Vec::new(), Some(0)))
}

async fn rerequest(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_check(&mut tx, call, &repo).await?;
    let run = runs::by_check(&mut tx, repo.row.id, row.id).await?;
    let run = run.ok_or_else(|| Failure::unprocessable("This check run is not rerequestable"))?;
    ci::rerun(&call.ctx, &mut tx, &repo, call.actor()?, run).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(hyper::StatusCode::CREATED, &json!({})))
}

async fn rerequest_suite(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let mut tx = call.ctx.store.begin().await?;
    let suite = suite_of(&mut tx, call, &repo, call.number("suite")?).await?;
    let run = runs::by_sha(&mut tx, repo.row.id, &suite.head_sha).await?.filter(|run| run.suite == suite.id);
    let run = run.ok_or_else(|| Failure::unprocessable("This check suite is not rerequestable"))?;
    ci::rerun(&call.ctx, &mut tx, &repo, call.actor()?, run).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(hyper::StatusCode::CREATED, &json!({})))
}

async fn suite(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = suite_of(&mut db, call, &repo, call.number("suite")?).await?;
    Ok(Reply::ok(&suite_json(&mut db, call, &repo, &row).await?))
}

async fn suite_json(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &SuiteRow,
) -> Result<Value, Failure> {
    let sha = Sha::parse(&row.head_sha).ok_or_else(Failure::not_found)?;
    let commit = call.ctx.repository(repo.row.id).commit(&sha).await?.ok_or_else(Failure::not_found)?;
    let state = suite_state(db, row, call.ctx.clock.now()).await?;
    let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
    Ok(wire::check_suite(&call.ctx, repo, row, &state, &about, &commit))
}

async fn suites(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("ref")).await?;
    let mut db = call.ctx.store.read().await?;
    let rows = checks::suites_of_sha(&mut db, repo.row.id, sha.as_str(), call.ctx.clock.now()).await?;
    let total = rows.len();
    let mut items = Vec::new();
    for row in page.cut(rows) {
        items.push(suite_json(&mut db, call, &repo, &row).await?);
    }
    Ok(page.reply_within(call, "check_suites", items, total))
}

async fn of_commit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("ref")).await?;
    list(call, &repo, sha.as_str(), None).await
}

async fn of_suite(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let suite = suite_of(&mut db, call, &repo, call.number("suite")?).await?;
    drop(db);
    list(call, &repo, &suite.head_sha, Some(suite.id)).await
}

async fn list(call: &Call, repo: &Repo, sha: &str, suite: Option<i64>) -> Result<Reply, Failure> {
    let page = Page::of(call);
    let now = call.ctx.clock.now();
    let mut db = call.ctx.store.read().await?;
    let mut rows = checks::of_sha(&mut db, repo.row.id, sha, now).await?;
    rows.retain(|row| suite.is_none_or(|suite| row.suite == suite));
    if call.query.get("filter") != Some("all") {
        rows = checks::latest(rows, |row| format!("{}/{}", row.suite, row.name));
    }
    let (name, status) = (call.query.get("check_name"), call.query.get("status"));
    rows.retain(|row| {
        name.is_none_or(|name| row.name == name) && status.is_none_or(|status| row.status == status)
    });
    let total = rows.len();
    let about = pulls::open_by_head_sha(&mut db, repo.row.id, sha).await?;
    let suites = checks::suites_of_sha(&mut db, repo.row.id, sha, now).await?;
    let app =
        |id: i64| suites.iter().find(|suite| suite.id == id).map_or(wire::CI_APP, |suite| suite.app.as_str());
    let shown = |row: &CheckRow| wire::check_run(&call.ctx, repo, row, app(row.suite), &about);
    let items = page.cut(rows).iter().map(shown).collect();
    Ok(page.reply_within(call, "check_runs", items, total))
}
