//! The last result, cached: after a review or a gate that changed nothing, it is not computed again.

use std::fs;
use std::path::Path;

use pilot_core::id::Sha;

use super::create::Workspace;
use super::error::WorkspaceError;
use super::finalise::Finalised;
use crate::git::Refs;

/// A result without findings, and the state of the repository it belongs to.
#[derive(Clone, Debug)]
pub(super) struct CachedResult {
    finalised: Finalised,
    refs: Refs,
    log: u64,
}

impl Workspace {
    /// Remembers a result. `staged` is the commit that the staging area holds; `refs` are those before it was pinned.
    pub(super) fn cache_result(&mut self, finalised: &Finalised, staged: Option<Sha>, mut refs: Refs) {
        let is_plain = finalised.found.is_empty() && finalised.others.is_empty();
        refs.insert(self.owner.branch.ref_name(), finalised.head.clone());
        refs.extend(finalised.pin.clone().map(|pin| (pin, finalised.head.clone())));
        let cached = CachedResult { finalised: finalised.clone(), refs, log: self.log_of_head() };
        self.staged = staged.filter(|_| is_plain);
        self.cached = Some(cached).filter(|_| self.staged.as_ref() == Some(&finalised.head));
    }

    pub(super) fn find_cached_result(
        &self,
        git_dir: Option<&Path>,
    ) -> Result<Option<Finalised>, WorkspaceError> {
        let (Some(cached), Some(git_dir)) = (&self.cached, git_dir) else { return Ok(None) };
        let head = fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
        let is_there = head.trim_end() == format!("ref: {}", self.owner.branch.ref_name())
            && self.log_of_head() == cached.log
            && self.is_as(&cached.finalised.head)?
            && self.git().refs(&[])? == cached.refs;
        Ok(is_there.then(|| Finalised { leftover: None, ..cached.finalised.clone() }))
    }

    pub(super) fn is_as(&self, commit: &Sha) -> Result<bool, WorkspaceError> {
        Ok(self.staged.as_ref() == Some(commit) && self.staging().is_as_staged()?)
    }

    fn log_of_head(&self) -> u64 {
        let log = self.owner.git_dir.as_ref().map(|git_dir| git_dir.join("logs/HEAD"));
        log.and_then(|log| log.symlink_metadata().ok()).map_or(0, |meta| meta.len())
    }

    /// Whether the branch is certainly at this commit, checked without git.
    pub(super) fn branch_is_at(&self, commit: &Sha) -> bool {
        let file = self.owner.repository.join(self.owner.branch.ref_name());
        // Never through a pipe, which would block.
        let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() < 100);
        is_file && fs::read_to_string(file).is_ok_and(|text| text.trim_end() == commit.as_str())
    }
}
