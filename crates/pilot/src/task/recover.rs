//! What runs of a Pilot that died have left: their work is put into git, and somebody is told.

use std::fs;
use std::path::Path;

use pilot_exec::workspace::{Fate, Orphan, collect_orphans};
use pilot_store::Store;

use super::plan::Plan;
use super::view::View;
use crate::clock;

/// Collects what dead runs left. Trouble is told and never stops the task.
pub(crate) async fn recover(plan: &Plan, store: &Store, view: &mut View) {
    let home = plan.loaded.home.path();
    match collect_orphans(&plan.git, home, "chore: what a run left when Pilot died") {
        Ok(orphans) => orphans.iter().for_each(|orphan| view.warn(&fate(orphan))),
        Err(error) => view.warn(&format!("what earlier runs left could not be looked at: {error}")),
    }
    for words in abandoned(home, store).await {
        view.warn(&words);
    }
}

/// Writes down which runs died with their Pilot, and gives what is to be said of them.
pub(crate) async fn abandoned(home: &Path, store: &Store) -> Vec<String> {
    let mut told = Vec::new();
    let abandoned = store.abandoned(|owner| started(owner.pid) == owner.started).await.unwrap_or_default();
    // A run that was let in and died before it had a row.
    if let Err(error) = store.release_dead(|owner| started(owner.pid) == owner.started, clock::now()).await {
        told.push(format!("what dead runs had reserved could not be released: {error}"));
    }
    for run in abandoned {
        let reason = "Pilot died while it ran; the work it had is kept";
        if store.mark_abandoned(&run.id, reason, clock::now()).await.is_ok() {
            let _ = fs::remove_dir_all(home.join("runs").join(run.id.as_str()));
            told.push(format!("{} was abandoned: {reason}", run.task_id));
        }
    }
    told
}

/// What became of a workspace without its process.
pub(crate) fn fate(orphan: &Orphan) -> String {
    let run = orphan.run.get(..13).unwrap_or(&orphan.run);
    match &orphan.fate {
        Fate::NeverStarted => format!("run {run} had not started when Pilot died; its worktree is removed"),
        Fate::Rescued(finalised) if finalised.has_changes() => {
            let branch = orphan.owner.as_ref().map_or("", |owner| owner.branch.as_str());
            format!(
                "run {run} was cut off when Pilot died; its work is on {branch} at {}",
                finalised.head.short()
            )
        }
        Fate::Rescued(_) => format!("run {run} was cut off when Pilot died; it had changed nothing"),
        Fate::AlreadyFinalised { head } => {
            format!("run {run} had ended at {} when Pilot died; its worktree is removed", head.short())
        }
        Fate::Left(error) => format!("the worktree of run {run} could not be saved and is left: {error}"),
    }
}

/// When a process started, so that its number alone does not stand for it; empty when it is gone, or dead and only listed.
pub(crate) fn started(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = behind_name.split_whitespace();
    match fields.next() {
        None | Some("Z" | "X") => String::new(),
        Some(_) => fields.nth(18).unwrap_or_default().to_owned(),
    }
}
