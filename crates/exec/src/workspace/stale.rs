//! Workspaces whose process is dead: their work is committed, then they are removed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pilot_core::id::Sha;

use super::create::{Workspace, load_refs};
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::guard::Guard;
use super::owner::{WorkspaceOwner, WorkspaceStage};
use super::remove::remove_run_dir;
use super::run_dir::{RunDir, all, lock_runs, open_lock};
use crate::git::Program;
use crate::pause::pause;

/// How long a git of a dead run may keep running: longer than any of its calls should take.
const PATIENCE: Duration = Duration::from_secs(20);

const STEP: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct StaleWorkspace {
    pub run: String,
    /// What its owner file said; none when there was none that can be read.
    pub owner: Option<WorkspaceOwner>,
    pub recovery: Recovery,
}

#[derive(Debug)]
pub enum Recovery {
    /// No agent had seen it, so it was removed.
    NeverStarted,
    /// Its work is in git now, and it was removed.
    Rescued(Box<Finalised>),
    /// Its work was in git already, and it was removed.
    AlreadyFinalised { head: Sha },
    /// Its work could not be saved; it is left as it is.
    Left(WorkspaceError),
}

/// Saves and removes every workspace below `home` whose process is dead. One that lives, or that another Pilot is just
/// collecting, is left alone.
pub fn recover_stale(
    program: &Arc<Program>,
    home: &Path,
    message: &str,
) -> Result<Vec<StaleWorkspace>, WorkspaceError> {
    let folder = all(home);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).tried("list", &folder)? {
        let entry = entry.tried("list", &folder)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names.into_iter().filter_map(|run| collect(program, home, run, message)).collect())
}

fn collect(program: &Arc<Program>, home: &Path, run: String, message: &str) -> Option<StaleWorkspace> {
    let dir = RunDir::new(home, &run).ok()?;
    let (owner, recovery) = match claim_in_time(home, &dir) {
        Err(error) => (None, Err(error)),
        Ok(RecoveryClaim::NotOurs | RecoveryClaim::Busy) => return None,
        Ok(RecoveryClaim::Unowned(_lock)) => (None, remove_run_dir(&dir).map(|()| Recovery::NeverStarted)),
        Ok(RecoveryClaim::Dead(owner, lock)) => {
            (Some((*owner).clone()), save(program, &dir, *owner, lock, message))
        }
    };
    Some(StaleWorkspace { run, owner, recovery: recovery.unwrap_or_else(Recovery::Left) })
}

enum RecoveryClaim {
    /// Its process lives, or the folder is gone.
    NotOurs,
    /// Its process is dead, but a git that it started still runs here, or another Pilot is recovering it.
    Busy,
    /// No owner file: Pilot died right after it made the folder, since the file comes before everything else.
    Unowned(fs::File),
    /// Its process is dead, and the lock is ours.
    Dead(Box<WorkspaceOwner>, fs::File),
}

/// Waits while another process holds the lock, up to a limit.
fn claim_in_time(home: &Path, dir: &RunDir) -> Result<RecoveryClaim, WorkspaceError> {
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        match claim(home, dir)? {
            RecoveryClaim::Busy => pause(STEP),
            claim @ (RecoveryClaim::NotOurs | RecoveryClaim::Unowned(_) | RecoveryClaim::Dead(..)) => {
                return Ok(claim);
            }
        }
    }
    Ok(RecoveryClaim::Busy)
}

fn claim(home: &Path, dir: &RunDir) -> Result<RecoveryClaim, WorkspaceError> {
    let _lock = lock_runs(home)?;
    if !dir.root().exists() {
        return Ok(RecoveryClaim::NotOurs);
    }
    let lock = open_lock(&dir.lock())?;
    let is_free = lock.try_lock().is_ok();
    if !dir.owner().exists() {
        return Ok(if is_free { RecoveryClaim::Unowned(lock) } else { RecoveryClaim::Busy });
    }
    let owner = WorkspaceOwner::read(&dir.owner())?;
    Ok(match (owner.is_alive(), is_free) {
        (true, _) => RecoveryClaim::NotOurs,
        (false, false) => RecoveryClaim::Busy,
        (false, true) => RecoveryClaim::Dead(Box::new(owner), lock),
    })
}

fn save(
    program: &Arc<Program>,
    dir: &RunDir,
    owner: WorkspaceOwner,
    lock: fs::File,
    message: &str,
) -> Result<Recovery, WorkspaceError> {
    if !owner.repository.is_dir() {
        return Err(WorkspaceError::RepositoryGone { run: owner.run, repository: owner.repository });
    }
    let stage = owner.stage.clone();
    let mut workspace = adopt(program, dir, owner, lock)?;
    match stage {
        WorkspaceStage::Planned => workspace.discard(true).map(|()| Recovery::NeverStarted),
        WorkspaceStage::Ready => {
            let finalised = workspace.finalise(message)?;
            workspace.clean_up()?;
            Ok(Recovery::Rescued(Box::new(finalised)))
        }
        WorkspaceStage::Finalised { head, .. } => {
            workspace.clean_up()?;
            Ok(Recovery::AlreadyFinalised { head })
        }
    }
}

fn adopt(
    program: &Arc<Program>,
    dir: &RunDir,
    owner: WorkspaceOwner,
    lock: fs::File,
) -> Result<Workspace, WorkspaceError> {
    let (guard, refs) = if owner.stage == WorkspaceStage::Planned {
        (Guard::take(&owner.repository)?, load_refs(&dir.refs()).unwrap_or_default())
    } else {
        (Guard::load(&dir.guard(), &owner.repository)?, load_refs(&dir.refs())?)
    };
    let program = Arc::new(program.holding(Arc::new(lock)));
    Ok(Workspace { dir: dir.clone(), owner, program, guard, refs, resumed: true, staged: None, cached: None })
}
