//! What a run left that it should not have left.

use std::path::PathBuf;

use pilot_core::id::Sha;

/// Something found when a run was finalised. None of them stops the result from being kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFinding {
    /// A file of the repository (configuration, hook, exclude, …); not restored only when it was too large to remember.
    #[error("{} was changed, {}{}", path.display(), restored_words(*restored), aside(kept.as_ref()))]
    Guarded { path: PathBuf, touched: GuardedChange, kept: Option<PathBuf>, restored: bool },
    #[error("the worktree was gone or emptied")]
    TreeGone,
    /// What took its place was not looked into.
    #[error("the worktree was replaced by something else")]
    TreeReplaced,
    #[error("the worktree's .git was replaced{}", aside(kept.as_ref()))]
    GitFileReplaced { kept: Option<PathBuf> },
    /// Where its HEAD was is unknown.
    #[error("the repository's directory for the worktree was gone")]
    GitDirGone,
    #[error("an index.lock was left behind")]
    IndexLock,
    #[error("a {} was left half-way", .0.as_str())]
    Unfinished(HalfDone),
    #[error("the work was not on its branch; the branch has been set to it")]
    OffBranch { head: Option<Sha> },
    #[error("the result does not descend from its base")]
    OffBase,
    /// Its files are in the result, its history is kept aside.
    #[error("{} holds a repository of its own, kept in {}", path.display(), kept.display())]
    NestedRepository { path: PathBuf, kept: PathBuf },
    #[error("{} holds a repository of its own, kept in {}", path.display(), kept.display())]
    Submodule { path: PathBuf, kept: PathBuf },
    /// A pipe or device, which was deleted, or a huge file, which is kept aside.
    #[error("{} could not be taken into git{}", path.display(), aside(kept.as_ref()))]
    Obstacle { path: PathBuf, kept: Option<PathBuf> },
    #[error("some files could not be staged ({reason}), the tree is kept")]
    Unreadable { reason: String },
    /// Set back only when this worktree's own log shows that the run moved it.
    #[error("{name} was moved{}", if *restored { " and is set back" } else { "" })]
    RefChanged { name: String, before: Option<Sha>, after: Option<Sha>, restored: bool },
    /// The result is pinned all the same.
    #[error("the branch could not be set: {reason}")]
    BranchNotSet { reason: String },
}

fn restored_words(restored: bool) -> &'static str {
    if restored { "it is as before again" } else { "it could not be restored" }
}

fn aside(kept: Option<&PathBuf>) -> String {
    kept.map_or_else(String::new, |path| format!(" (kept in {})", path.display()))
}

impl RunFinding {
    /// Whether the run changed something outside its task. A ref that the user may have moved does not count.
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

    pub(super) fn is_off_branch(&self) -> bool {
        matches!(self, Self::BranchNotSet { .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardedChange {
    Added,
    Changed,
    Removed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfDone {
    Merge,
    /// A rebase, or the application of patches.
    Rebase,
    CherryPick,
    Revert,
}

impl HalfDone {
    fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
        }
    }
}
