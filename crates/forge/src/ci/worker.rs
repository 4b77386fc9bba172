//! The CI worker: starts due runs, a few at once, and reports their results.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::log::{Log, write_log};
use super::script::{self, Ending};
use crate::context::Context;
use crate::faults::Outcome;
use crate::name::Sha;
use crate::reconcile;
use crate::server::{Failure, Repo};
use crate::store::{CheckRow, RunRow, checks, repos, runs};
use crate::webhook::{self, Event};

/// The longest wait without a due run, and the wait after an error.
const IDLE: Duration = Duration::from_secs(60);
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// How much of the end of a log is the summary of its check run.
const SUMMARY: usize = 8 << 10;

/// Cancellation handles of the runs in progress, by run id.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<HashMap<i64, Arc<Notify>>>);

impl Running {
    fn begin(&self, run: i64) -> Arc<Notify> {
        let cancel = Arc::new(Notify::new());
        self.lock().insert(run, Arc::clone(&cancel));
        cancel
    }

    fn end(&self, run: i64) {
        self.lock().remove(&run);
    }

    pub(crate) fn cancel(&self, run: i64) {
        if let Some(cancel) = self.lock().get(&run) {
            cancel.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Cleans up after a crash: removes checkouts and queues interrupted runs again.
pub(crate) async fn reset(ctx: &Context) -> Result<(), Failure> {
    let place = ctx.root.join("ci");
    tokio::fs::remove_dir_all(&place).await?;
    tokio::fs::create_dir_all(&place).await?;
    let mut tx = ctx.store.begin().await?;
    runs::requeue(&mut tx).await?;
    tx.commit().await?;
    Ok(())
}

/// Runs until the forge stops; runs in progress are queued again at the next start.
pub(crate) async fn run_worker(ctx: Arc<Context>, mut stop: watch::Receiver<bool>) {
    let mut jobs: JoinSet<()> = JoinSet::new();
    loop {
        let wait = match start_due(&ctx, &mut jobs).await {
            Ok(wait) => wait,
            Err(_) => AFTER_ERROR,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = ctx.ci_wakeup.notified() => {}
            Some(_) = jobs.join_next() => {}
            _ = stop.wait_for(|stopped| *stopped) => break,
        }
    }
    jobs.shutdown().await;
}

/// Starts due runs up to the limit; returns how long until the next one is due.
async fn start_due(ctx: &Arc<Context>, jobs: &mut JoinSet<()>) -> Result<Duration, Failure> {
    while jobs.try_join_next().is_some() {}
    while jobs.len() < ctx.ci.jobs {
        let Some(job) = start_next(ctx).await? else {
            let mut db = ctx.store.read().await?;
            let next = runs::next_time(&mut db).await?;
            return Ok(next.map_or(IDLE, |next| next.since(ctx.clock.now())).min(IDLE));
        };
        let ctx = Arc::clone(ctx);
        jobs.spawn(async move {
            let (cancel, id) = (ctx.running.begin(job.run.id), job.run.id);
            let (outcome, log) = execute(&ctx, &job, &cancel).await;
            ctx.running.end(id);
            // Fails only when the disk or the database does; the next start queues the run again.
            let _ = finish(&ctx, job, outcome, log).await;
        });
    }
    Ok(IDLE)
}

/// A run in progress.
struct Job {
    repo: Repo,
    run: RunRow,
    check: CheckRow,
}

/// Marks the next due run as in progress and enqueues its webhooks.
async fn start_next(ctx: &Context) -> Result<Option<Job>, Failure> {
    let now = ctx.clock.now();
    let mut tx = ctx.store.begin().await?;
    let Some(mut run) = runs::next_due(&mut tx, now).await? else { return Ok(None) };
    let check = checks::by_id(&mut tx, run.repo, run.check_id, now).await?;
    let row = repos::by_id(&mut tx, run.repo).await?;
    let (Some(mut check), Some(row)) = (check, row) else { return Ok(None) };
    let repo = reconcile::as_owner(ctx, row);
    let sender = ctx.user(run.actor);
    (run.status, run.started, run.updated) = ("in_progress".to_owned(), Some(now), now);
    runs::update(&mut tx, &run).await?;
    if run.attempt == 1 {
        if let Some(suite) = checks::suite_by_id(&mut tx, run.repo, run.suite, now).await? {
            webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::CheckSuite("requested", &suite)).await?;
        }
        webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::WorkflowRun("requested", &run)).await?;
    }
    (check.status, check.started) = ("in_progress".to_owned(), Some(now));
    checks::update(&mut tx, &check).await?;
    webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::CheckRun("created", &check)).await?;
    webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::WorkflowRun("in_progress", &run)).await?;
    ctx.commit(tx).await?;
    Ok(Some(Job { repo, run, check }))
}

async fn execute(ctx: &Context, job: &Job, cancel: &Notify) -> (Outcome, Vec<u8>) {
    if job.run.cancel {
        return (Outcome::Cancelled, b"The run was canceled before it began.\n".to_vec());
    }
    if let Some((outcome, ms)) = ctx.faults.for_run(&job.run.head_branch) {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = cancel.notified() => return (Outcome::Cancelled, b"The run was canceled.\n".to_vec()),
        }
        return (outcome, conclusion_text(outcome).as_bytes().to_vec());
    }
    let place = ctx.root.join("ci").join(format!("{}-{}", job.run.id, job.run.attempt));
    let done = check_out_and_run(ctx, job, cancel, &place).await;
    let _ = tokio::fs::remove_dir_all(&place).await;
    match done {
        Ok((Ending::Passed, log)) => (Outcome::Success, log),
        Ok((Ending::Failed, log)) => (Outcome::Failure, log),
        Ok((Ending::TimedOut, log)) => (Outcome::TimedOut, log),
        Ok((Ending::Cancelled, log)) => (Outcome::Cancelled, log),
        Err(failure) => (Outcome::Infrastructure, format!("{}\n{LOST}", failure.message).into_bytes()),
    }
}

/// GitHub's message for a lost runner.
const LOST: &str = "The self-hosted runner lost communication with the server. Verify the machine is running and has \
                    a healthy network connection.\n";

fn conclusion_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "ok\n",
        Outcome::Failure => "Process completed with exit code 1.\n",
        Outcome::Cancelled => "The operation was canceled.\n",
        Outcome::TimedOut => "The job has exceeded the maximum execution time.\n",
        Outcome::Infrastructure => LOST,
    }
}

async fn check_out_and_run(
    ctx: &Context,
    job: &Job,
    cancel: &Notify,
    place: &Path,
) -> Result<(Ending, Vec<u8>), Failure> {
    let (work, home) = (place.join("work"), place.join("home"));
    tokio::fs::create_dir_all(&work).await?;
    tokio::fs::create_dir_all(&home).await?;
    let sha = Sha::parse(&job.run.head_sha).ok_or_else(Failure::not_found)?;
    ctx.repository(job.repo.row.id).check_out(&sha, &work).await?;
    let mut log = Log::default();
    let ending = script::run(ctx, &work, &home, cancel, &mut log).await?;
    match ending {
        Ending::TimedOut => log.push(conclusion_text(Outcome::TimedOut).as_bytes()),
        Ending::Cancelled => log.push(conclusion_text(Outcome::Cancelled).as_bytes()),
        Ending::Passed | Ending::Failed => {}
    }
    Ok((ending, log.into_bytes()))
}

/// Stores the log, then the result, and enqueues the webhooks.
async fn finish(ctx: &Context, job: Job, outcome: Outcome, log: Vec<u8>) -> Result<(), Failure> {
    let Job { repo, mut run, mut check } = job;
    write_log(ctx, check.id, &log).await?;
    let now = ctx.clock.now();
    let (conclusion, title) = match outcome {
        Outcome::Success => ("success", "CI passed"),
        Outcome::Failure => ("failure", "CI failed"),
        Outcome::Cancelled => ("cancelled", "CI was canceled"),
        Outcome::TimedOut => ("timed_out", "CI took too long"),
        Outcome::Infrastructure => ("failure", "CI could not run"),
    };
    check.status = "completed".to_owned();
    check.conclusion = Some(conclusion.to_owned());
    check.completed = Some(now);
    check.title = Some(title.to_owned());
    check.summary = Some(end_of(&log));
    (run.status, run.conclusion, run.updated) = ("completed".to_owned(), Some(conclusion.to_owned()), now);
    let sender = ctx.user(run.actor);
    let mut tx = ctx.store.begin().await?;
    checks::update(&mut tx, &check).await?;
    runs::update(&mut tx, &run).await?;
    webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::CheckRun("completed", &check)).await?;
    if let Some(suite) = checks::suite_by_id(&mut tx, run.repo, run.suite, now).await? {
        webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::CheckSuite("completed", &suite)).await?;
    }
    webhook::enqueue(ctx, &mut tx, &repo, &sender, Event::WorkflowRun("completed", &run)).await?;
    ctx.commit(tx).await
}

/// The end of a log, from the start of a line.
fn end_of(log: &[u8]) -> String {
    let from = log.len().saturating_sub(SUMMARY);
    let text = String::from_utf8_lossy(&log[from..]).into_owned();
    match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        Some(_) | None => text,
    }
}
