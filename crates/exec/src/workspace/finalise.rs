//! Commits everything a run did, whatever state it left.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use pilot_core::id::Sha;

use super::choice::{CommitCandidate, choose, order};
use super::create::Workspace;
use super::error::WorkspaceError;
use super::finding::{HalfDone, RunFinding};
use super::owner::WorkspaceStage;
use super::staging::Tip;
use crate::git::{Commit, DiffStat, Git, GitError, GitPlace, RefChange, Refs, together};

/// More commits than this are not listed; they are kept all the same.
const MOST_COMMITS: usize = 10_000;

const MOST_REFS: usize = 32;

/// A longer log of HEAD, in bytes, is not read.
const LONGEST_LOG: u64 = 16 << 20;

/// The result of a run, in git. Only with it may a workspace be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalised {
    pub base: Sha,
    /// Where its branch is now; the base when there is no new commit.
    pub head: Sha,
    pub commits: Vec<Commit>,
    pub diff: DiffStat,
    /// The commit that holds what the run left uncommitted.
    pub leftover: Option<Sha>,
    /// The ref that keeps the result from being collected.
    pub pin: Option<String>,
    /// Commits of the run that are not in the result, each with the ref that keeps it.
    pub others: Vec<SideCommit>,
    pub found: Vec<RunFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideCommit {
    pub sha: Sha,
    pub pin: String,
}

impl Finalised {
    pub fn files_changed(&self) -> usize {
        self.diff.files.len()
    }

    pub fn leftover_committed(&self) -> bool {
        self.leftover.is_some()
    }

    pub fn has_changes(&self) -> bool {
        !self.diff.files.is_empty()
    }
}

/// What the repository says after a run.
struct Scene {
    refs: Refs,
    head: Option<Tip>,
    branch: Option<Tip>,
    base_tree: Sha,
}

impl Workspace {
    /// Commits what was left, finds the result, pins it and sets the branch to it, all within the limit of one call of git.
    /// Safe to do again.
    pub fn finalise(&mut self, message: &str) -> Result<Finalised, WorkspaceError> {
        let program = Arc::clone(&self.program);
        self.program = Arc::new(program.at_a_stretch());
        let finalised = self.gather(message);
        self.program = program;
        finalised
    }

    fn gather(&mut self, message: &str) -> Result<Finalised, WorkspaceError> {
        let mut found = self.guard.restore(&self.dir)?;
        let tree = self.look_at_tree(&mut found)?;
        let git_dir = self.look_at_git_dir(&mut found);
        if found.is_empty()
            && let Some(cached) = self.find_cached_result(git_dir)?
        {
            self.enter(WorkspaceStage::Finalised { head: cached.head.clone(), keep_tree: false })?;
            return Ok(cached);
        }
        let (mut leftover, git_dir) = (None, git_dir.map(Path::to_owned));
        (self.staged, self.cached) = (None, None);
        let rebasing = found.contains(&RunFinding::Unfinished(HalfDone::Rebase));
        let scene = self.scene(git_dir.as_deref())?;
        let base = Tip { commit: self.owner.base.clone(), tree: scene.base_tree.clone() };
        let start = scene.head.clone().or_else(|| scene.branch.clone()).unwrap_or(base);
        if tree {
            let fresh = !self.resumed && start.tree == scene.base_tree;
            leftover = self.staging().capture(&start, fresh, message, &mut found)?;
            self.resumed = true;
        }
        if scene.head.as_ref().map(|tip| &tip.commit) != scene.branch.as_ref().map(|tip| &tip.commit) {
            found.push(RunFinding::OffBranch { head: scene.head.as_ref().map(|tip| tip.commit.clone()) });
        }
        let changed = self.changed_refs(&scene.refs);
        // An existing pin comes from a finalise that was interrupted.
        let pinned = scene.refs.get(&self.pin()).cloned();
        let made = changed
            .iter()
            .filter(|change| change.made)
            .filter_map(|change| change.after.clone())
            .chain(pinned)
            .collect();
        let staged = leftover.clone().or(Some(start.commit)).filter(|_| tree);
        let head = leftover.clone().or_else(|| scene.head.map(|tip| tip.commit));
        let candidates = order(head, scene.branch.map(|tip| tip.commit), made, rebasing);
        let finalised = self.conclude(candidates, leftover, found, &scene.refs, changed)?;
        let keep_tree =
            finalised.found.iter().any(|finding| matches!(finding, RunFinding::Unreadable { .. }));
        self.cache_result(&finalised, staged, scene.refs);
        self.owner.stage = WorkspaceStage::Finalised { head: finalised.head.clone(), keep_tree };
        // An agent may have deleted the run's folder as well; then no later start will look for it.
        if self.dir.root().symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            self.enter(self.owner.stage.clone())?;
        }
        Ok(finalised)
    }

    fn look_at_tree(&self, found: &mut Vec<RunFinding>) -> Result<bool, WorkspaceError> {
        let tree = self.path();
        let inside_is_ours = self.dir.tree().symlink_metadata().is_ok_and(|meta| meta.is_dir());
        match tree.symlink_metadata() {
            Ok(meta) if meta.is_dir() && inside_is_ours => {}
            Ok(_) => {
                found.push(RunFinding::TreeReplaced);
                return Ok(false);
            }
            Err(_) => {
                found.push(RunFinding::TreeGone);
                return Ok(false);
            }
        }
        let link = tree.join(".git");
        let meta = link.symlink_metadata().ok();
        let says = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let ours = self.owner.git_dir.as_ref().map(|dir| format!("gitdir: {}\n", dir.display()));
        if meta.as_ref().is_some_and(|meta| meta.is_file()) && Some(says(&link)) == ours {
            return Ok(true);
        }
        let kept = match meta {
            Some(meta) if meta.is_dir() => Some(self.dir.set_aside(&link, "worktree.git")?),
            Some(_) | None => None,
        };
        found.push(RunFinding::GitFileReplaced { kept });
        Ok(true)
    }

    /// The repository's directory for this worktree, if it is readable, and the unfinished operations in it.
    fn look_at_git_dir(&self, found: &mut Vec<RunFinding>) -> Option<&Path> {
        let git_dir = self.owner.git_dir.as_deref()?;
        let is_folder = git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        // A pipe in place of a file would make git wait for ever.
        let is_file = |name: &str| git_dir.join(name).symlink_metadata().map(|meta| meta.is_file());
        let fine = is_file("HEAD").unwrap_or(false) && is_file("config.worktree").unwrap_or(true);
        if !is_folder || !fine {
            found.push(RunFinding::GitDirGone);
            return None;
        }
        for (name, finding) in [
            ("index.lock", RunFinding::IndexLock),
            ("MERGE_HEAD", RunFinding::Unfinished(HalfDone::Merge)),
            ("CHERRY_PICK_HEAD", RunFinding::Unfinished(HalfDone::CherryPick)),
            ("REVERT_HEAD", RunFinding::Unfinished(HalfDone::Revert)),
            ("rebase-merge", RunFinding::Unfinished(HalfDone::Rebase)),
            ("rebase-apply", RunFinding::Unfinished(HalfDone::Rebase)),
        ] {
            if git_dir.join(name).symlink_metadata().is_ok() {
                found.push(finding);
            }
        }
        Some(git_dir)
    }

    /// Asks the repository, by directories that we know, where everything is.
    fn scene(&self, git_dir: Option<&Path>) -> Result<Scene, WorkspaceError> {
        let common = &self.owner.repository;
        let git_dir = git_dir.unwrap_or(common);
        let known = git_dir != common;
        if known {
            // Switched on by an extension in the shared configuration; ours never had one.
            let _ = fs::remove_file(git_dir.join("config.worktree"));
        }
        let place = GitPlace {
            dir: common.clone(),
            git_dir: Some(git_dir.to_owned()),
            common_dir: Some(common.clone()),
            ..GitPlace::default()
        };
        let git = Git::at(Arc::clone(&self.program), place).with_settings(&self.owner.off);
        let branch = self.owner.branch.ref_name();
        let names: Vec<String> = ["HEAD", &branch, self.owner.base.as_str()]
            .iter()
            .flat_map(|name| [format!("{name}^{{commit}}"), format!("{name}^{{tree}}")])
            .collect();
        let (resolved, refs) = together(|| git.resolve(&names), || git.refs(&[]));
        let mut resolved = resolved?.into_iter();
        let mut tip = || {
            let (commit, tree) = (resolved.next().flatten(), resolved.next().flatten());
            Some(Tip { commit: commit?, tree: tree? })
        };
        let (head, branch, base) = (tip(), tip(), tip());
        let base = base.ok_or_else(|| GitError::UnknownRevision {
            revision: self.owner.base.to_string(),
            dir: common.clone(),
        })?;
        Ok(Scene { refs: refs?, head: head.filter(|_| known), branch, base_tree: base.tree })
    }

    /// Refs that are not where they were, apart from the run's own.
    fn changed_refs(&self, now: &Refs) -> Vec<ChangedRef> {
        let ours = self.owner.branch.ref_name();
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        let changed = names.into_iter().filter(|name| **name != ours && !name.starts_with("refs/pilot/"));
        let changed = changed.filter(|name| self.refs.get(*name) != now.get(*name));
        let mut logs = None;
        let mut describe = |name: &String| {
            let logs = logs.get_or_insert_with(|| Logs::read(self));
            let (before, after) = (self.refs.get(name).cloned(), now.get(name).cloned());
            let made =
                name.starts_with("refs/heads/") && after.as_ref().is_some_and(|sha| logs.made_here(sha));
            ChangedRef { name: name.clone(), before, after, made }
        };
        changed.map(&mut describe).take(MOST_REFS).collect()
    }

    /// Chooses the result among the candidates, pins it and sets the branch.
    fn conclude(
        &self,
        candidates: Vec<Sha>,
        leftover: Option<Sha>,
        mut found: Vec<RunFinding>,
        now: &Refs,
        changed: Vec<ChangedRef>,
    ) -> Result<Finalised, WorkspaceError> {
        let git = self.git();
        let base = &self.owner.base;
        let (known, branch) = (self.known(), self.owner.branch.ref_name());
        let candidate = |sha: Sha| -> Result<CommitCandidate, GitError> {
            // On the run's own branch, and in what it left, everything since the base is its doing, even a commit that
            // another run made the very same second with the very same bytes.
            let ours = now.get(&branch) == Some(&sha) || leftover.as_ref() == Some(&sha);
            let mut commits = Vec::new();
            if !known.contains(&sha) {
                commits = git.commits(&sha, known.iter().copied(), MOST_COMMITS)?;
            }
            if commits.is_empty() && ours && sha != *base {
                commits = git.commits(&sha, [base], MOST_COMMITS)?;
            }
            Ok(CommitCandidate { sha, commits })
        };
        let first = candidates.first().cloned().unwrap_or_else(|| base.clone());
        // The likeliest result is compared while its commits are listed.
        let (candidates, likely) = together(
            || candidates.into_iter().map(candidate).collect::<Result<Vec<_>, _>>(),
            || if first == *base { Ok(DiffStat::default()) } else { git.diff(base, &first) },
        );
        let choice = choose(candidates?);
        let (head, commits) = match choice.result {
            Some(result) => (result.sha, result.commits),
            None => (base.clone(), Vec::new()),
        };
        let diff = if head == first {
            likely?
        } else if head == *base {
            DiffStat::default()
        } else {
            git.diff(base, &head)?
        };
        if !commits.is_empty() && !descends(&git, base, &head, &commits)? {
            found.push(RunFinding::OffBase);
        }
        let others = self.left_behind(&git, &head, choice.others)?;
        let others = self.pins_of(others, now);
        let pin = (!commits.is_empty()).then(|| self.pin());
        self.settle(&git, &head, pin.as_deref(), &others, now, &mut found)?;
        found.extend(restore_refs(&git, changed));
        Ok(Finalised { base: base.clone(), head, commits, diff, leftover, pin, others, found })
    }

    /// The commits beside the result, and those the run made and then abandoned: only the log of its HEAD still
    /// lists them, and it is removed with the worktree.
    fn left_behind(&self, git: &Git, head: &Sha, mut others: Vec<Sha>) -> Result<Vec<Sha>, GitError> {
        let known = self.known();
        let arrivals = arrivals(self.owner.git_dir.as_deref().unwrap_or(Path::new("")));
        let mut seen: BTreeSet<Sha> = known.iter().copied().chain([head]).chain(&others).cloned().collect();
        // The latest first: it mostly contains what was before it.
        for sha in arrivals.into_iter().rev() {
            if others.len() >= MOST_REFS {
                break;
            }
            if !seen.insert(sha.clone()) {
                continue;
            }
            let elsewhere = known.iter().copied().chain([head]).chain(&others);
            let commits = git.commits(&sha, elsewhere, MOST_COMMITS)?;
            if !commits.is_empty() {
                others.push(sha);
            }
            seen.extend(commits.into_iter().map(|commit| commit.sha));
        }
        Ok(others)
    }

    /// Commits that were there before the run: of the base and of all branches.
    fn known(&self) -> BTreeSet<&Sha> {
        let branches = self
            .refs
            .iter()
            .filter(|(name, _)| name.starts_with("refs/heads/") || name.starts_with("refs/remotes/"));
        branches.map(|(_, sha)| sha).chain([&self.owner.base]).collect()
    }

    pub fn pin(&self) -> String {
        format!("refs/pilot/keep/{}", self.owner.run)
    }

    pub(super) fn pins_of(&self, others: Vec<Sha>, now: &Refs) -> Vec<SideCommit> {
        let free = (1..).map(|number| format!("refs/pilot/also/{}/{number}", self.owner.run));
        let free = free.filter(|name| !now.contains_key(name));
        others.into_iter().zip(free).map(|(sha, pin)| SideCommit { sha, pin }).collect()
    }

    /// Sets pins and branch in one transaction; when the branch cannot be set, the pins alone.
    fn settle(
        &self,
        git: &Git,
        head: &Sha,
        pin: Option<&str>,
        others: &[SideCommit],
        now: &Refs,
        found: &mut Vec<RunFinding>,
    ) -> Result<(), WorkspaceError> {
        let mut changes: Vec<RefChange> = pin.iter().map(|pin| RefChange::set(pin, now, head)).collect();
        changes.extend(others.iter().map(|other| RefChange::set(&other.pin, now, &other.sha)));
        let branch = self.owner.branch.ref_name();
        let pins = changes.len();
        changes.push(RefChange::set(&branch, now, head));
        changes.retain(|change| change.before != change.after);
        let why = format!("pilot: run {}", self.owner.run);
        let Err(error) = self.change(git, &changes, &why) else { return Ok(()) };
        let GitError::RefRefused { reason } = error else { return Err(error.into()) };
        changes.retain(|change| change.name != branch);
        debug_assert!(changes.len() <= pins, "only the branch is given up");
        git.change_refs(&changes, &why)?;
        found.push(RunFinding::BranchNotSet { reason });
        Ok(())
    }

    /// Changes refs of ours, and removes stale locks that a dead git left on them.
    fn change(&self, git: &Git, changes: &[RefChange], why: &str) -> Result<(), GitError> {
        match git.change_refs(changes, why) {
            Err(GitError::RefRefused { reason }) if reason.contains(".lock': File exists") => {
                for change in changes {
                    let _ = fs::remove_file(self.owner.repository.join(format!("{}.lock", change.name)));
                }
                git.change_refs(changes, why)
            }
            other => other,
        }
    }
}

struct ChangedRef {
    name: String,
    before: Option<Sha>,
    after: Option<Sha>,
    /// Whether the run made the commit it is at now.
    made: bool,
}

/// The branches of runs. One of another run is that run's own: two agents may make the very same commit.
const RUN_BRANCHES: &str = "refs/heads/pilot/";

/// Sets refs back that the run moved. Others are only reported: their owner may have moved them.
fn restore_refs(git: &Git, changed: Vec<ChangedRef>) -> Vec<RunFinding> {
    let restore = |ChangedRef { name, before, after, made }: ChangedRef| {
        let change = RefChange { name: name.clone(), before: after.clone(), after: before.clone() };
        let ours = made && !name.starts_with(RUN_BRANCHES);
        let restored = ours && git.change_refs(&[change], "pilot: restore").is_ok();
        RunFinding::RefChanged { name, before, after, restored }
    };
    changed.into_iter().map(restore).collect()
}

/// Whether the result descends from the base; mostly one of its commits has it as a parent.
fn descends(git: &Git, base: &Sha, head: &Sha, commits: &[Commit]) -> Result<bool, GitError> {
    if commits.iter().any(|commit| commit.parents.contains(base)) {
        return Ok(true);
    }
    git.is_ancestor(base, head)
}

/// Which commits the logs of HEAD list, in our worktree and in the others.
struct Logs {
    ours: BTreeSet<Sha>,
    others: BTreeSet<Sha>,
}

impl Logs {
    fn read(workspace: &Workspace) -> Self {
        let common = &workspace.owner.repository;
        let own = workspace.owner.git_dir.clone().unwrap_or_default();
        let mut logs = Self {
            ours: arrivals(&own).into_iter().collect(),
            others: arrivals(common).into_iter().collect(),
        };
        for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
            if entry.path() != own {
                logs.others.extend(arrivals(&entry.path()));
            }
        }
        logs
    }

    /// Whether HEAD came to this commit in our worktree and in no other.
    fn made_here(&self, sha: &Sha) -> bool {
        self.ours.contains(sha) && !self.others.contains(sha)
    }
}

/// The commits HEAD came to, in order: the second word of each line of its log.
fn arrivals(git_dir: &Path) -> Vec<Sha> {
    let log = git_dir.join("logs/HEAD");
    if !log.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST_LOG) {
        return Vec::new();
    }
    let bytes = fs::read(log).unwrap_or_default();
    let words = bytes.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(1));
    words.filter_map(|word| Sha::parse(str::from_utf8(word).ok()?).ok()).collect()
}
