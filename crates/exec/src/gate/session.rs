//! A worktree during an agent's session: files that gates add are removed again, the agent's changes stay.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::git::{Git, GitError, GitPlace, Program, StatusEntry};

pub(super) struct TreeBefore {
    git: Git,
    tree: PathBuf,
    paths: BTreeSet<PathBuf>,
}

impl TreeBefore {
    /// Reads the worktree's status. Git may discover the repository itself: an agent that could redirect it runs beside us anyway.
    pub(super) fn look(program: &Arc<Program>, tree: &Path) -> Result<TreeBefore, GitError> {
        let place = GitPlace { dir: tree.to_owned(), ..GitPlace::default() };
        let git = Git::at(Arc::clone(program), place);
        let paths = git.status()?.into_iter().map(|entry| entry.path).collect();
        Ok(TreeBefore { git, tree: tree.to_owned(), paths })
    }

    /// Removes files that came since, and puts files back that were clean before. What the agent had changed already is
    /// left alone.
    pub(super) fn put_back(&self) -> Result<(), GitError> {
        let now = self.git.status()?;
        let new: Vec<&StatusEntry> = now.iter().filter(|entry| !self.paths.contains(&entry.path)).collect();
        let mut changed = Vec::new();
        for entry in new {
            if entry.is_untracked() {
                self.remove(&entry.path);
            } else if entry.code[0] == b' ' {
                changed.extend_from_slice(entry.path.as_os_str().as_bytes());
                changed.push(0);
            }
        }
        if !changed.is_empty() {
            self.git.run(&["checkout-index", "--force", "-z", "--stdin"], &changed)?;
        }
        Ok(())
    }

    /// Removes a file and the folders that become empty. A nested repository is never removed.
    fn remove(&self, path: &Path) {
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || fs::remove_file(self.tree.join(path)).is_err() {
            return;
        }
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(self.tree.join(folder)).is_err() {
                return;
            }
        }
    }
}
