//! Putting files under version control back, between two commands that judge the same commit.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::create::Workspace;
use super::error::WorkspaceError;
use super::finalise::Finalised;

impl Workspace {
    /// Makes every file of the result what it was and names those that were not. Files that are not under version control
    /// stay: one gate may need what another wrote. The worktree is one that [`reopen`](Self::reopen) prepared.
    pub fn revert(&self, finalised: &Finalised) -> Result<Vec<PathBuf>, WorkspaceError> {
        if self.shadow().has_every_file() {
            return Ok(Vec::new());
        }
        let args = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let git = self.shadow().git();
        let listed = git.run(&[&args[..], &["--ignore-submodules=all"]].concat(), b"")?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let changed: Vec<PathBuf> = names.map(|name| OsString::from_vec(name.to_vec()).into()).collect();
        if !changed.is_empty() {
            let _ = fs::remove_file(self.dir.index().with_extension("lock"));
            git.run(&["read-tree", "-u", "--reset", finalised.head.as_str()], b"")?;
        }
        Ok(changed)
    }
}
