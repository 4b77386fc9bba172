//! The ways a workspace can fail.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::id::{Branch, Sha};

use crate::git::GitError;

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("create branch {branch}: it already exists (at {}); continue it, delete it, or choose another name", at.short())]
    BranchExists { branch: Branch, at: Sha },
    #[error("continue branch {branch}: it does not exist")]
    BranchMissing { branch: Branch },
    #[error("continue branch {branch}: expected {}, found {}", expected.short(), found.short())]
    BranchMoved { branch: Branch, expected: Sha, found: Sha },
    #[error(
        "use branch {branch}: it is checked out elsewhere ({reason}); switch that checkout to another branch"
    )]
    BranchBusy { branch: Branch, reason: String },
    #[error(
        "reopen the worktree of run {run}: it is gone or not on its branch; the result so far is kept in git"
    )]
    Unusable { run: String },
    #[error("use {run:?} as the id of a run: letters, digits, `-`, `_` and single dots inside, at most 100")]
    BadRun { run: String },
    #[error("create the workspace of run {run}: it already exists")]
    RunExists { run: String },
    #[error("lock {}: a Pilot, or a git it started, has held it for {} s; `fuser {}` names it", path.display(), waited.as_secs(), path.display())]
    DoorShut { path: PathBuf, waited: Duration },
    #[error("read the owner file {}: {source}", path.display())]
    Owner { path: PathBuf, source: serde_json::Error },
    #[error("find the repository of run {run}: {} is gone; the work stays where it is", repository.display())]
    RepositoryGone { run: String, repository: PathBuf },
}

/// Adds what was tried and on what to an error of the system.
pub(super) trait Tried<T> {
    fn tried(self, what: &'static str, path: &Path) -> Result<T, WorkspaceError>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, what: &'static str, path: &Path) -> Result<T, WorkspaceError> {
        self.map_err(|source| WorkspaceError::Io { what, path: path.to_owned(), source })
    }
}
