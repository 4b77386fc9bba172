//! A repository as its user sees it, looked at once, before any agent runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{BranchName, Git, GitError, Place, Program, Refs, Settings, Sha, together};

/// What a checkout stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch with a commit.
    Branch {
        /// Its name.
        name: String,
        /// Its commit.
        sha: Sha,
    },
    /// No branch.
    Detached {
        /// The commit.
        sha: Sha,
    },
    /// A branch that has no commit yet.
    Unborn,
}

impl Head {
    /// The commit.
    pub fn sha(&self) -> Option<&Sha> {
        match self {
            Self::Branch { sha, .. } | Self::Detached { sha } => Some(sha),
            Self::Unborn => None,
        }
    }
}

/// Facts of a repository.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    common_dir: PathBuf,
    root: Option<PathBuf>,
    shallow: bool,
    sha256: bool,
    head: Head,
    settings: Settings,
    refs: Refs,
}

impl Repository {
    /// Looks at the repository that holds `dir`.
    pub fn open(program: &Arc<Program>, dir: &Path) -> Result<Self, GitError> {
        let around = Git::at(Arc::clone(program), Place { dir: dir.to_owned(), ..Place::default() });
        let ((facts, settings), refs) = together(
            || together(|| facts(&around, dir), || Settings::read(program, dir)),
            || around.refs(&[]),
        );
        let facts = facts?;
        let settings = settings?;
        let place =
            Place { dir: facts.common_dir.clone(), git_dir: Some(facts.git_dir.clone()), ..Place::default() };
        let git = Git::at(Arc::clone(program), place).with_settings(&settings.off);
        let Facts { common_dir, root, shallow, sha256, head, git_dir: _ } = facts;
        Ok(Self { git, common_dir, root, shallow, sha256, head, settings, refs: refs? })
    }

    /// The address of a remote as it is configured, if there is one. It may hold a password.
    pub fn remote_url(&self, remote: &str) -> Option<String> {
        let url = self.git.text(&["config", "--get", &format!("remote.{remote}.url")], b"").ok()?;
        Some(url.trim().to_owned()).filter(|url| !url.is_empty())
    }

    /// Git at this repository.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The directory with the objects and refs of all its worktrees.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The root of the working tree; none for a bare repository.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Whether its history is cut off.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// Whether its objects have 64-digit names.
    pub fn is_sha256(&self) -> bool {
        self.sha256
    }

    /// What the checkout stands on.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What of the user's configuration matters to us.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All refs, as they were when the repository was opened.
    pub fn refs(&self) -> &Refs {
        &self.refs
    }

    /// Where a branch was when the repository was opened.
    pub fn branch(&self, name: &BranchName) -> Option<&Sha> {
        self.refs.get(&name.full())
    }

    /// The commit to start from: what `revision` names, or where the checkout stands.
    pub fn base(&self, revision: Option<&str>) -> Result<Sha, GitError> {
        let dir = || self.root.clone().unwrap_or_else(|| self.common_dir.clone());
        let Some(revision) = revision else {
            return self.head.sha().cloned().ok_or_else(|| GitError::Unborn { dir: dir() });
        };
        let known =
            ["refs/heads/", "refs/tags/", "refs/remotes/"].map(|prefix| format!("{prefix}{revision}"));
        let [head, tag, remote] = known.map(|name| self.refs.get(&name));
        // A tag may be an object of its own, and a name in two places is git's to judge.
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

    /// Whether the checkout has changes that are in no commit.
    pub fn is_dirty(&self) -> Result<bool, GitError> {
        let Some(root) = &self.root else { return Ok(false) };
        let place = Place { dir: root.clone(), work_tree: Some(root.clone()), ..self.git.place().clone() };
        let git = Git::at(Arc::clone(self.git.program()), place).with_settings(&self.settings.off);
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
        Ok(!git.run(&args, b"")?.is_empty())
    }
}

struct Facts {
    common_dir: PathBuf,
    git_dir: PathBuf,
    root: Option<PathBuf>,
    shallow: bool,
    sha256: bool,
    head: Head,
}

/// One call answers everything; where it stops says what is missing.
fn facts(git: &Git, dir: &Path) -> Result<Facts, GitError> {
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
    let (common_dir, git_dir) = (PathBuf::from(common_dir), PathBuf::from(git_dir));
    Ok(Facts { common_dir, git_dir, root, shallow: *shallow == "true", sha256: *format == "sha256", head })
}

/// The root of the working tree, found as git finds it for a checkout: the nearest folder up with a `.git`.
fn root(git: &Git) -> Result<PathBuf, GitError> {
    let dir = &git.place().dir;
    let found = dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    found.map(Path::to_owned).ok_or_else(|| GitError::NotARepository { dir: dir.clone() })
}

fn no_facts(ended: super::run::Ended, dir: &Path) -> GitError {
    if ended.stderr.contains("not a git repository") {
        return GitError::NotARepository { dir: dir.to_owned() };
    }
    ended.failed("rev-parse")
}
