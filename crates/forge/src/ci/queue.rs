//! Queueing runs.

use sqlx::SqliteConnection;

use crate::context::Context;
use crate::git::{GitError, Repository};
use crate::name::Sha;
use crate::server::{Failure, Repo};
use crate::store::{CheckRow, RunRow, User, checks, runs};
use crate::webhook::{self, Event};
use crate::wire::{CI_APP, CI_NAME};

const SCRIPT: &str = ".pilot/ci.sh";

/// Whether CI has a command for a commit.
pub(crate) async fn has_command(ctx: &Context, git: &Repository<'_>, sha: &Sha) -> Result<bool, GitError> {
    Ok(ctx.ci.command.is_some() || git.entry(sha, SCRIPT).await?.is_some())
}

/// Queues a run for a commit unless it has one.
pub(crate) async fn enqueue(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    actor: &User,
    event: &str,
    branch: &str,
    commit: (&Sha, &str),
) -> Result<(), Failure> {
    let (sha, title) = commit;
    if runs::by_sha(db, repo.row.id, sha.as_str()).await?.is_some() {
        return Ok(());
    }
    let now = ctx.clock.now();
    let visible = now.after(ctx.lags.checks);
    let suite =
        checks::ensure_suite(db, repo.row.id, sha.as_str(), Some(branch), CI_APP, visible, now).await?;
    let run = RunRow {
        id: 0,
        repo: repo.row.id,
        suite: suite.id,
        check_id: 0,
        number: 0,
        attempt: 1,
        event: event.to_owned(),
        head_branch: branch.to_owned(),
        head_sha: sha.to_string(),
        title: title.to_owned(),
        actor: actor.id,
        status: "queued".to_owned(),
        conclusion: None,
        cancel: false,
        visible,
        created: now,
        started: None,
        updated: now,
    };
    let check = CheckRow::queued(run.repo, run.suite, &run.head_sha, CI_NAME, visible);
    let check_id = checks::insert(db, &check).await?.id;
    runs::insert(db, &RunRow { check_id, ..run }).await?;
    Ok(())
}

/// Queues another attempt of a run.
pub(crate) async fn rerun(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    actor: &User,
    mut run: RunRow,
) -> Result<(), Failure> {
    let now = ctx.clock.now();
    run.attempt += 1;
    (run.status, run.conclusion, run.cancel) = ("queued".to_owned(), None, false);
    (run.started, run.updated) = (None, now);
    // The run stays visible; only its new check run appears late.
    run.visible = now;
    let visible = now.after(ctx.lags.checks);
    let check = CheckRow::queued(run.repo, run.suite, &run.head_sha, CI_NAME, visible);
    run.check_id = checks::insert(db, &check).await?.id;
    runs::update(db, &run).await?;
    webhook::enqueue(ctx, db, repo, actor, Event::WorkflowRun("requested", &run)).await
}
