//! One bare repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::run::{Git, GitError, Invocation};
use crate::name::Sha;

/// What every repository is set up with. Nothing is ever collected as garbage: a pull request may still name it. Large files
/// are streamed, and time is worth more than the room that better compression would save.
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

/// A bare repository below the forge's root.
#[derive(Clone, Debug)]
pub(crate) struct Repository<'a> {
    pub(super) git: &'a Git,
    path: PathBuf,
}

impl Git {
    /// The repository with this number.
    pub(crate) fn repository(&self, id: i64) -> Repository<'_> {
        Repository { git: self, path: self.root().join(format!("{id}.git")) }
    }

    /// A new repository under a name that no other has; [`Repository::settle`] gives it its place.
    pub(crate) async fn draft(&self, default_branch: &str) -> Result<Repository<'_>, GitError> {
        let path = self.root().join(format!("draft-{}.git", uuid::Uuid::now_v7().simple()));
        let head = format!("ref: refs/heads/{default_branch}\n");
        for part in ["objects/pack", "objects/info", "refs/heads", "refs/tags"] {
            tokio::fs::create_dir_all(path.join(part)).await.map_err(GitError::Talk)?;
        }
        for (name, text) in [("HEAD", head.as_str()), ("config", CONFIG)] {
            tokio::fs::write(path.join(name), text).await.map_err(GitError::Talk)?;
        }
        Ok(Repository { git: self, path })
    }
}

impl<'a> Repository<'a> {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives a draft its number. What a forge that died left there belongs to nobody.
    pub(crate) async fn settle(self, id: i64) -> Result<Repository<'a>, GitError> {
        let place = self.git.repository(id);
        if tokio::fs::try_exists(place.path()).await.map_err(GitError::Talk)? {
            tokio::fs::remove_dir_all(place.path()).await.map_err(GitError::Talk)?;
        }
        tokio::fs::rename(&self.path, place.path()).await.map_err(GitError::Talk)?;
        Ok(place)
    }

    /// Takes it off the disk.
    pub(crate) async fn remove(&self) -> Result<(), GitError> {
        match tokio::fs::remove_dir_all(&self.path).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::Talk(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A call of git in it.
    pub(crate) fn call(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Invocation<'a> {
        self.git.call(args).within(self.path.clone())
    }

    /// Puts one commit, and nothing before it, into a directory of its own.
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

    /// The object a revision means, if there is one. The revision is made of checked names only.
    pub(crate) async fn resolve(&self, revision: &str) -> Result<Option<Sha>, GitError> {
        let output =
            self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", revision]).ask().await?;
        Ok(Sha::parse(&output.text()))
    }

    /// The commit with this name, or whose name begins so: 4 digits at least.
    pub(crate) async fn commit_named(&self, text: &str) -> Result<Option<Sha>, GitError> {
        let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hexadecimal || !(4..=40).contains(&text.len()) {
            return Ok(None);
        }
        self.resolve(&format!("{text}^{{commit}}")).await
    }

    /// Whether one commit is an ancestor of another, or the same.
    pub(crate) async fn is_ancestor(&self, old: &Sha, new: &Sha) -> Result<bool, GitError> {
        let args = ["merge-base", "--is-ancestor", "--end-of-options", old.as_str(), new.as_str()];
        Ok(self.call(args).ask().await?.code == Some(0))
    }

    /// The best common ancestor.
    pub(crate) async fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        let output =
            self.call(["merge-base", "--end-of-options", one.as_str(), other.as_str()]).ask().await?;
        Ok(Sha::parse(output.text().lines().next().unwrap_or_default()))
    }
}
