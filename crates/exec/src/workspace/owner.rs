//! The owner file: the process a worktree belongs to and how far it got.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use pilot_core::id::{Branch, Sha};
use serde::{Deserialize, Serialize};

use super::error::{Tried, WorkspaceError};
use crate::git::Identity;

/// What is written beside a worktree, before it exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceOwner {
    pub run: String,
    pub pid: u32,
    /// When that process started, in the kernel's ticks since boot: a pid alone comes back.
    pub pid_start: Option<u64>,
    pub repository: PathBuf,
    /// The root of the user's checkout; none for a bare repository.
    pub checkout: Option<PathBuf>,
    pub tree: PathBuf,
    /// The repository's directory for this worktree, once it is made.
    pub git_dir: Option<PathBuf>,
    pub branch: Branch,
    pub new_branch: bool,
    pub base: Sha,
    pub identity: Identity,
    /// Settings that switch off filters and hooks of the repository's configuration.
    pub off: Vec<(String, String)>,
    pub created: u64,
    pub stage: WorkspaceStage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceStage {
    /// Only announced: no agent has seen it.
    Planned,
    /// Complete: an agent may have worked in it.
    Ready,
    /// The result is in git: it may be removed.
    Finalised { head: Sha, keep_tree: bool },
}

impl WorkspaceOwner {
    pub(super) fn read(path: &Path) -> Result<Self, WorkspaceError> {
        let bytes = fs::read(path).tried("read", path)?;
        serde_json::from_slice(&bytes)
            .map_err(|source| WorkspaceError::Owner { path: path.to_owned(), source })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), WorkspaceError> {
        let bytes = serde_json::to_vec_pretty(self)
            .map_err(|source| WorkspaceError::Owner { path: path.to_owned(), source })?;
        let new = path.with_extension("new");
        let mut file = File::create(&new).tried("write", &new)?;
        file.write_all(&bytes).tried("write", &new)?;
        fs::rename(&new, path).tried("write", path)
    }

    pub fn is_alive(&self) -> bool {
        self.pid_start.is_some() && start_of(self.pid) == self.pid_start
    }
}

/// When a process started, in ticks since boot; none when it does not exist, or is a zombie, as orphans are where the init of
/// a container does not reap them.
pub fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the start is the 22nd field, the 20th behind the name.
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace();
    fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::start_of;

    #[test]
    fn the_start_of_a_process_is_known_while_it_runs() {
        assert!(start_of(std::process::id()).is_some_and(|start| start > 0));
        assert_eq!(start_of(u32::MAX), None);
    }

    #[test]
    fn one_that_is_dead_and_still_listed_does_not_run() {
        #[expect(clippy::disallowed_methods, reason = "a process that ends and is not waited for")]
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        assert!(start_of(pid).is_some());
        child.kill().unwrap();
        // Its end is only visible by polling the same file.
        while start_of(pid).is_some() {
            std::thread::yield_now();
        }
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
        child.wait().unwrap();
    }
}
