//! Workflow runs, their jobs and logs, reruns and cancellation.

use hyper::StatusCode;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::ci;
use crate::name::Sha;
use crate::server::{Access, Call, Failure, Page, Reply, Repo, Route, RouteKind, get, post};
use crate::store::{CheckRow, RunFilter, RunRow, checks, pulls, runs};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/actions/workflows", |call| Box::pin(workflows(call))),
    get("/repos/{owner}/{repo}/actions/runs", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/actions/runs/{run}", |call| Box::pin(show(call))),
    get("/repos/{owner}/{repo}/actions/runs/{run}/jobs", |call| Box::pin(jobs(call))),
    post("/repos/{owner}/{repo}/actions/runs/{run}/rerun", |call| Box::pin(rerun(call))),
    post("/repos/{owner}/{repo}/actions/runs/{run}/rerun-failed-jobs", |call| Box::pin(rerun(call))),
    post("/repos/{owner}/{repo}/actions/runs/{run}/cancel", |call| Box::pin(cancel(call))),
    get("/repos/{owner}/{repo}/actions/jobs/{job}", |call| Box::pin(job(call))),
    get("/repos/{owner}/{repo}/actions/jobs/{job}/logs", |call| Box::pin(job_logs(call))),
    Route::new("GET", RouteKind::Forge, "/_forge/logs/{job}/{key}", |call| Box::pin(download(call))),
];

async fn workflows(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let items = vec![wire::workflow(&call.ctx, &repo)];
    Ok(Page::of(call).reply_within(call, "workflows", items, 1))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let asked = |name| call.query.get(name).map(str::to_owned);
    let filter = RunFilter {
        head_sha: asked("head_sha"),
        branch: asked("branch"),
        event: asked("event"),
        status: asked("status"),
        suite: call.query.get("check_suite_id").map(|text| text.parse().unwrap_or(0)),
    };
    let mut db = call.ctx.store.read().await?;
    let now = call.ctx.clock.now();
    let rows = runs::list(&mut db, repo.row.id, &filter, now, page.limit(), page.offset()).await?;
    let total = runs::count(&mut db, repo.row.id, &filter, now).await?;
    let shas: Vec<Sha> = rows.iter().filter_map(|row| Sha::parse(&row.head_sha)).collect();
    let commits = call.ctx.repository(repo.row.id).commits(&shas).await?;
    let mut items = Vec::new();
    for row in &rows {
        let commit = commits.iter().find(|commit| commit.sha.as_str() == row.head_sha);
        let about = pulls::open_by_head_sha(&mut db, repo.row.id, &row.head_sha).await?;
        items.push(wire::workflow_run(&call.ctx, &repo, row, &about, commit));
    }
    Ok(page.reply_within(call, "workflow_runs", items, usize::try_from(total).unwrap_or(0)))
}

async fn run_json(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    row: &RunRow,
) -> Result<Value, Failure> {
    let commit = match Sha::parse(&row.head_sha) {
        Some(sha) => call.ctx.repository(repo.row.id).commit(&sha).await?,
        None => None,
    };
    let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
    Ok(wire::workflow_run(&call.ctx, repo, row, &about, commit.as_ref()))
}

/// The run in the path, if it is visible.
async fn find_run(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<RunRow, Failure> {
    let row = runs::by_id(db, call.number("run")?).await?;
    let now = call.ctx.clock.now();
    row.filter(|row| row.repo == repo.row.id && row.visible <= now).ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_run(&mut db, call, &repo).await?;
    Ok(Reply::ok(&run_json(&mut db, call, &repo, &row).await?))
}

/// The check runs of a run, newest first, one for each attempt.
async fn attempts(
    db: &mut SqliteConnection,
    call: &Call,
    row: &RunRow,
) -> Result<Vec<CheckRow>, sqlx::Error> {
    let mut rows = checks::of_sha(db, row.repo, &row.head_sha, call.ctx.clock.now()).await?;
    rows.retain(|check| check.suite == row.suite);
    Ok(rows)
}

async fn jobs(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let row = find_run(&mut db, call, &repo).await?;
    let mut found = attempts(&mut db, call, &row).await?;
    if call.query.get("filter") != Some("all") {
        found.truncate(1);
    }
    let total = found.len();
    let numbered = (1..=row.attempt).rev().zip(found);
    let items: Vec<Value> =
        numbered.map(|(attempt, check)| wire::job(&call.ctx, &repo, &row, &check, attempt)).collect();
    Ok(page.reply_within(call, "jobs", page.cut(items), total))
}

/// The job in the path, with its run.
async fn find_job(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
) -> Result<(RunRow, CheckRow), Failure> {
    let id = call.number("job")?;
    let check =
        checks::by_id(db, repo.row.id, id, call.ctx.clock.now()).await?.ok_or_else(Failure::not_found)?;
    let run = runs::by_check(db, repo.row.id, id).await?.ok_or_else(Failure::not_found)?;
    Ok((run, check))
}

async fn job(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let (run, check) = find_job(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::job(&call.ctx, &repo, &run, &check, run.attempt)))
}

/// GitHub's 302 to the log. The URL works without a token, so it contains a secret key.
fn redirect_to_log(call: &Call, check: &CheckRow) -> Reply {
    let key = ci::log_key(&call.ctx, check.id);
    let mut reply = Reply::empty(StatusCode::FOUND);
    reply.set("location", &format!("{}/_forge/logs/{}/{key}", call.ctx.url, check.id));
    reply
}

async fn job_logs(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let (_, check) = find_job(&mut db, call, &repo).await?;
    Ok(redirect_to_log(call, &check))
}

async fn download(call: &Call) -> Result<Reply, Failure> {
    let id = call.number("job")?;
    if ci::log_key(&call.ctx, id) != call.params.get("key") {
        return Err(Failure::not_found());
    }
    let text = ci::read_log(&call.ctx, id).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::text(StatusCode::OK, "text/plain; charset=utf-8", text))
}

async fn rerun(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_run(&mut tx, call, &repo).await?;
    if row.status != "completed" {
        return Err(Failure::forbidden("This workflow is already running"));
    }
    ci::rerun(&call.ctx, &mut tx, &repo, call.actor()?, row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(StatusCode::CREATED, &json!({})))
}

async fn cancel(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let mut tx = call.ctx.store.begin().await?;
    let mut row = find_run(&mut tx, call, &repo).await?;
    if row.status == "completed" {
        return Err(Failure::conflict("Cannot cancel a workflow run that is completed."));
    }
    row.cancel = true;
    runs::update(&mut tx, &row).await?;
    call.ctx.commit(tx).await?;
    call.ctx.running.cancel(row.id);
    Ok(Reply::json(StatusCode::ACCEPTED, &json!({})))
}
