//! Workspaces whose process is dead: what they hold is saved, then they are removed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::create::{Workspace, load_refs};
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::guard::Guard;
use super::owner::{Owner, Stage};
use super::remove::vanish;
use super::run_dir::{RunDir, all, door, open_lock};
use crate::git::{Program, Sha};
use crate::pause::pause;

/// How long a dead run's git may still work: longer than any of its calls should take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks.
const STEP: Duration = Duration::from_millis(5);

/// A workspace that was found without its process.
#[derive(Debug)]
pub struct Orphan {
    /// The run.
    pub run: String,
    /// What its owner file said; none when there was none that can be read.
    pub owner: Option<Owner>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an orphan.
#[derive(Debug)]
pub enum Fate {
    /// No agent had seen it, so it was removed.
    NeverStarted,
    /// Its work is in git now, and it was removed.
    Rescued(Box<Finalised>),
    /// Its work was in git already, and it was removed.
    AlreadyFinalised {
        /// The result.
        head: Sha,
    },
    /// It could not be saved and is left as it is.
    Left(WorkspaceError),
}

/// Saves and removes every workspace below `home` whose process is dead. One that lives, or that another Pilot is just
/// collecting, is left alone.
pub fn collect_orphans(
    program: &Arc<Program>,
    home: &Path,
    message: &str,
) -> Result<Vec<Orphan>, WorkspaceError> {
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

fn collect(program: &Arc<Program>, home: &Path, run: String, message: &str) -> Option<Orphan> {
    let dir = RunDir::new(home, &run).ok()?;
    let (owner, fate) = match claim_in_time(home, &dir) {
        Err(error) => (None, Err(error)),
        Ok(Claim::NotOurs | Claim::Busy) => return None,
        Ok(Claim::Nobodys(_lock)) => (None, vanish(&dir).map(|()| Fate::NeverStarted)),
        Ok(Claim::Dead(owner, lock)) => (Some((*owner).clone()), save(program, &dir, *owner, lock, message)),
    };
    Some(Orphan { run, owner, fate: fate.unwrap_or_else(Fate::Left) })
}

/// Who has a run's folder.
enum Claim {
    /// Somebody who lives, or it is gone.
    NotOurs,
    /// Its process is dead, but a git that it started still works here, or another Pilot is just collecting it.
    Busy,
    /// A folder without an owner file is as far as its maker got: the file comes before everything else.
    Nobodys(fs::File),
    /// Its process is dead, and the lock is ours.
    Dead(Box<Owner>, fs::File),
}

/// Waits for whoever is about to be done with it.
fn claim_in_time(home: &Path, dir: &RunDir) -> Result<Claim, WorkspaceError> {
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        match claim(home, dir)? {
            Claim::Busy => pause(STEP),
            claim @ (Claim::NotOurs | Claim::Nobodys(_) | Claim::Dead(..)) => return Ok(claim),
        }
    }
    Ok(Claim::Busy)
}

fn claim(home: &Path, dir: &RunDir) -> Result<Claim, WorkspaceError> {
    let _door = door(home)?;
    if !dir.root().exists() {
        return Ok(Claim::NotOurs);
    }
    let lock = open_lock(&dir.lock())?;
    let is_free = lock.try_lock().is_ok();
    if !dir.owner().exists() {
        return Ok(if is_free { Claim::Nobodys(lock) } else { Claim::Busy });
    }
    let owner = Owner::read(&dir.owner())?;
    Ok(match (owner.is_alive(), is_free) {
        (true, _) => Claim::NotOurs,
        (false, false) => Claim::Busy,
        (false, true) => Claim::Dead(Box::new(owner), lock),
    })
}

fn save(
    program: &Arc<Program>,
    dir: &RunDir,
    owner: Owner,
    lock: fs::File,
    message: &str,
) -> Result<Fate, WorkspaceError> {
    if !owner.repository.is_dir() {
        return Err(WorkspaceError::RepositoryGone { run: owner.run, repository: owner.repository });
    }
    let stage = owner.stage.clone();
    let mut workspace = adopt(program, dir, owner, lock)?;
    match stage {
        Stage::Planned => workspace.discard(true).map(|()| Fate::NeverStarted),
        Stage::Ready => {
            let finalised = workspace.finalise(message)?;
            workspace.clean_up()?;
            Ok(Fate::Rescued(Box::new(finalised)))
        }
        Stage::Finalised { head, .. } => {
            workspace.clean_up()?;
            Ok(Fate::AlreadyFinalised { head })
        }
    }
}

fn adopt(
    program: &Arc<Program>,
    dir: &RunDir,
    owner: Owner,
    lock: fs::File,
) -> Result<Workspace, WorkspaceError> {
    let (guard, refs) = if owner.stage == Stage::Planned {
        (Guard::take(&owner.repository)?, load_refs(&dir.refs()).unwrap_or_default())
    } else {
        (Guard::load(&dir.guard(), &owner.repository)?, load_refs(&dir.refs())?)
    };
    let program = Arc::new(program.holding(Arc::new(lock)));
    Ok(Workspace {
        dir: dir.clone(),
        owner,
        program,
        guard,
        refs,
        resumed: true,
        staged: None,
        settled: None,
    })
}
