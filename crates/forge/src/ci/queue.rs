//! Asking for runs.

use sqlx::SqliteConnection;

use crate::git::{GitError, Repository};
use crate::name::Sha;
use crate::server::{Failure, Repo};
use crate::site::Site;
use crate::store::{CheckRow, RunRow, User, checks, runs};
use crate::wire::{CI_APP, CI_NAME};

/// The script that a repository brings.
const SCRIPT: &str = ".pilot/ci.sh";

/// Whether there is anything to run on a commit.
pub(crate) async fn has_command(site: &Site, git: &Repository<'_>, sha: &Sha) -> Result<bool, GitError> {
    Ok(site.ci.command.is_some() || git.entry(sha, SCRIPT).await?.is_some())
}

/// Asks for a run on a commit, unless there is one.
pub(crate) async fn enqueue(
    site: &Site,
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
    let now = site.clock.now();
    let visible = now.after(site.lags.checks);
    let suite = checks::suite(db, repo.row.id, sha.as_str(), Some(branch), CI_APP, visible, now).await?;
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
    let check = checks::insert(db, &new_check(&run)).await?;
    runs::insert(db, &RunRow { check_id: check.id, ..run }).await?;
    Ok(())
}

/// The check run of an attempt.
fn new_check(run: &RunRow) -> CheckRow {
    CheckRow {
        id: 0,
        repo: run.repo,
        suite: run.suite,
        head_sha: run.head_sha.clone(),
        name: CI_NAME.to_owned(),
        status: "queued".to_owned(),
        conclusion: None,
        external_id: None,
        details_url: None,
        title: None,
        summary: None,
        body: None,
        visible: run.visible,
        started: Some(run.visible),
        completed: None,
    }
}

/// Asks for another attempt.
pub(crate) async fn again(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    actor: &User,
    mut run: RunRow,
) -> Result<(), Failure> {
    let now = site.clock.now();
    run.attempt += 1;
    (run.status, run.conclusion, run.cancel) = ("queued".to_owned(), None, false);
    (run.started, run.updated) = (None, now);
    run.visible = now.after(site.lags.checks);
    let check = checks::insert(db, &new_check(&run)).await?;
    run.check_id = check.id;
    // The run itself stays in sight; only its new check is late.
    run.visible = now;
    runs::update(db, &run).await?;
    crate::webhook::workflow_run(site, db, repo, actor, "requested", &run).await
}
