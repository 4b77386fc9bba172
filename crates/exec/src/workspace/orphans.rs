//! Workspaces whose process is dead: what they hold is saved, then they are removed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::create::{Workspace, load_refs};
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::guard::Guard;
use super::owner::{Owner, Stage};
use super::remove::clear;
use super::run_dir::{RunDir, all, door, open_lock};
use crate::git::{Program, Sha};

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
    let mut owner = None;
    let fate = claim(home, &dir, &mut owner).and_then(|lock| match (lock, &owner) {
        (None, _) => Ok(None),
        (Some(_lock), None) => clear(&dir.root()).map(|()| Some(Fate::NeverStarted)),
        (Some(lock), Some(owner)) => save(program, &dir, owner.clone(), lock, message).map(Some),
    });
    let fate = fate.unwrap_or_else(|error| Some(Fate::Left(error)))?;
    Some(Orphan { run, owner, fate })
}

/// Takes the lock of a run whose process is dead; none when it lives or somebody else has it.
fn claim(home: &Path, dir: &RunDir, owner: &mut Option<Owner>) -> Result<Option<fs::File>, WorkspaceError> {
    let _door = door(home)?;
    if !dir.root().exists() {
        return Ok(None);
    }
    let lock = open_lock(&dir.lock())?;
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    // A folder without an owner file is as far as its maker got: the file comes before everything else.
    if dir.owner().exists() {
        *owner = Some(Owner::read(&dir.owner())?);
    }
    let alive = owner.as_ref().is_some_and(Owner::is_alive);
    Ok((!alive).then_some(lock))
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
    let program = Arc::clone(program);
    Ok(Workspace { dir: dir.clone(), owner, program, guard, refs, resumed: true, _lock: lock })
}
