//! One bare repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::run::{Git, GitError, Invocation};
use crate::name::Sha;

/// The configuration of every repository. No garbage collection: a pull request may still refer to an object. Large files
/// are streamed, and compression is fast rather than good.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogAllRefUpdates = false
\tfsync = committed
\tfsyncMethod = batch
\tcompression = 1
\tbigFileThreshold = 1m
[receive]
\tfsckObjects = true
\thideRefs = refs/pull
\tdenyDeleteCurrent = false
\tadvertiseAtomic = true
[http]
\treceivepack = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
";

#[derive(Clone, Debug)]
pub(crate) struct Repository<'a> {
    pub(super) git: &'a Git,
    path: PathBuf,
}

impl Git {
    pub(crate) fn repository(&self, id: i64) -> Repository<'_> {
        Repository { git: self, path: self.root().join(format!("{id}.git")) }
    }

    /// Creates a repository under a unique temporary name; [`Repository::publish`] gives it its id.
    pub(crate) async fn create_draft(&self, default_branch: &str) -> Result<Repository<'_>, GitError> {
        let path = self.root().join(format!("draft-{}.git", uuid::Uuid::now_v7().simple()));
        let head = format!("ref: refs/heads/{default_branch}\n");
        for part in ["objects/pack", "objects/info", "refs/heads", "refs/tags"] {
            tokio::fs::create_dir_all(path.join(part)).await.map_err(GitError::Io)?;
        }
        for (name, text) in [("HEAD", head.as_str()), ("config", CONFIG)] {
            tokio::fs::write(path.join(name), text).await.map_err(GitError::Io)?;
        }
        Ok(Repository { git: self, path })
    }
}

impl<'a> Repository<'a> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves a draft to the directory of its id. A directory left there by a crash is removed.
    pub(crate) async fn publish(self, id: i64) -> Result<Repository<'a>, GitError> {
        let place = self.git.repository(id);
        if tokio::fs::try_exists(place.path()).await.map_err(GitError::Io)? {
            tokio::fs::remove_dir_all(place.path()).await.map_err(GitError::Io)?;
        }
        tokio::fs::rename(&self.path, place.path()).await.map_err(GitError::Io)?;
        Ok(place)
    }

    pub(crate) async fn remove(&self) -> Result<(), GitError> {
        match tokio::fs::remove_dir_all(&self.path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::Io(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A git command in this repository.
    pub(crate) fn call(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Invocation<'a> {
        self.git.call(args).within(self.path.clone())
    }

    /// Checks one commit out, without its history.
    pub(crate) async fn check_out(&self, commit: &Sha, place: &Path) -> Result<(), GitError> {
        let inside = place.join(".git");
        self.git.call(["init", "--quiet", "--template="]).args([place]).run().await?;
        let fetch = self.git.call(["fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options"]);
        let origin = format!("file://{}", self.path.display());
        fetch.args([&origin, commit.as_str()]).within(inside.clone()).run().await?;
        let args = ["checkout", "--quiet", "--detach", commit.as_str()];
        self.git.call(args).within(inside).with("GIT_WORK_TREE", place).run().await?;
        Ok(())
    }

    /// Resolves a revision, which must consist of validated names.
    pub(crate) async fn resolve(&self, revision: &str) -> Result<Option<Sha>, GitError> {
        let output =
            self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", revision]).output().await?;
        Ok(Sha::parse(&output.text()))
    }

    /// The commit with this sha, or with this prefix of at least 4 digits.
    pub(crate) async fn commit_named(&self, text: &str) -> Result<Option<Sha>, GitError> {
        let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hexadecimal || !(4..=40).contains(&text.len()) {
            return Ok(None);
        }
        self.resolve(&format!("{text}^{{commit}}")).await
    }

    /// Whether `old` is an ancestor of `new` or the same commit.
    pub(crate) async fn is_ancestor(&self, old: &Sha, new: &Sha) -> Result<bool, GitError> {
        let args = ["merge-base", "--is-ancestor", "--end-of-options", old.as_str(), new.as_str()];
        Ok(self.call(args).output().await?.code == Some(0))
    }

    pub(crate) async fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        let output =
            self.call(["merge-base", "--end-of-options", one.as_str(), other.as_str()]).output().await?;
        Ok(Sha::parse(output.text().lines().next().unwrap_or_default()))
    }
}
