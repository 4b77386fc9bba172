//! Reopens a workspace whose work so far is in git: for gates, which judge exactly that commit, and for an agent that
//! gets their findings. Between two gates, what one changed under version control is reverted.

use std::fs;
use std::path::{Path, PathBuf};

use pilot_core::id::Sha;

use super::create::Workspace;
use super::error::{Tried, WorkspaceError};
use super::finalise::Finalised;
use super::finding::RunFinding;
use super::owner::WorkspaceStage;
use super::remove::clear;
use crate::git::{RefChange, path_of};

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
        let git_dir = self.owner.git_dir.clone();
        let unsaved = finalised.found.iter().any(|finding| matches!(finding, RunFinding::Unreadable { .. }));
        let (Some(git_dir), false) = (git_dir, unsaved) else {
            return Err(WorkspaceError::Unusable { run: self.owner.run.clone() });
        };
        // First, so that a recovery after a crash commits everything again.
        self.enter(WorkspaceStage::Ready)?;
        self.guard.restore(&self.dir)?;
        self.make_usable(&git_dir, finalised)?;
        self.set_branch(finalised)?;
        if !self.is_as(&finalised.head)? {
            self.staged = None;
            self.staging().put_back(&finalised.head)?;
            self.staged = Some(finalised.head.clone());
        }
        self.resumed = true;
        let index = git_dir.join("index");
        clear_unless_file(&index)?;
        fs::copy(self.dir.index(), &index).tried("write", &index)?;
        Ok(())
    }

    /// Folders and files that make the worktree one, whatever became of them. Where the branch could not be set the worktree is
    /// on none.
    fn make_usable(&self, git_dir: &Path, finalised: &Finalised) -> Result<(), WorkspaceError> {
        let tree = self.path();
        for folder in [&self.dir.tree(), tree, git_dir] {
            if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                clear(folder)?;
                fs::create_dir_all(folder).tried("make", folder)?;
            }
        }
        for name in HALF_DONE {
            clear(&git_dir.join(name))?;
        }
        let link = tree.join(".git");
        let head = match finalised.found.iter().any(RunFinding::is_off_branch) {
            true => format!("{}\n", finalised.head),
            false => format!("ref: {}\n", self.owner.branch.ref_name()),
        };
        for (file, text) in [
            (link.clone(), format!("gitdir: {}\n", git_dir.display())),
            (git_dir.join("gitdir"), format!("{}\n", link.display())),
            (git_dir.join("commondir"), "../..\n".to_owned()),
            (git_dir.join("HEAD"), head),
        ] {
            clear_unless_file(&file)?;
            fs::write(&file, text).tried("write", &file)?;
        }
        Ok(())
    }

    /// Confirms the result: nothing ran in the worktree since [`reopen`](Self::reopen) whose changes must be kept.
    pub fn seal(&mut self, finalised: &Finalised) -> Result<Vec<RunFinding>, WorkspaceError> {
        let found = self.guard.restore(&self.dir)?;
        self.set_branch(finalised)?;
        self.enter(WorkspaceStage::Finalised { head: finalised.head.clone(), keep_tree: false })?;
        Ok(found)
    }

    /// Makes an earlier result of this run the result again, and returns the ref that keeps the later one. Reopen or seal it
    /// afterwards.
    pub fn step_back(&mut self, earlier: &Finalised) -> Result<Option<String>, WorkspaceError> {
        let git = self.git();
        let now = git.refs(&[])?;
        let (branch, pin) = (self.owner.branch.ref_name(), self.pin());
        let Some(later) = now.get(&branch).filter(|later| **later != earlier.head).cloned() else {
            return Ok(None);
        };
        let Some(kept) = self.pins_of(vec![later], &now).pop() else { return Ok(None) };
        let change = |name: &str, after: &Sha| RefChange::set(name, &now, after);
        let changes =
            [change(&kept.pin, &kept.sha), change(&pin, &earlier.head), change(&branch, &earlier.head)];
        git.change_refs(&changes, &format!("pilot: run {}", self.owner.run))?;
        Ok(Some(kept.pin))
    }

    fn set_branch(&self, finalised: &Finalised) -> Result<(), WorkspaceError> {
        let name = self.owner.branch.ref_name();
        if finalised.found.iter().any(RunFinding::is_off_branch) || self.branch_is_at(&finalised.head) {
            return Ok(());
        }
        let git = self.git();
        let before = git.refs(&[&name])?.get(&name).cloned();
        if before.as_ref() != Some(&finalised.head) {
            let change = RefChange { name, before, after: Some(finalised.head.clone()) };
            git.change_refs(&[change], &format!("pilot: run {}", self.owner.run))?;
        }
        Ok(())
    }

    /// Makes every file of the result what it was and names those that were not. Files that are not under version control
    /// stay: one gate may need what another wrote. The worktree is one that [`reopen`](Self::reopen) prepared.
    pub fn revert(&self, finalised: &Finalised) -> Result<Vec<PathBuf>, WorkspaceError> {
        if self.staging().has_every_file() {
            return Ok(Vec::new());
        }
        let args = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let git = self.staging().git();
        let listed = git.run(&[&args[..], &["--ignore-submodules=all"]].concat(), b"")?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let changed: Vec<PathBuf> = names.map(path_of).collect();
        if !changed.is_empty() {
            let _ = fs::remove_file(self.dir.index().with_extension("lock"));
            git.run(&["read-tree", "-u", "--reset", finalised.head.as_str()], b"")?;
        }
        Ok(changed)
    }
}

fn clear_unless_file(path: &Path) -> Result<(), WorkspaceError> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) | Err(_) => clear(path),
    }
}
