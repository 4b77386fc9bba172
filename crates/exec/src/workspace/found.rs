//! What a run left that a run should not leave.

use std::fmt;
use std::path::PathBuf;

use crate::git::Sha;

/// Something found when a run was finalised. None of them stops the result from being kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A guarded file of the repository (configuration, hook, exclude, …) was not as before; it is again.
    Guarded {
        /// The file.
        path: PathBuf,
        /// What was done to it.
        touched: Touched,
        /// Where its content as found is kept, when it had any.
        kept: Option<PathBuf>,
        /// Whether it is as before again; false only for what was too large to remember.
        restored: bool,
    },
    /// The worktree's directory was gone, or emptied.
    TreeGone,
    /// The worktree's directory was replaced by something else, which was not looked into.
    TreeReplaced,
    /// The worktree's `.git` file was gone or another.
    GitFileReplaced {
        /// Where the repository that took its place is kept, when it was one.
        kept: Option<PathBuf>,
    },
    /// The repository's directory for this worktree was gone, so where its HEAD was is unknown.
    GitDirGone,
    /// An `index.lock` was left behind.
    IndexLock,
    /// An operation was left half-way.
    Unfinished(Unfinished),
    /// HEAD was not on the branch of the run; the branch has been set to the result.
    OffBranch {
        /// The commit HEAD was at, when there was one.
        head: Option<Sha>,
    },
    /// The result does not descend from the base.
    OffBase,
    /// A repository inside the worktree: its files are in the result, its history is kept aside.
    NestedRepository {
        /// Where it was, from the root of the worktree.
        path: PathBuf,
        /// Where its git directory is kept.
        kept: PathBuf,
    },
    /// A submodule was entered; its repository is kept aside.
    Submodule {
        /// Where it is, from the root of the worktree.
        path: PathBuf,
        /// Where its git directory is kept.
        kept: PathBuf,
    },
    /// A file that git could not take in time: a pipe or device, which was deleted, or a huge one, which is kept aside.
    Obstacle {
        /// Where it was, from the root of the worktree.
        path: PathBuf,
        /// Where it is kept.
        kept: Option<PathBuf>,
    },
    /// Some files could not be staged, so the whole tree is kept aside instead of deleted.
    Unreadable {
        /// What git said.
        reason: String,
    },
    /// Another ref changed while the run went on.
    RefChanged {
        /// The full name.
        name: String,
        /// Where it was.
        before: Option<Sha>,
        /// Where it was found.
        after: Option<Sha>,
        /// Whether it was set back, which happens only when this worktree's own log says that the run moved it.
        restored: bool,
    },
    /// The branch could not be set to the result, which is pinned all the same.
    BranchNotSet {
        /// What git said.
        reason: String,
    },
}

impl Finding {
    /// Whether the run changed what it has no business to change. A ref that somebody else may have moved does not count.
    pub fn is_tampering(&self) -> bool {
        match self {
            Self::Guarded { .. } | Self::TreeReplaced | Self::GitFileReplaced { .. } | Self::GitDirGone => {
                true
            }
            Self::RefChanged { restored, .. } => *restored,
            Self::TreeGone
            | Self::IndexLock
            | Self::Unfinished(_)
            | Self::OffBranch { .. }
            | Self::OffBase
            | Self::NestedRepository { .. }
            | Self::Submodule { .. }
            | Self::Obstacle { .. }
            | Self::Unreadable { .. }
            | Self::BranchNotSet { .. } => false,
        }
    }
}

impl Finding {
    /// Whether the branch is not where the result is.
    pub(super) fn is_off_branch(&self) -> bool {
        matches!(self, Self::BranchNotSet { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aside = |kept: &Option<PathBuf>| match kept {
            Some(path) => format!(" (kept in {})", path.display()),
            None => String::new(),
        };
        match self {
            Self::Guarded { path, restored, kept, .. } => {
                let now = if *restored { "it is as before again" } else { "it could not be restored" };
                write!(f, "{} was changed, {now}{}", path.display(), aside(kept))
            }
            Self::TreeGone => write!(f, "the worktree was gone or emptied"),
            Self::TreeReplaced => write!(f, "the worktree was replaced by something else"),
            Self::GitFileReplaced { kept } => write!(f, "the worktree's .git was replaced{}", aside(kept)),
            Self::GitDirGone => write!(f, "the repository's directory for the worktree was gone"),
            Self::IndexLock => write!(f, "an index.lock was left behind"),
            Self::Unfinished(Unfinished::Merge) => write!(f, "a merge was left half-way"),
            Self::Unfinished(Unfinished::Rebase) => write!(f, "a rebase was left half-way"),
            Self::Unfinished(Unfinished::CherryPick) => write!(f, "a cherry-pick was left half-way"),
            Self::Unfinished(Unfinished::Revert) => write!(f, "a revert was left half-way"),
            Self::OffBranch { .. } => {
                write!(f, "the work was not on its branch; the branch has been set to it")
            }
            Self::OffBase => write!(f, "the result does not descend from its base"),
            Self::NestedRepository { path, kept } | Self::Submodule { path, kept } => {
                write!(f, "{} holds a repository of its own, kept in {}", path.display(), kept.display())
            }
            Self::Obstacle { path, kept } => {
                write!(f, "{} could not be taken into git{}", path.display(), aside(kept))
            }
            Self::Unreadable { reason } => {
                write!(f, "some files could not be staged ({reason}), the tree is kept")
            }
            Self::RefChanged { name, restored, .. } => {
                write!(f, "{name} was moved{}", if *restored { " and is set back" } else { "" })
            }
            Self::BranchNotSet { reason } => write!(f, "the branch could not be set: {reason}"),
        }
    }
}

/// What was done to a guarded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// It was not there before.
    Added,
    /// It was another before.
    Changed,
    /// It was there before.
    Removed,
}

/// Operations of git that stop half-way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A merge.
    Merge,
    /// A rebase, or the application of patches.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
}
