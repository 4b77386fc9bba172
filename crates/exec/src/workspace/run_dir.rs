//! Where the files of a run are, below Pilot's home.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{Tried, WorkspaceError};
use crate::pause::pause;

/// How long the lock of all runs may be held: longer than git takes to add a worktree.
const PATIENCE: Duration = Duration::from_secs(120);

const STEP: Duration = Duration::from_millis(2);

/// The folder of one run: `<home>/worktrees/<run>`.
#[derive(Clone, Debug)]
pub(super) struct RunDir {
    pub(super) home: PathBuf,
    pub(super) run: String,
}

impl RunDir {
    pub(super) fn new(home: &Path, run: &str) -> Result<Self, WorkspaceError> {
        let letters = run.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let edges =
            run.starts_with(['.', '-']) || run.ends_with('.') || run.ends_with(".lock") || run.contains("..");
        if !letters || edges || run.is_empty() || run.len() > 100 {
            return Err(WorkspaceError::BadRun { run: run.chars().take(200).collect() });
        }
        Ok(Self { home: home.to_owned(), run: run.to_owned() })
    }

    pub(super) fn root(&self) -> PathBuf {
        all(&self.home).join(&self.run)
    }

    /// Holds the worktree, under a name its project would have.
    pub(super) fn tree(&self) -> PathBuf {
        self.root().join("tree")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.root().join("lock")
    }

    pub(super) fn owner(&self) -> PathBuf {
        self.root().join("owner.json")
    }

    pub(super) fn guard(&self) -> PathBuf {
        self.root().join("guard")
    }

    pub(super) fn refs(&self) -> PathBuf {
        self.root().join("refs")
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.root().join("shadow.git")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.root().join("index")
    }

    /// What is set aside for the user outlives the run.
    pub(super) fn kept(&self) -> PathBuf {
        self.home.join("kept").join(&self.run)
    }

    pub(super) fn set_aside(&self, what: &Path, name: &str) -> Result<PathBuf, WorkspaceError> {
        let kept = self.free(name)?;
        fs::rename(what, &kept).tried("set aside", what)?;
        Ok(kept)
    }

    pub(super) fn write_aside(&self, bytes: &[u8], name: &str) -> Result<PathBuf, WorkspaceError> {
        let kept = self.free(name)?;
        fs::write(&kept, bytes).tried("write", &kept)?;
        Ok(kept)
    }

    fn free(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        let kept = self.kept();
        fs::create_dir_all(&kept).tried("make", &kept)?;
        let mut path = kept.join(name);
        let mut number = 1;
        while path.symlink_metadata().is_ok() {
            number += 1;
            path = kept.join(format!("{name}.{number}"));
        }
        Ok(path)
    }
}

pub(super) fn all(home: &Path) -> PathBuf {
    home.join("worktrees")
}

/// The lock of all runs: held while a run's folder is made or recovered, so that a new one is not taken for a dead one, and
/// while the repository's list of worktrees is changed.
pub(super) fn lock_runs(home: &Path) -> Result<File, WorkspaceError> {
    let all = all(home);
    fs::create_dir_all(&all).tried("make", &all)?;
    let path = all.join(".lock");
    let file = open_lock(&path)?;
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => pause(STEP),
            Err(TryLockError::Error(error)) => return Err(error).tried("lock", &path),
        }
    }
    Err(WorkspaceError::DoorShut { path, waited: PATIENCE })
}

pub(super) fn open_lock(path: &Path) -> Result<File, WorkspaceError> {
    File::options().create(true).truncate(false).write(true).open(path).tried("open", path)
}

#[cfg(test)]
mod tests {
    use super::RunDir;

    #[test]
    fn run_ids_are_safe_as_folder_and_ref() {
        for (run, fine) in [
            ("0198f0c2-7d1e-7c60-9d1b-1f2e3d4c5b6a", true),
            ("GH-12.2", true),
            ("", false),
            ("../x", false),
            ("a/b", false),
            (".a", false),
            ("-a", false),
            ("a..b", false),
            ("a.lock", false),
            ("a b", false),
        ] {
            assert_eq!(RunDir::new("/h".as_ref(), run).is_ok(), fine, "{run:?}");
        }
    }
}
