//! A result that stands: after a review or a gate that changed nothing, it is not worked out again.

use std::fs;
use std::path::Path;

use super::create::Workspace;
use super::error::WorkspaceError;
use super::finalise::Finalised;
use crate::git::{Refs, Sha};

/// A result with nothing odd about it, and where everything was with it.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    finalised: Finalised,
    refs: Refs,
    /// How long the log of HEAD was.
    log: u64,
}

impl Workspace {
    /// Remembers a result. `staged` is the commit that the staging area holds; `refs` are those before it was pinned.
    pub(super) fn settle_as(&mut self, finalised: &Finalised, staged: Option<Sha>, mut refs: Refs) {
        let is_plain = finalised.found.is_empty() && finalised.others.is_empty();
        refs.insert(self.owner.branch.full(), finalised.head.clone());
        refs.extend(finalised.pin.clone().map(|pin| (pin, finalised.head.clone())));
        let settled = Settled { finalised: finalised.clone(), refs, log: self.log_of_head() };
        self.staged = staged.filter(|_| is_plain);
        self.settled = Some(settled).filter(|_| self.staged.as_ref() == Some(&finalised.head));
    }

    /// The last result once more, if nothing at all has changed since.
    pub(super) fn still_settled(&self, git_dir: Option<&Path>) -> Result<Option<Finalised>, WorkspaceError> {
        let (Some(settled), Some(git_dir)) = (&self.settled, git_dir) else { return Ok(None) };
        let head = fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
        let is_there = head.trim_end() == format!("ref: {}", self.owner.branch.full())
            && self.log_of_head() == settled.log
            && self.is_as(&settled.finalised.head)?
            && self.git().refs(&[])? == settled.refs;
        Ok(is_there.then(|| Finalised { leftover: None, ..settled.finalised.clone() }))
    }

    /// Whether the worktree is as this commit says, but for ignored files.
    pub(super) fn is_as(&self, commit: &Sha) -> Result<bool, WorkspaceError> {
        Ok(self.staged.as_ref() == Some(commit) && self.shadow().is_as_staged()?)
    }

    fn log_of_head(&self) -> u64 {
        let log = self.owner.git_dir.as_ref().map(|git_dir| git_dir.join("logs/HEAD"));
        log.and_then(|log| log.symlink_metadata().ok()).map_or(0, |meta| meta.len())
    }

    /// Whether the branch is plainly there, told without git.
    pub(super) fn branch_is_at(&self, commit: &Sha) -> bool {
        let file = self.owner.repository.join(self.owner.branch.full());
        // Never through a pipe, which would make us wait for ever.
        let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() < 100);
        is_file && fs::read_to_string(file).is_ok_and(|text| text.trim_end() == commit.as_str())
    }
}
