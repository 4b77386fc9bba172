//! Workflow runs: what CI did, its logs, and doing it again.

use hyper::StatusCode;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::ci;
use crate::name::Sha;
use crate::server::{Call, Face, Failure, Need, Page, Reply, Repo, Route, get, post};
use crate::store::runs::RunFilter;
use crate::store::{CheckRow, RunRow, checks, pulls, runs};
use crate::wire;

/// Routes about workflow runs.
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
    Route {
        method: "GET",
        pattern: "/_forge/logs/{job}/{key}",
        face: Face::Own,
        run: |call| Box::pin(download(call)),
    },
];

async fn workflows(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let items = vec![wire::workflow(&call.site, &repo)];
    Ok(Page::of(call).reply_within(call, "workflows", items, 1))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let asked = |name| call.query.get(name).map(str::to_owned);
    let filter = RunFilter {
        head_sha: asked("head_sha"),
        branch: asked("branch"),
        event: asked("event"),
        status: asked("status"),
        suite: call.query.get("check_suite_id").map(|text| text.parse().unwrap_or(0)),
    };
    let mut db = call.site.store.read().await?;
    let now = call.site.clock.now();
    let (total, rows) = runs::list(&mut db, repo.row.id, &filter, now, page.limit(), page.offset()).await?;
    let shas: Vec<Sha> = rows.iter().filter_map(|row| Sha::parse(&row.head_sha)).collect();
    let commits = call.site.repository(repo.row.id).commits(&shas).await?;
    let mut items = Vec::new();
    for row in &rows {
        let commit = commits.iter().find(|commit| commit.sha.as_str() == row.head_sha);
        let about = pulls::open_by_head_sha(&mut db, repo.row.id, &row.head_sha).await?;
        items.push(wire::workflow_run(&call.site, &repo, row, &about, commit));
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
        Some(sha) => call.site.repository(repo.row.id).commit(&sha).await?,
        None => None,
    };
    let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
    Ok(wire::workflow_run(&call.site, repo, row, &about, commit.as_ref()))
}

/// The run in the path, if it can be seen.
async fn named(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<RunRow, Failure> {
    let row = runs::by_id(db, call.number("run")?).await?;
    let now = call.site.clock.now();
    row.filter(|row| row.repo == repo.row.id && row.visible <= now).ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let mut db = call.site.store.read().await?;
    let row = named(&mut db, call, &repo).await?;
    Ok(Reply::ok(&run_json(&mut db, call, &repo, &row).await?))
}

/// The check runs of a run, newest first: one for each attempt.
async fn attempts(
    db: &mut SqliteConnection,
    call: &Call,
    row: &RunRow,
) -> Result<Vec<CheckRow>, sqlx::Error> {
    let mut rows = checks::of_sha(db, row.repo, &row.head_sha, call.site.clock.now()).await?;
    rows.retain(|check| check.suite == row.suite);
    Ok(rows)
}

async fn jobs(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let page = Page::of(call);
    let mut db = call.site.store.read().await?;
    let row = named(&mut db, call, &repo).await?;
    let mut found = attempts(&mut db, call, &row).await?;
    if call.query.get("filter") != Some("all") {
        found.truncate(1);
    }
    let total = found.len();
    let numbered = (1..=row.attempt).rev().zip(found);
    let items: Vec<Value> =
        numbered.map(|(attempt, check)| wire::job(&call.site, &repo, &row, &check, attempt)).collect();
    Ok(page.reply_within(call, "jobs", page.cut(items), total))
}

/// The job in the path, with its run.
async fn job_named(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
) -> Result<(RunRow, CheckRow), Failure> {
    let id = call.number("job")?;
    let check =
        checks::by_id(db, repo.row.id, id, call.site.clock.now()).await?.ok_or_else(Failure::not_found)?;
    let run = runs::by_check(db, repo.row.id, id).await?.ok_or_else(Failure::not_found)?;
    Ok((run, check))
}

async fn job(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let mut db = call.site.store.read().await?;
    let (run, check) = job_named(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::job(&call.site, &repo, &run, &check, run.attempt)))
}

/// 302 to the text, as GitHub answers; whoever has the address may read it, so it holds a key.
fn to_log(call: &Call, check: &CheckRow) -> Reply {
    let key = ci::log_key(&call.site, check.id);
    let mut reply = Reply::empty(StatusCode::FOUND);
    reply.set("location", &format!("{}/_forge/logs/{}/{key}", call.site.url, check.id));
    reply
}

async fn job_logs(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let mut db = call.site.store.read().await?;
    let (_, check) = job_named(&mut db, call, &repo).await?;
    Ok(to_log(call, &check))
}

async fn download(call: &Call) -> Result<Reply, Failure> {
    let id = call.number("job")?;
    if ci::log_key(&call.site, id) != call.params.get("key") {
        return Err(Failure::not_found());
    }
    let text = ci::read_log(&call.site, id).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::text(StatusCode::OK, "text/plain; charset=utf-8", text))
}

async fn rerun(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Write).await?;
    let mut tx = call.site.store.begin().await?;
    let row = named(&mut tx, call, &repo).await?;
    if row.status != "completed" {
        return Err(Failure::forbidden("This workflow is already running"));
    }
    ci::again(&call.site, &mut tx, &repo, call.actor()?, row).await?;
    call.site.commit(tx).await?;
    Ok(Reply::json(StatusCode::CREATED, &json!({})))
}

async fn cancel(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Write).await?;
    let mut tx = call.site.store.begin().await?;
    let mut row = named(&mut tx, call, &repo).await?;
    if row.status == "completed" {
        return Err(Failure::conflict("Cannot cancel a workflow run that is completed."));
    }
    row.cancel = true;
    runs::update(&mut tx, &row).await?;
    call.site.commit(tx).await?;
    call.site.running.cancel(row.id);
    Ok(Reply::json(StatusCode::ACCEPTED, &json!({})))
}
