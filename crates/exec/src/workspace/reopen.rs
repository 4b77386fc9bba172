//! Going on in a workspace whose work so far is in git: for gates, which judge exactly that commit, and for an agent that
//! is told what they found.

use std::fs;
use std::path::Path;

use super::create::Workspace;
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::found::Finding;
use super::owner::Stage;
use super::remove::clear;
use crate::git::RefChange;

/// What half-done merges and the like leave in a worktree's git directory; their result is in git.
const HALF_DONE: [&str; 8] = [
    "index.lock",
    "HEAD.lock",
    "MERGE_HEAD",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
];

impl Workspace {
    /// Makes the worktree what the result says, on its branch and clean, but for files that are ignored. What came after
    /// the result, a gate's files say, is thrown away.
    pub fn reopen(&mut self, finalised: &Finalised) -> Result<(), WorkspaceError> {
        let git_dir = self.owner.git_dir.clone().filter(|dir| dir.is_dir());
        let (Some(git_dir), true) = (git_dir, self.path().is_dir()) else {
            return Err(WorkspaceError::Unusable { run: self.owner.run.clone() });
        };
        if finalised.found.iter().any(Finding::forbids_going_on) {
            return Err(WorkspaceError::Unusable { run: self.owner.run.clone() });
        }
        // First: whoever finds it half done collects everything again.
        self.enter(Stage::Ready)?;
        self.guard.restore(&self.dir)?;
        for name in HALF_DONE {
            clear(&git_dir.join(name))?;
        }
        let link = self.path().join(".git");
        clear_unless_file(&link)?;
        fs::write(&link, format!("gitdir: {}\n", git_dir.display())).tried("write", &link)?;
        let head = git_dir.join("HEAD");
        clear_unless_file(&head)?;
        fs::write(&head, format!("ref: {}\n", self.owner.branch.full())).tried("write", &head)?;
        self.set_branch(finalised)?;
        self.shadow().put_back(&finalised.head)?;
        self.resumed = true;
        let index = git_dir.join("index");
        clear_unless_file(&index)?;
        fs::copy(self.dir.index(), &index).tried("write", &index)?;
        Ok(())
    }

    /// Says that the result stands: nothing worked in the tree since [`reopen`](Self::reopen) but what may be thrown away.
    pub fn seal(&mut self, finalised: &Finalised) -> Result<Vec<Finding>, WorkspaceError> {
        let found = self.guard.restore(&self.dir)?;
        self.set_branch(finalised)?;
        self.enter(Stage::Finalised { head: finalised.head.clone(), keep_tree: false })?;
        Ok(found)
    }

    /// The branch is where the result is, whatever ran since.
    fn set_branch(&self, finalised: &Finalised) -> Result<(), WorkspaceError> {
        let name = self.owner.branch.full();
        let git = self.git();
        let before = git.refs(&[&name])?.get(&name).cloned();
        if before.as_ref() != Some(&finalised.head) {
            let change = RefChange { name, before, after: Some(finalised.head.clone()) };
            git.change_refs(&[change], &format!("pilot: run {}", self.owner.run))?;
        }
        Ok(())
    }
}

/// Removes what stands in the place of a file.
fn clear_unless_file(path: &Path) -> Result<(), WorkspaceError> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) | Err(_) => clear(path),
    }
}
