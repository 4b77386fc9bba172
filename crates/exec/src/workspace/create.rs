//! Making the worktree of a run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pilot_core::id::{Branch, Sha};

use super::cached_result::CachedResult;
use super::error::{Tried, WorkspaceError};
use super::guard::Guard;
use super::owner::{WorkspaceOwner, WorkspaceStage, start_of};
use super::remove::remove_run_dir;
use super::run_dir::{RunDir, all, lock_runs, open_lock};
use super::staging::Staging;
use super::worktree_list;
use crate::git::{Git, GitExit, GitPlace, Program, Refs, Repository};

/// How often making a worktree is tried again when another git got in the way.
const STUMBLES: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A branch that must not exist yet.
    NewBranch { name: Branch, base: Sha },
    /// A branch that must be where it is expected.
    Continue {
        branch: Branch,
        expected: Sha,
        /// The commit since which everything on it counts as this run's work: what an earlier run of the same task left.
        since: Option<Sha>,
    },
}

impl Intent {
    pub fn branch(&self) -> &Branch {
        match self {
            Self::NewBranch { name, .. } => name,
            Self::Continue { branch, .. } => branch,
        }
    }

    pub fn base(&self) -> &Sha {
        match self {
            Self::NewBranch { base, .. } => base,
            Self::Continue { expected, since, .. } => since.as_ref().unwrap_or(expected),
        }
    }

    /// The commit that the agent finds in its worktree.
    fn start(&self) -> &Sha {
        match self {
            Self::NewBranch { base, .. } => base,
            Self::Continue { expected, .. } => expected,
        }
    }
}

#[derive(Clone, Debug)]
pub struct CreateRequest<'a> {
    pub repository: &'a Repository,
    pub intent: Intent,
    pub run: &'a str,
    pub home: &'a Path,
    pub now: u64,
}

/// The worktree of one run. While this value lives it holds the run's lock, so that no other Pilot recovers it.
#[derive(Debug)]
pub struct Workspace {
    pub(super) dir: RunDir,
    pub(super) owner: WorkspaceOwner,
    /// Git, which holds the run's lock with us.
    pub(super) program: Arc<Program>,
    pub(super) guard: Guard,
    pub(super) refs: Refs,
    /// Whether the staging area may hold something else than the base.
    pub(super) resumed: bool,
    /// The commit that the staging area holds, if that is known.
    pub(super) staged: Option<Sha>,
    pub(super) cached: Option<CachedResult>,
}

impl Workspace {
    /// Makes a branch, if asked to, and a worktree on it, without touching the user's checkout.
    pub fn create(order: &CreateRequest<'_>) -> Result<Self, WorkspaceError> {
        let repository = order.repository;
        check(&order.intent, repository)?;
        let dir = RunDir::new(order.home, order.run)?;
        let guard = match neighbours_guard(order) {
            Some(guard) => guard,
            None => Guard::take(&repository.common_dir)?,
        };
        let owner = announce(order, &dir);
        let lock = claim(order.home, &dir, &owner)?;
        let mut workspace = Self {
            dir,
            owner,
            program: Arc::new(repository.git.program.holding(Arc::new(lock))),
            guard,
            refs: repository.refs.clone(),
            resumed: order.intent.start() != order.intent.base(),
            staged: None,
            cached: None,
        };
        match workspace.build(order) {
            Ok(()) => Ok(workspace),
            Err(error) => {
                // No agent worked in it, so nothing can be lost. The first error is reported, not one from this cleanup.
                let branch_is_ours = !matches!(error, WorkspaceError::BranchExists { .. });
                let _ = workspace.discard(branch_is_ours);
                Err(error)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.owner.tree
    }

    pub fn run(&self) -> &str {
        &self.owner.run
    }

    pub fn branch(&self) -> &Branch {
        &self.owner.branch
    }

    pub fn base(&self) -> &Sha {
        &self.owner.base
    }

    pub fn owner(&self) -> &WorkspaceOwner {
        &self.owner
    }

    /// Git at the repository, by its resolved directories.
    pub fn git(&self) -> Git {
        let common = self.owner.repository.clone();
        let place = GitPlace { dir: common.clone(), git_dir: Some(common), ..GitPlace::default() };
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

    pub(super) fn staging(&self) -> Staging<'_> {
        Staging { dir: &self.dir, owner: &self.owner, program: &self.program }
    }

    fn build(&mut self, order: &CreateRequest<'_>) -> Result<(), WorkspaceError> {
        self.guard.save(&self.dir.guard())?;
        save_refs(&self.refs, &self.dir.refs())?;
        let inside = self.dir.tree();
        fs::create_dir(&inside).tried("make", &inside)?;
        self.add_worktree(order)?;
        let git_dir = worktree_list::read_entry(&self.owner)?;
        self.owner.git_dir = Some(git_dir.clone());
        let staging = self.staging();
        staging.prepare(order.repository)?;
        staging.check_out(order.intent.start())?;
        // The agent's git finds everything clean without reading a file.
        let index = git_dir.join("index");
        fs::copy(self.dir.index(), &index).tried("write", &index)?;
        self.enter(WorkspaceStage::Ready)
    }

    pub(super) fn enter(&mut self, stage: WorkspaceStage) -> Result<(), WorkspaceError> {
        self.owner.stage = stage;
        self.owner.write(&self.dir.owner())
    }

    fn add_worktree(&self, order: &CreateRequest<'_>) -> Result<(), WorkspaceError> {
        let reason = worktree_list::lock_reason(&self.owner.run);
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
        // A git that adds or removes another worktree at this moment makes ours fail on a half-written file.
        for _ in 0..STUMBLES {
            if !ended.stderr.contains("failed to read") {
                break;
            }
            if self.owner.new_branch {
                let _ = self.git().delete_ref(&self.owner.branch.ref_name(), &self.owner.base);
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

    /// One at a time: git reads the files of all worktrees when it adds one. The lock is held until git is done, even if we
    /// are killed meanwhile: a recovery must find the whole entry.
    fn add(&self, order: &CreateRequest<'_>, args: &[&OsStr]) -> Result<GitExit, WorkspaceError> {
        let lock = Arc::new(lock_runs(order.home)?);
        worktree_list::remove_dead_entries(&order.repository.common_dir, order.home);
        Ok(order.repository.git.holding(lock).end(args, b"")?)
    }

    pub(super) fn discard(&self, branch_is_ours: bool) -> Result<(), WorkspaceError> {
        let ours = self.owner.git_dir.clone().or_else(|| worktree_list::find_entry(&self.owner));
        if let Some(git_dir) = &ours {
            self.forget(git_dir)?;
        }
        if self.owner.new_branch && branch_is_ours {
            // It was made for this run, so it is gone already, or it is still where it was made.
            let _ = self.git().delete_ref(&self.owner.branch.ref_name(), &self.owner.base);
        }
        remove_run_dir(&self.dir)
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

/// The snapshot of another run in the same repository: what its agent has changed since is not the user's.
fn neighbours_guard(order: &CreateRequest<'_>) -> Option<Guard> {
    let common = &order.repository.common_dir;
    let names = fs::read_dir(all(order.home)).ok()?.flatten().map(|entry| entry.file_name());
    let dirs = names.filter_map(|name| RunDir::new(order.home, name.to_str()?).ok());
    let owners = dirs.filter_map(|dir| Some((WorkspaceOwner::read(&dir.owner()).ok()?, dir)));
    let neighbours = owners.filter(|(owner, _)| {
        owner.repository == *common && owner.stage == WorkspaceStage::Ready && owner.is_alive()
    });
    // The oldest snapshot contains the fewest changes by other runs.
    let (_, dir) = neighbours.min_by_key(|(owner, dir)| (owner.created, dir.run.clone()))?;
    Guard::load(&dir.guard(), common).ok()
}

fn announce(order: &CreateRequest<'_>, dir: &RunDir) -> WorkspaceOwner {
    let repository = order.repository;
    let pid = std::process::id();
    WorkspaceOwner {
        run: order.run.to_owned(),
        pid,
        pid_start: start_of(pid),
        repository: repository.common_dir.to_owned(),
        checkout: repository.root().map(Path::to_owned),
        tree: dir.tree().join(project_name(repository)),
        git_dir: None,
        branch: order.intent.branch().clone(),
        new_branch: matches!(order.intent, Intent::NewBranch { .. }),
        base: order.intent.base().clone(),
        identity: repository.settings.identity.clone(),
        off: repository.settings.off.clone(),
        created: order.now,
        stage: WorkspaceStage::Planned,
    }
}

/// The folder's name is what tools take for the project's name, so it is the checkout's.
fn project_name(repository: &Repository) -> String {
    let path = repository.root().unwrap_or(&repository.common_dir);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().filter(|c| fine(*c)).take(60).collect();
    let name = name.trim_matches(['.', '-']);
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}

/// Makes the run's folder, locks it and writes the owner file, under the lock of all runs.
fn claim(home: &Path, dir: &RunDir, owner: &WorkspaceOwner) -> Result<File, WorkspaceError> {
    let _lock = lock_runs(home)?;
    let root = dir.root();
    if root.symlink_metadata().is_ok() {
        return Err(WorkspaceError::RunExists { run: dir.run.clone() });
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
