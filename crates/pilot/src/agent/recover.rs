//! After Pilot died: the work of its runs is committed, their rows are closed, and what was found is reported.

use std::fs;
use std::path::Path;

use pilot_exec::git::Program;
use pilot_exec::workspace::{Recovery, StaleWorkspace, recover_stale, start_of};
use pilot_store::{Owner, Store};

use crate::clock;

/// Collects what runs of a dead Pilot left; one warning for each. A failure here is a warning too: it stops no task.
pub(crate) async fn recover(git: &std::sync::Arc<Program>, home: &Path, store: &Store) -> Vec<String> {
    let mut warnings = match recover_stale(git, home, "chore: what a run left when Pilot died") {
        Ok(stale) => stale.iter().map(describe_recovery).collect(),
        Err(error) => vec![format!("cannot look for work left by earlier runs: {error}")],
    };
    // A run that was admitted and died before it had a row.
    if let Err(error) = store.release_dead(|owner| started(owner.pid) == owner.started, clock::now()).await {
        warnings.push(format!("cannot release the budget reserved by dead runs: {error}"));
    }
    let abandoned = store.abandoned(|owner| started(owner.pid) == owner.started).await.unwrap_or_default();
    for run in abandoned {
        let reason = "Pilot died while it ran; the work it had is kept";
        if store.mark_abandoned(&run.id, reason, clock::now()).await.is_ok() {
            let _ = fs::remove_dir_all(home.join("runs").join(run.id.as_str()));
            warnings.push(format!("{} was abandoned: {reason}", run.task_id));
        }
    }
    warnings
}

fn describe_recovery(stale: &StaleWorkspace) -> String {
    let run = stale.run.get(..13).unwrap_or(&stale.run);
    match &stale.recovery {
        Recovery::NeverStarted => {
            format!("run {run} had not started when Pilot died; its worktree is removed")
        }
        Recovery::Rescued(finalised) if finalised.has_changes() => {
            let branch = stale.owner.as_ref().map_or("", |owner| owner.branch.as_str());
            let head = finalised.head.short();
            format!("run {run} was cut off when Pilot died; its work is on {branch} at {head}")
        }
        Recovery::Rescued(_) => format!("run {run} was cut off when Pilot died; it had changed nothing"),
        Recovery::AlreadyFinalised { head } => {
            format!("run {run} had ended at {} when Pilot died; its worktree is removed", head.short())
        }
        Recovery::Left(error) => {
            format!("cannot save the worktree of run {run}, it is left in place: {error}")
        }
    }
}

pub(crate) fn this_process() -> Owner {
    let pid = std::process::id();
    Owner { pid, started: started(pid) }
}

/// Empty when the process is gone or a zombie.
fn started(pid: u32) -> String {
    start_of(pid).map_or_else(String::new, |ticks| ticks.to_string())
}
