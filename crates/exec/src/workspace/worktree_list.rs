//! The repository's own list of worktrees (`worktrees/` in its common directory), as far as it is about ours.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{Tried, WorkspaceError};
use super::owner::WorkspaceOwner;
use super::remove::clear;
use super::run_dir::RunDir;
use crate::git::GitError;

/// Git writes no longer file there.
const LONGEST: u64 = 64 << 10;

/// Why a worktree of ours is locked, as git writes it down before anything else.
pub(super) fn lock_reason(run: &str) -> String {
    format!("pilot run {run}")
}

pub(super) fn read_entry(owner: &WorkspaceOwner) -> Result<PathBuf, WorkspaceError> {
    let file = owner.tree.join(".git");
    let text = fs::read_to_string(&file).tried("read", &file)?;
    let path = text.strip_prefix("gitdir: ").map(|path| PathBuf::from(path.trim_end_matches('\n')));
    path.filter(|path| path.starts_with(owner.repository.join("worktrees"))).ok_or_else(|| {
        GitError::Unexpected {
            command: "worktree".to_owned(),
            what: format!("a .git file that says {text:?}"),
        }
        .into()
    })
}

/// The same after a crash before we could read it: found by its lock reason, which names the run.
pub(super) fn find_entry(owner: &WorkspaceOwner) -> Option<PathBuf> {
    let reason = lock_reason(&owner.run);
    entries(&owner.repository).find(|entry| read_line(&entry.join("locked")).as_deref() == Some(&reason))
}

/// Removes entries of runs below `home` whose folder is gone and that no agent has seen. One that an agent may have worked
/// in is left for the user: its log may be the only record of some commit. Called under the lock of all runs.
pub(super) fn remove_dead_entries(common: &Path, home: &Path) {
    for entry in entries(common).filter(|entry| is_abandoned(entry, home)) {
        // Best effort: a leftover entry does no harm.
        let _ = clear(&entry);
    }
}

fn is_abandoned(entry: &Path, home: &Path) -> bool {
    let Some(locked) = read_line(&entry.join("locked")) else { return false };
    let Some(run) = locked.strip_prefix(&lock_reason("")) else { return false };
    let Ok(home) = home.canonicalize() else { return false };
    let Ok(dir) = RunDir::new(&home, run) else { return false };
    let is_ours =
        read_line(&entry.join("gitdir")).is_some_and(|link| Path::new(&link).starts_with(dir.tree()));
    // Its index is the last thing that is written before an agent is let in.
    let is_new = entry.join("index").symlink_metadata().is_err();
    is_ours && is_new && dir.root().symlink_metadata().is_err()
}

fn entries(common: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

fn read_line(file: &Path) -> Option<String> {
    let is_fine = |meta: fs::Metadata| meta.is_file() && meta.len() <= LONGEST;
    file.symlink_metadata()
        .is_ok_and(is_fine)
        .then(|| fs::read_to_string(file).ok())
        .flatten()
        .map(|text| text.trim_end_matches('\n').to_owned())
}
