//! A worktree in the middle of an agent's session: what gates add to it is taken away again, what the agent did stays.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::git::{Git, GitError, Place, Program, StatusEntry};

/// What differed in a worktree before gates ran in it.
pub(super) struct Before {
    git: Git,
    tree: PathBuf,
    paths: BTreeSet<PathBuf>,
}

impl Before {
    /// Looks at the worktree. Git finds its repository itself: whoever could have touched it runs beside us anyway.
    pub(super) fn look(program: &Arc<Program>, tree: &Path) -> Result<Before, GitError> {
        let place = Place { dir: tree.to_owned(), ..Place::default() };
        let git = Git::at(Arc::clone(program), place);
        let paths = git.status()?.into_iter().map(|entry| entry.path).collect();
        Ok(Before { git, tree: tree.to_owned(), paths })
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

    /// Removes a file and the folders that are empty without it. A whole repository is not removed on suspicion.
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
