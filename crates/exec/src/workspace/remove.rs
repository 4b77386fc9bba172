//! Removing a worktree whose result is in git.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::create::Workspace;
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::owner::WorkspaceStage;
use super::run_dir::{RunDir, lock_runs};

impl Workspace {
    /// Removes the worktree and everything else of the run. Takes the result, because without one there is nothing to
    /// show that the work is in git.
    pub fn remove(self, finalised: &Finalised) -> Result<(), WorkspaceError> {
        debug_assert_eq!(finalised.base, self.owner.base, "the result of another run");
        self.clean_up()
    }

    /// The same for a run whose owner file says that it is finalised.
    pub(super) fn clean_up(self) -> Result<(), WorkspaceError> {
        let WorkspaceStage::Finalised { head, keep_tree } = &self.owner.stage else { return Ok(()) };
        if self.owner.new_branch && *head == self.owner.base {
            // Made for this run and never used. A branch that has moved since is kept.
            let _ = self.git().delete_ref(&self.owner.branch.ref_name(), &self.owner.base);
        }
        if *keep_tree && self.path().symlink_metadata().is_ok() {
            self.dir.set_aside(self.path(), "tree")?;
        }
        if let Some(git_dir) = &self.owner.git_dir {
            let modules = git_dir.join("modules");
            if modules.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                self.dir.set_aside(&modules, "modules")?;
            }
            clear(&self.dir.tree())?;
            self.forget(git_dir)?;
        }
        remove_run_dir(&self.dir)
    }

    /// Removes the worktree from the repository's list, under the lock of that list.
    pub(super) fn forget(&self, git_dir: &Path) -> Result<(), WorkspaceError> {
        let _lock = lock_runs(&self.dir.home)?;
        clear(git_dir)?;
        // Git itself removes the folder of all worktrees with the last one.
        let _ = fs::remove_dir(self.owner.repository.join("worktrees"));
        Ok(())
    }
}

/// Removes the folder of a run: its files first, the rest under the lock, so that no start finds half of it.
pub(super) fn remove_run_dir(dir: &RunDir) -> Result<(), WorkspaceError> {
    clear(&dir.tree())?;
    let _lock = lock_runs(&dir.home)?;
    clear(&dir.root())
}

pub(super) fn clear(path: &Path) -> Result<(), WorkspaceError> {
    let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
    if !meta.is_dir() {
        return fs::remove_file(path).tried("remove", path);
    }
    let gone = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path);
            fs::remove_dir_all(path)
        }
        other => other,
    };
    match gone {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.tried("remove", path),
    }
}

/// Gives ourselves the right to change every folder below.
fn unlock(path: &Path) {
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}
