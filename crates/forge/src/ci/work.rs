//! The worker: takes runs that are due, a few at once, and reports how they end.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::log::{Log, write_log};
use super::script::{self, Ending};
use crate::faults::Outcome;
use crate::name::Sha;
use crate::reconcile;
use crate::server::{Failure, Repo};
use crate::site::Site;
use crate::store::{CheckRow, RunRow, checks, repos, runs};
use crate::webhook;

/// How long to wait when nothing is known to be due, and after something failed.
const IDLE: Duration = Duration::from_secs(60);
const TROUBLE: Duration = Duration::from_secs(1);

/// How much of the end of a log a check run shows.
const SUMMARY: usize = 8 << 10;

/// Runs that can be stopped, by id.
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

    /// Stops a run that is under way.
    pub(crate) fn cancel(&self, run: i64) {
        if let Some(cancel) = self.lock().get(&run) {
            cancel.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What a forge that died left: checkouts go, runs begin again.
pub(crate) async fn clear(site: &Site) -> Result<(), Failure> {
    let place = site.root.join("ci");
    tokio::fs::remove_dir_all(&place).await?;
    tokio::fs::create_dir_all(&place).await?;
    let mut tx = site.store.begin().await?;
    runs::requeue(&mut tx).await?;
    tx.commit().await?;
    Ok(())
}

/// Works until the forge stops; what runs then begins again with the next forge.
pub(crate) async fn work(site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    let mut under_way: JoinSet<()> = JoinSet::new();
    loop {
        let wait = match take(&site, &mut under_way).await {
            Ok(wait) => wait,
            Err(_) => TROUBLE,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = site.ci_bell.notified() => {}
            Some(_) = under_way.join_next() => {}
            _ = stop.wait_for(|stopped| *stopped) => break,
        }
    }
    under_way.shutdown().await;
}

/// Begins what is due, as far as there is room, and says how long there is nothing to begin.
async fn take(site: &Arc<Site>, under_way: &mut JoinSet<()>) -> Result<Duration, Failure> {
    while under_way.try_join_next().is_some() {}
    while under_way.len() < site.ci.jobs {
        let Some(job) = begin(site).await? else {
            let mut db = site.store.read().await?;
            let next = runs::next_time(&mut db).await?;
            return Ok(next.map_or(IDLE, |next| next.since(site.clock.now())).min(IDLE));
        };
        let site = Arc::clone(site);
        under_way.spawn(async move {
            let (cancel, id) = (site.running.begin(job.run.id), job.run.id);
            let (outcome, log) = carry_out(&site, &job, &cancel).await;
            site.running.end(id);
            // A failure here is a disk or a database that fails; the next start begins the run again.
            let _ = finish(&site, job, outcome, log).await;
        });
    }
    Ok(IDLE)
}

/// A run that has begun.
struct Job {
    repo: Repo,
    run: RunRow,
    check: CheckRow,
}

/// Takes the next run, and tells everybody that it has begun.
async fn begin(site: &Site) -> Result<Option<Job>, Failure> {
    let now = site.clock.now();
    let mut tx = site.store.begin().await?;
    let Some(mut run) = runs::next_due(&mut tx, now).await? else { return Ok(None) };
    let check = checks::by_id(&mut tx, run.repo, run.check_id, now).await?;
    let row = repos::by_id(&mut tx, run.repo).await?;
    let (Some(mut check), Some(row)) = (check, row) else { return Ok(None) };
    let repo = reconcile::as_owner(site, row);
    let sender = site.user(run.actor);
    (run.status, run.started, run.updated) = ("in_progress".to_owned(), Some(now), now);
    runs::update(&mut tx, &run).await?;
    if run.attempt == 1 {
        if let Some(suite) = checks::suite_by_id(&mut tx, run.repo, run.suite, now).await? {
            webhook::check_suite(site, &mut tx, &repo, &sender, "requested", &suite).await?;
        }
        webhook::workflow_run(site, &mut tx, &repo, &sender, "requested", &run).await?;
    }
    (check.status, check.started) = ("in_progress".to_owned(), Some(now));
    checks::update(&mut tx, &check).await?;
    webhook::check_run(site, &mut tx, &repo, &sender, "created", &check).await?;
    webhook::workflow_run(site, &mut tx, &repo, &sender, "in_progress", &run).await?;
    site.commit(tx).await?;
    Ok(Some(Job { repo, run, check }))
}

async fn carry_out(site: &Site, job: &Job, cancel: &Notify) -> (Outcome, Vec<u8>) {
    if job.run.cancel {
        return (Outcome::Cancelled, b"The run was canceled before it began.\n".to_vec());
    }
    if let Some((outcome, ms)) = site.faults.of_run(&job.run.head_branch) {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = cancel.notified() => return (Outcome::Cancelled, b"The run was canceled.\n".to_vec()),
        }
        return (outcome, forced_words(outcome).as_bytes().to_vec());
    }
    let place = site.root.join("ci").join(format!("{}-{}", job.run.id, job.run.attempt));
    let done = check_out_and_run(site, job, cancel, &place).await;
    let _ = tokio::fs::remove_dir_all(&place).await;
    match done {
        Ok((Ending::Passed, log)) => (Outcome::Success, log),
        Ok((Ending::Failed, log)) => (Outcome::Failure, log),
        Ok((Ending::TimedOut, log)) => (Outcome::TimedOut, log),
        Ok((Ending::Cancelled, log)) => (Outcome::Cancelled, log),
        Err(failure) => (Outcome::Infrastructure, format!("{}\n{LOST}", failure.message).into_bytes()),
    }
}

/// GitHub's words for a machine that is gone.
const LOST: &str = "The self-hosted runner lost communication with the server. Verify the machine is running and has \
                    a healthy network connection.\n";

fn forced_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "ok\n",
        Outcome::Failure => "Process completed with exit code 1.\n",
        Outcome::Cancelled => "The operation was canceled.\n",
        Outcome::TimedOut => "The job has exceeded the maximum execution time.\n",
        Outcome::Infrastructure => LOST,
    }
}

async fn check_out_and_run(
    site: &Site,
    job: &Job,
    cancel: &Notify,
    place: &Path,
) -> Result<(Ending, Vec<u8>), Failure> {
    let (work, home) = (place.join("work"), place.join("home"));
    tokio::fs::create_dir_all(&work).await?;
    tokio::fs::create_dir_all(&home).await?;
    let sha = Sha::parse(&job.run.head_sha).ok_or_else(Failure::not_found)?;
    site.repository(job.repo.row.id).check_out(&sha, &work).await?;
    let mut log = Log::default();
    let ending = script::run(site, &work, &home, cancel, &mut log).await?;
    match ending {
        Ending::TimedOut => log.push(forced_words(Outcome::TimedOut).as_bytes()),
        Ending::Cancelled => log.push(forced_words(Outcome::Cancelled).as_bytes()),
        Ending::Passed | Ending::Failed => {}
    }
    Ok((ending, log.into_bytes()))
}

/// Keeps the log, then tells everybody how it ended.
async fn finish(site: &Site, job: Job, outcome: Outcome, log: Vec<u8>) -> Result<(), Failure> {
    let Job { repo, mut run, mut check } = job;
    write_log(site, check.id, &log).await?;
    let now = site.clock.now();
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
    let sender = site.user(run.actor);
    let mut tx = site.store.begin().await?;
    checks::update(&mut tx, &check).await?;
    runs::update(&mut tx, &run).await?;
    webhook::check_run(site, &mut tx, &repo, &sender, "completed", &check).await?;
    if let Some(suite) = checks::suite_by_id(&mut tx, run.repo, run.suite, now).await? {
        webhook::check_suite(site, &mut tx, &repo, &sender, "completed", &suite).await?;
    }
    webhook::workflow_run(site, &mut tx, &repo, &sender, "completed", &run).await?;
    site.commit(tx).await
}

/// The end of a log, from the beginning of a line.
fn end_of(log: &[u8]) -> String {
    let from = log.len().saturating_sub(SUMMARY);
    let text = String::from_utf8_lossy(&log[from..]).into_owned();
    match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        Some(_) | None => text,
    }
}
