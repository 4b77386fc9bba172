//! A repository as its user sees it, read once, before any agent runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::id::{Branch, Sha};

use super::{Git, GitError, GitPlace, GitSettings, Program, Refs, together};

/// `Unborn` is a branch that has no commit yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    Branch { name: String, sha: Sha },
    Detached { sha: Sha },
    Unborn,
}

impl Head {
    pub fn sha(&self) -> Option<&Sha> {
        match self {
            Self::Branch { sha, .. } | Self::Detached { sha } => Some(sha),
            Self::Unborn => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Repository {
    pub git: Git,
    /// The directory with the objects and refs of all its worktrees.
    pub common_dir: PathBuf,
    root: Option<PathBuf>,
    pub is_shallow: bool,
    /// Whether its objects have 64-digit names.
    pub is_sha256: bool,
    pub head: Head,
    /// What of the user's configuration matters to us.
    pub settings: GitSettings,
    pub refs: Refs,
}

impl Repository {
    pub fn open(program: &Arc<Program>, dir: &Path) -> Result<Self, GitError> {
        let around = Git::at(Arc::clone(program), GitPlace { dir: dir.to_owned(), ..GitPlace::default() });
        let ((facts, settings), refs) = together(
            || together(|| read(&around, dir), || GitSettings::read(program, dir)),
            || around.refs(&[]),
        );
        let settings = settings?;
        let repository = facts?;
        let git = repository.git.with_settings(&settings.off);
        Ok(Self { git, settings, refs: refs?, ..repository })
    }

    pub fn remote_url(&self, remote: &str) -> Option<String> {
        let url = self.git.text(&["config", "--get", &format!("remote.{remote}.url")], b"").ok()?;
        Some(url.trim().to_owned()).filter(|url| !url.is_empty())
    }

    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    pub fn branch(&self, name: &Branch) -> Option<&Sha> {
        self.refs.get(&name.ref_name())
    }

    /// The commit to start from: what `revision` names, or HEAD of the checkout.
    pub fn base(&self, revision: Option<&str>) -> Result<Sha, GitError> {
        let dir = || self.root.clone().unwrap_or_else(|| self.common_dir.clone());
        let Some(revision) = revision else {
            return self.head.sha().cloned().ok_or_else(|| GitError::Unborn { dir: dir() });
        };
        let known =
            ["refs/heads/", "refs/tags/", "refs/remotes/"].map(|prefix| format!("{prefix}{revision}"));
        let [head, tag, remote] = known.map(|name| self.refs.get(&name));
        // A tag may be an object of its own, and git resolves names that are ambiguous.
        if let (Some(sha), None, None) = (head, tag, remote) {
            return Ok(sha.clone());
        }
        let name = format!("{revision}^{{commit}}");
        let ended = self.git.end(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], b"")?;
        let found = String::from_utf8_lossy(&ended.stdout);
        Sha::parse(found.trim()).map_err(|_| GitError::UnknownRevision {
            revision: revision.chars().take(200).collect(),
            dir: dir(),
        })
    }

    pub fn is_dirty(&self) -> Result<bool, GitError> {
        let Some(root) = &self.root else { return Ok(false) };
        let place = GitPlace { dir: root.clone(), work_tree: Some(root.clone()), ..self.git.place.clone() };
        let git = Git::at(Arc::clone(&self.git.program), place).with_settings(&self.settings.off);
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
        Ok(!git.run(&args, b"")?.is_empty())
    }
}

/// One call reads everything but settings and refs; where its output stops shows what is missing.
fn read(git: &Git, dir: &Path) -> Result<Repository, GitError> {
    let args =
        ["rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--is-bare-repository"];
    let more =
        ["--is-shallow-repository", "--show-object-format", "HEAD^{commit}", "--symbolic-full-name", "HEAD"];
    let ended = git.end(&[&args[..], &more[..]].concat(), b"")?;
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    let lines: Vec<&str> = printed.lines().collect();
    let [common_dir, git_dir, bare, shallow, format, rest @ ..] = &lines[..] else {
        return Err(no_facts(ended, dir));
    };
    let root = if *bare == "true" { None } else { Some(root(git)?) };
    let head = match rest {
        [sha, "HEAD", ..] if ended.code == Some(0) => Head::Detached { sha: Sha::parse(sha)? },
        [sha, name, ..] if ended.code == Some(0) => Head::Branch {
            name: name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(),
            sha: Sha::parse(sha)?,
        },
        _ => Head::Unborn,
    };
    let common_dir = PathBuf::from(common_dir);
    let place = GitPlace { dir: common_dir.clone(), git_dir: Some(git_dir.into()), ..GitPlace::default() };
    Ok(Repository {
        git: Git::at(Arc::clone(&git.program), place),
        common_dir,
        root,
        is_shallow: *shallow == "true",
        is_sha256: *format == "sha256",
        head,
        settings: GitSettings::default(),
        refs: Refs::new(),
    })
}

/// The root of the working tree, found as git finds it for a checkout: the nearest folder up with a `.git`.
fn root(git: &Git) -> Result<PathBuf, GitError> {
    let dir = &git.place.dir;
    let found = dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    found.map(Path::to_owned).ok_or_else(|| GitError::NotARepository { dir: dir.clone() })
}

fn no_facts(ended: super::run::GitExit, dir: &Path) -> GitError {
    if ended.stderr.contains("not a git repository") {
        return GitError::NotARepository { dir: dir.to_owned() };
    }
    ended.failed("rev-parse")
}
