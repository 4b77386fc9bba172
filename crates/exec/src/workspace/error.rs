//! The ways a workspace can fail.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{BranchName, GitError, Sha};

/// Why a workspace could not be made, finalised or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file or folder could not be handled.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A new branch was asked for, and there is one of that name.
    #[error("make branch {branch}: it exists (at {}); continue it, delete it, or choose another name", at.short())]
    BranchExists {
        /// The branch.
        branch: BranchName,
        /// Where it is.
        at: Sha,
    },
    /// A branch was to be continued, and there is none of that name.
    #[error("continue branch {branch}: there is none of that name")]
    BranchMissing {
        /// The branch.
        branch: BranchName,
    },
    /// A branch was to be continued, and it is elsewhere.
    #[error("continue branch {branch}: expected {}, found {}", expected.short(), found.short())]
    BranchMoved {
        /// The branch.
        branch: BranchName,
        /// Where it was to be.
        expected: Sha,
        /// Where it is.
        found: Sha,
    },
    /// The branch is checked out in another worktree.
    #[error(
        "use branch {branch}: it is checked out elsewhere ({reason}); switch that checkout to another branch"
    )]
    BranchBusy {
        /// The branch.
        branch: BranchName,
        /// What git said.
        reason: String,
    },
    /// The worktree is not there any more, or not on its branch; its result is in git.
    #[error(
        "go on in the worktree of run {run}: it is gone or not on its branch; the result so far is kept in git"
    )]
    Unusable {
        /// The run.
        run: String,
    },
    /// A run cannot have this id.
    #[error("use {run:?} as the id of a run: letters, digits, `-`, `_` and single dots inside, at most 100")]
    BadRun {
        /// The id.
        run: String,
    },
    /// There is a workspace for this run already.
    #[error("make the workspace of run {run}: there is one already")]
    RunExists {
        /// The run.
        run: String,
    },
    /// Somebody makes or removes worktrees and does not come to an end.
    #[error("lock {}: a Pilot, or a git it started, has held it for {} s; `fuser {}` names it", path.display(), waited.as_secs(), path.display())]
    DoorShut {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The owner file cannot be read or written.
    #[error("read the owner file {}: {source}", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The repository of a run is gone.
    #[error("find the repository of run {run}: {} is gone; the work stays where it is", repository.display())]
    RepositoryGone {
        /// The run.
        run: String,
        /// Its repository.
        repository: PathBuf,
    },
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
