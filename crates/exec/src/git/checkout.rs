//! A checkout that the user or an agent works in: its commit, and whether it has changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use pilot_core::id::Sha;

use super::{Git, GitError, GitPlace, Repository, parse_status};

/// Usual names of a default branch, for when the remote does not report one.
const USUAL: [&str; 4] = ["main", "master", "trunk", "develop"];

#[derive(Clone, Debug)]
pub struct Checkout {
    git: Git,
    root: PathBuf,
}

impl Checkout {
    /// The checkout of a repository; none when it is bare.
    pub fn of(repository: &Repository) -> Option<Checkout> {
        let root = repository.root()?.to_owned();
        let place =
            GitPlace { dir: root.clone(), work_tree: Some(root.clone()), ..repository.git.place.clone() };
        let git = Git::at(Arc::clone(&repository.git.program), place);
        Some(Checkout { git: git.with_settings(&repository.settings.off), root })
    }

    pub fn head(&self) -> Result<Option<Sha>, GitError> {
        let ended = self.git.end(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], b"")?;
        match ended.code {
            Some(0) => Ok(Some(Sha::parse(String::from_utf8_lossy(&ended.stdout).trim())?)),
            Some(1 | 128) => Ok(None),
            _ => Err(ended.failed("rev-parse")),
        }
    }

    /// Where two lines of history parted; none when they never met.
    pub fn merge_base(&self, one: &str, other: &Sha) -> Result<Option<Sha>, GitError> {
        let ended = self.git.end(&["merge-base", "--end-of-options", one, other.as_str()], b"")?;
        match ended.code {
            Some(0) => Ok(Some(Sha::parse(String::from_utf8_lossy(&ended.stdout).trim())?)),
            _ => Ok(None),
        }
    }

    /// A hash of the commit and of all changed and new files, to detect any change.
    pub fn digest(&self) -> Result<u64, GitError> {
        let mut hasher = DefaultHasher::new();
        let head = self.head()?;
        head.as_ref().map(Sha::as_str).hash(&mut hasher);
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all"];
        let status = self.git.run(&args, b"")?;
        status.hash(&mut hasher);
        for entry in parse_status(&status).iter().filter(|entry| entry.is_untracked()) {
            if let Ok(file) = self.root.join(&entry.path).symlink_metadata() {
                (file.size(), file.mtime(), file.mtime_nsec()).hash(&mut hasher);
            }
        }
        if head.is_some() {
            let args =
                ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "HEAD"];
            self.git.run(&args, b"")?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }
}

impl Repository {
    pub fn default_branch(&self) -> Option<String> {
        let args = ["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"];
        if let Ok(ended) = self.git.end(&args, b"")
            && ended.code == Some(0)
            && let Some(name) =
                String::from_utf8_lossy(&ended.stdout).trim().strip_prefix("refs/remotes/origin/")
        {
            return Some(name.to_owned());
        }
        let is_there = |name: &&&str| self.refs.contains_key(&format!("refs/heads/{name}"));
        if let Some(name) = USUAL.iter().find(is_there) {
            return Some((*name).to_owned());
        }
        match &self.head {
            super::Head::Branch { name, .. } => Some(name.clone()),
            super::Head::Detached { .. } | super::Head::Unborn => None,
        }
    }
}
