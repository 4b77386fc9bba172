//! Making the worktree of a run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::books;
use super::error::{Tried, WorkspaceError};
use super::guard::Guard;
use super::owner::{Owner, Stage, start_of};
use super::remove::vanish;
use super::run_dir::{RunDir, all, door, open_lock};
use super::settled::Settled;
use super::shadow::Shadow;
use crate::git::{BranchName, Ended, Git, Place, Program, Refs, Repository, Sha};

/// How often making a worktree is tried again when another git got in the way.
const STUMBLES: usize = 5;

/// Which branch a run works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A branch that must not exist yet.
    NewBranch {
        /// Its name.
        name: BranchName,
        /// Where it starts.
        base: Sha,
    },
    /// A branch that must be where it is expected.
    Continue {
        /// Its name.
        branch: BranchName,
        /// Where it must be.
        expected: Sha,
        /// The commit since which everything on it counts as this run's work: what an earlier run of the same task left.
        since: Option<Sha>,
    },
}

impl Intent {
    /// The branch.
    pub fn branch(&self) -> &BranchName {
        match self {
            Self::NewBranch { name, .. } => name,
            Self::Continue { branch, .. } => branch,
        }
    }

    /// The commit the run starts from.
    pub fn base(&self) -> &Sha {
        match self {
            Self::NewBranch { base, .. } => base,
            Self::Continue { expected, since, .. } => since.as_ref().unwrap_or(expected),
        }
    }
}

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// The repository, as just opened.
    pub repository: &'a Repository,
    /// The branch.
    pub intent: Intent,
    /// The id of the run.
    pub run: &'a str,
    /// Pilot's home.
    pub home: &'a Path,
    /// The time, in seconds since 1970.
    pub now: u64,
}

/// The worktree of one run. While this value lives, nobody takes it for an orphan.
#[derive(Debug)]
pub struct Workspace {
    pub(super) dir: RunDir,
    pub(super) owner: Owner,
    /// Git, which holds the run's lock with us.
    pub(super) program: Arc<Program>,
    pub(super) guard: Guard,
    /// All refs before the run.
    pub(super) refs: Refs,
    /// Whether the staging area may not be as `create` left it.
    pub(super) resumed: bool,
    /// The commit that the staging area holds, if that is known.
    pub(super) staged: Option<Sha>,
    pub(super) settled: Option<Settled>,
}

impl Workspace {
    /// Makes a branch, if asked to, and a worktree on it, without touching the user's checkout.
    pub fn create(order: &Order<'_>) -> Result<Self, WorkspaceError> {
        let repository = order.repository;
        check(&order.intent, repository)?;
        let dir = RunDir::new(order.home, order.run)?;
        let guard = match neighbours_guard(order) {
            Some(guard) => guard,
            None => Guard::take(repository.common_dir())?,
        };
        let owner = announce(order, &dir);
        let lock = claim(order.home, &dir, &owner)?;
        let mut workspace = Self {
            dir,
            owner,
            program: Arc::new(repository.git().program().holding(Arc::new(lock))),
            guard,
            refs: repository.refs().clone(),
            resumed: false,
            staged: None,
            settled: None,
        };
        match workspace.build(order) {
            Ok(()) => Ok(workspace),
            Err(error) => {
                // Nobody worked in it, so nothing can be lost. What made it fail is the news, not this.
                let branch_is_ours = !matches!(error, WorkspaceError::BranchExists { .. });
                let _ = workspace.discard(branch_is_ours);
                Err(error)
            }
        }
    }

    /// The worktree.
    pub fn path(&self) -> &Path {
        &self.owner.tree
    }

    /// The id of the run.
    pub fn run(&self) -> &str {
        &self.owner.run
    }

    /// The branch.
    pub fn branch(&self) -> &BranchName {
        &self.owner.branch
    }

    /// The commit the run started from.
    pub fn base(&self) -> &Sha {
        &self.owner.base
    }

    /// What stands in the owner file.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Git at the repository, by its resolved directories.
    pub fn git(&self) -> Git {
        let common = self.owner.repository.clone();
        let place = Place { dir: common.clone(), git_dir: Some(common), ..Place::default() };
        let identity = &self.owner.identity;
        Git::at(Arc::clone(&self.program), place)
            .with_settings(&self.owner.off)
            .with_var("GIT_COMMITTER_NAME", &identity.name)
            .with_var("GIT_COMMITTER_EMAIL", &identity.email)
    }

    /// Gives each call of git, and each finalising in all, so much time from now on.
    pub fn limit(&mut self, limit: Duration) {
        self.program = Arc::new(self.program.limited(limit));
    }

    pub(super) fn shadow(&self) -> Shadow<'_> {
        Shadow { dir: &self.dir, owner: &self.owner, program: &self.program }
    }

    fn build(&mut self, order: &Order<'_>) -> Result<(), WorkspaceError> {
        self.guard.save(&self.dir.guard())?;
        save_refs(&self.refs, &self.dir.refs())?;
        let inside = self.dir.tree();
        fs::create_dir(&inside).tried("make", &inside)?;
        self.add_worktree(order)?;
        let git_dir = books::linked(&self.owner)?;
        self.owner.git_dir = Some(git_dir.clone());
        let shadow = self.shadow();
        shadow.prepare(order.repository)?;
        shadow.check_out()?;
        // The agent's git finds everything clean without reading a file.
        let index = git_dir.join("index");
        fs::copy(self.dir.index(), &index).tried("write", &index)?;
        self.enter(Stage::Ready)
    }

    pub(super) fn enter(&mut self, stage: Stage) -> Result<(), WorkspaceError> {
        self.owner.stage = stage;
        self.owner.write(&self.dir.owner())
    }

    fn add_worktree(&self, order: &Order<'_>) -> Result<(), WorkspaceError> {
        let reason = books::reason(&self.owner.run);
        let mut args: Vec<&OsStr> = Vec::new();
        for arg in ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", &reason] {
            args.push(arg.as_ref());
        }
        match &order.intent {
            Intent::NewBranch { name, base } => {
                args.extend([
                    "-b".as_ref(),
                    name.as_str().as_ref(),
                    self.path().as_os_str(),
                    base.as_str().as_ref(),
                ]);
            }
            Intent::Continue { branch, .. } => {
                args.extend([self.path().as_os_str(), branch.as_str().as_ref()]);
            }
        }
        let mut ended = self.add(order, &args)?;
        // Another git that makes or removes a worktree at this moment lets ours stumble over a half-written file.
        for _ in 0..STUMBLES {
            if !ended.stderr.contains("failed to read") {
                break;
            }
            if self.owner.new_branch {
                let _ = self.git().delete_ref(&self.owner.branch.full(), &self.owner.base);
            }
            ended = self.add(order, &args)?;
        }
        if ended.code == Some(0) {
            return Ok(());
        }
        let branch = self.owner.branch.clone();
        if ended.stderr.contains("already used by worktree") || ended.stderr.contains("already checked out") {
            return Err(WorkspaceError::BranchBusy { branch, reason: ended.stderr });
        }
        if self.owner.new_branch && ended.stderr.contains("already exists") {
            return Err(WorkspaceError::BranchExists { branch, at: self.owner.base.clone() });
        }
        Err(ended.failed("worktree").into())
    }

    /// One at a time: git reads the files of all worktrees when it makes one. The door stays shut until it is done, even if
    /// we are killed meanwhile: who collects what we left must find all of it.
    fn add(&self, order: &Order<'_>, args: &[&OsStr]) -> Result<Ended, WorkspaceError> {
        let door = Arc::new(door(order.home)?);
        books::strike_out(order.repository.common_dir(), order.home);
        Ok(order.repository.git().holding(door).end(args, b"")?)
    }

    /// Removes a worktree that no agent has seen.
    pub(super) fn discard(&self, branch_is_ours: bool) -> Result<(), WorkspaceError> {
        let ours = self.owner.git_dir.clone().or_else(|| books::found(&self.owner));
        if let Some(git_dir) = &ours {
            self.forget(git_dir)?;
        }
        if self.owner.new_branch && branch_is_ours {
            // It was made for this run, so it is gone already, or it is still where it was made.
            let _ = self.git().delete_ref(&self.owner.branch.full(), &self.owner.base);
        }
        vanish(&self.dir)
    }
}

fn check(intent: &Intent, repository: &Repository) -> Result<(), WorkspaceError> {
    let branch = intent.branch().clone();
    match (intent, repository.branch(intent.branch()).cloned()) {
        (Intent::NewBranch { .. }, Some(at)) => Err(WorkspaceError::BranchExists { branch, at }),
        (Intent::Continue { .. }, None) => Err(WorkspaceError::BranchMissing { branch }),
        (Intent::Continue { expected, .. }, Some(found)) if found != *expected => {
            Err(WorkspaceError::BranchMoved { branch, expected: expected.clone(), found })
        }
        (Intent::NewBranch { .. }, None) | (Intent::Continue { .. }, Some(_)) => Ok(()),
    }
}

/// What another run in the same repository remembers: what its agent has changed since is not the user's.
fn neighbours_guard(order: &Order<'_>) -> Option<Guard> {
    let common = order.repository.common_dir();
    let names = fs::read_dir(all(order.home)).ok()?.flatten().map(|entry| entry.file_name());
    let dirs = names.filter_map(|name| RunDir::new(order.home, name.to_str()?).ok());
    let owners = dirs.filter_map(|dir| Some((Owner::read(&dir.owner()).ok()?, dir)));
    let neighbours = owners
        .filter(|(owner, _)| owner.repository == common && owner.stage == Stage::Ready && owner.is_alive());
    // The oldest has seen the least of the others' doings.
    let (_, dir) = neighbours.min_by_key(|(owner, dir)| (owner.created, dir.run().to_owned()))?;
    Guard::load(&dir.guard(), common).ok()
}

fn announce(order: &Order<'_>, dir: &RunDir) -> Owner {
    let repository = order.repository;
    let pid = std::process::id();
    Owner {
        run: order.run.to_owned(),
        pid,
        pid_start: start_of(pid),
        repository: repository.common_dir().to_owned(),
        checkout: repository.root().map(Path::to_owned),
        tree: dir.tree().join(project_name(repository)),
        git_dir: None,
        branch: order.intent.branch().clone(),
        new_branch: matches!(order.intent, Intent::NewBranch { .. }),
        base: order.intent.base().clone(),
        identity: repository.settings().identity.clone(),
        off: repository.settings().off.clone(),
        created: order.now,
        stage: Stage::Planned,
    }
}

/// The folder's name is what tools take for the project's name, so it is the checkout's.
fn project_name(repository: &Repository) -> String {
    let path = repository.root().unwrap_or(repository.common_dir());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().filter(|c| fine(*c)).take(60).collect();
    let name = name.trim_matches(['.', '-']);
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}

/// Makes the run's folder, locks it and writes the owner file, with the door shut.
fn claim(home: &Path, dir: &RunDir, owner: &Owner) -> Result<File, WorkspaceError> {
    let _door = door(home)?;
    let root = dir.root();
    if root.symlink_metadata().is_ok() {
        return Err(WorkspaceError::RunExists { run: dir.run().to_owned() });
    }
    fs::create_dir(&root).tried("make", &root)?;
    let lock = open_lock(&dir.lock())?;
    lock.lock().tried("lock", &dir.lock())?;
    owner.write(&dir.owner())?;
    Ok(lock)
}

fn save_refs(refs: &Refs, file: &Path) -> Result<(), WorkspaceError> {
    let text: String = refs.iter().map(|(name, sha)| format!("{sha} {name}\n")).collect();
    fs::write(file, text).tried("write", file)
}

pub(super) fn load_refs(file: &Path) -> Result<Refs, WorkspaceError> {
    let text = fs::read_to_string(file).tried("read", file)?;
    let pair = |line: &str| {
        line.split_once(' ').and_then(|(sha, name)| Some((name.to_owned(), Sha::parse(sha).ok()?)))
    };
    Ok(text.lines().filter_map(pair).collect())
}
