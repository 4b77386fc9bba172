//! Applies the effects of moved refs. Git is the source of truth about refs.
//!
//! Every change of refs ends here: a push, an API call, a merge, and recovery after a crash. Git's refs are compared with the
//! stored ones, and one transaction stores the difference with its effects: pushes, heads of pull requests, merges, closed
//! issues, CI runs, webhooks. So a start after `kill -9` is an ordinary call.

use std::collections::HashMap;

use serde_json::json;
use sqlx::SqliteConnection;

use crate::ci;
use crate::closing;
use crate::context::{Context, RepoLock};
use crate::git::{Commit, GitError, Repository};
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};
use crate::store::{
    IssueRow, MergeRow, NewEvent, Permission, Pull, PullFilter, RepoRow, User, events, issues, pulls, refs,
    repos,
};
use crate::timestamp::Timestamp;
use crate::webhook::{self, Event};

/// The most commits of one push that are searched for closing keywords.
const MOST_READ: usize = 250;

#[derive(Clone, Debug)]
struct RefMove {
    name: RefName,
    before: Sha,
    after: Sha,
}

/// What git reports about the moves, read before anything is stored.
#[derive(Debug, Default)]
struct Findings {
    moves: Vec<RefMove>,
    /// Recorded merges, and whether git has the merge commit.
    merges: Vec<(MergeRow, bool)>,
    /// Pull requests that a push merged: their head is on the base branch.
    landed: Vec<i64>,
    /// Issue numbers that commits on the default branch close, with the commit.
    closes: Vec<(i64, Sha)>,
    /// Branches and commits that CI has a command for.
    runs: Vec<(String, Commit)>,
}

/// Stores what moved since the last call, with all effects; `actor` moved it.
pub(crate) async fn sync_refs(
    ctx: &Context,
    _lock: &RepoLock,
    repo: &RepoRow,
    actor: &User,
) -> Result<(), Failure> {
    let git = ctx.repository(repo.id);
    let findings = inspect(ctx, &git, repo).await?;
    if findings.moves.is_empty() && findings.merges.is_empty() {
        return Ok(());
    }
    let report = RefReport { ctx, repo: as_owner(ctx, repo.clone()), actor, now: ctx.clock.now() };
    let mut tx = ctx.store.begin().await?;
    // Merges first: a merged pull request keeps its head, open ones follow their branches.
    for (merge, done) in &findings.merges {
        report.finish_merge(&mut tx, merge, *done).await?;
    }
    for id in &findings.landed {
        if let Some(pull) = pulls::by_id(&mut tx, *id).await?.filter(|pull| pull.issue.is_open()) {
            let head = pull.row.head_sha.clone();
            report.mark_merged(&mut tx, pull, actor.id, &head).await?;
        }
    }
    for moved in &findings.moves {
        report.record_move(&mut tx, moved).await?;
    }
    for (number, sha) in &findings.closes {
        report.close_issue(&mut tx, *number, actor.id, sha.as_str()).await?;
    }
    for (branch, commit) in &findings.runs {
        ci::enqueue(ctx, &mut tx, &report.repo, actor, "push", branch, commit.as_ci()).await?;
    }
    let open = open_pulls(&mut tx, repo.id).await?;
    ctx.commit(tx).await?;
    write_pull_refs(&git, &open, &findings.moves).await?;
    Ok(())
}

/// The repository with its owner's permission, for actions of the forge itself.
pub(crate) fn as_owner(ctx: &Context, row: RepoRow) -> Repo {
    let owner = ctx.user(row.owner);
    Repo { row, owner, permission: Permission::Admin }
}

async fn inspect(ctx: &Context, git: &Repository<'_>, repo: &RepoRow) -> Result<Findings, Failure> {
    let mut db = ctx.store.read().await?;
    let stored: HashMap<String, String> = refs::of_repo(&mut db, repo.id).await?.into_iter().collect();
    let intended = pulls::recorded_merges(&mut db, repo.id).await?;
    let open = open_pulls(&mut db, repo.id).await?;
    drop(db);
    let current = git.refs().await?;
    let mut findings = Findings { moves: compare_refs(&stored, &current), ..Findings::default() };
    for merge in intended {
        let done = has_merge(git, &merge).await?;
        findings.merges.push((merge, done));
    }
    for moved in &findings.moves {
        let Some(branch) = moved.name.as_branch().filter(|_| moved.after != Sha::zero()) else {
            continue;
        };
        for pull in open.iter().filter(|pull| pull.row.base_ref == branch) {
            let begun = findings.merges.iter().any(|(merge, _)| merge.issue == pull.issue.id);
            if !begun && has_landed(git, pull, &moved.after).await? {
                findings.landed.push(pull.issue.id);
            }
        }
        if ci::has_command(ctx, git, &moved.after).await?
            && let Some(commit) = git.commit(&moved.after).await?
        {
            findings.runs.push((branch.to_owned(), commit));
        }
        if branch == repo.default_branch && moved.before != Sha::zero() {
            for commit in git.log(&moved.after, Some(&moved.before), MOST_READ).await? {
                let numbers = closing::issue_numbers(&commit.message);
                findings.closes.extend(numbers.into_iter().map(|number| (number, commit.sha.clone())));
            }
        }
    }
    Ok(findings)
}

fn compare_refs(stored: &HashMap<String, String>, current: &[(RefName, Sha)]) -> Vec<RefMove> {
    let mut moves = Vec::new();
    let before = |name: &str| stored.get(name).and_then(|sha| Sha::parse(sha)).unwrap_or_else(Sha::zero);
    for (name, after) in current {
        let before = before(name.as_str());
        if before != *after {
            moves.push(RefMove { name: name.clone(), before, after: after.clone() });
        }
    }
    for gone in stored.keys().filter(|name| !current.iter().any(|(known, _)| known.as_str() == name.as_str()))
    {
        if let Some(name) = RefName::parse(gone) {
            moves.push(RefMove { name, before: before(gone), after: Sha::zero() });
        }
    }
    moves
}

async fn has_merge(git: &Repository<'_>, merge: &MergeRow) -> Result<bool, GitError> {
    let (Some(base), Some(after)) = (RefName::branch(&merge.base_ref), Sha::parse(&merge.after_sha)) else {
        return Ok(false);
    };
    match git.read_ref(&base).await? {
        Some(tip) => git.is_ancestor(&after, &tip).await,
        None => Ok(false),
    }
}

/// Whether a move brought the head of a pull request onto its base branch.
async fn has_landed(git: &Repository<'_>, pull: &Pull, base: &Sha) -> Result<bool, GitError> {
    let (Some(head), Some(old)) = (Sha::parse(&pull.row.head_sha), Sha::parse(&pull.row.base_sha)) else {
        return Ok(false);
    };
    Ok(git.is_ancestor(&head, base).await? && !git.is_ancestor(&head, &old).await?)
}

async fn open_pulls(db: &mut SqliteConnection, repo: i64) -> Result<Vec<Pull>, sqlx::Error> {
    pulls::all(db, repo, &PullFilter { state: Some("open"), ..PullFilter::default() }).await
}

/// The common arguments of all effects of one reconciliation.
struct RefReport<'a> {
    ctx: &'a Context,
    repo: Repo,
    actor: &'a User,
    now: Timestamp,
}

impl RefReport<'_> {
    async fn record_move(&self, db: &mut SqliteConnection, moved: &RefMove) -> Result<(), Failure> {
        let (id, name, after) = (self.repo.row.id, moved.name.as_str(), moved.after.as_str());
        let (made, gone) = (moved.before == Sha::zero(), moved.after == Sha::zero());
        if gone {
            refs::remove(db, id, name).await?;
        } else {
            refs::put(db, id, name, after, self.now).await?;
        }
        refs::record_push(db, id, name, moved.before.as_str(), after, self.actor.id, self.now).await?;
        repos::touch_pushed(db, id, self.now).await?;
        if made || gone {
            let name = &moved.name;
            let event = if made { Event::CreateRef(name) } else { Event::DeleteRef(name) };
            webhook::enqueue(self.ctx, db, &self.repo, self.actor, event).await?;
        }
        let push = Event::Push { name: &moved.name, before: &moved.before, after: &moved.after };
        webhook::enqueue(self.ctx, db, &self.repo, self.actor, push).await?;
        match moved.name.as_branch() {
            Some(branch) => self.update_pulls(db, branch, moved).await,
            None => Ok(()),
        }
    }

    /// Updates the pull requests from and to a branch that moved.
    async fn update_pulls(
        &self,
        db: &mut SqliteConnection,
        branch: &str,
        moved: &RefMove,
    ) -> Result<(), Failure> {
        let gone = moved.after == Sha::zero();
        for mut pull in open_pulls(db, self.repo.row.id).await? {
            let (from, onto) = (pull.row.head_ref == branch, pull.row.base_ref == branch);
            if !from && !onto {
                continue;
            }
            if gone {
                self.close(db, &mut pull.issue, self.actor.id, None).await?;
                continue;
            }
            pull.row.changed = self.now;
            if onto {
                pull.row.base_sha = moved.after.to_string();
            }
            if from {
                pull.row.head_sha = moved.after.to_string();
                pull.issue.updated = self.now;
                issues::touch(db, pull.issue.id, self.now).await?;
            }
            pulls::update(db, &pull.row).await?;
            if from {
                let more = json!({"before": moved.before.as_str(), "after": moved.after.as_str()});
                webhook::enqueue(
                    self.ctx,
                    db,
                    &self.repo,
                    self.actor,
                    Event::Pull("synchronize", &pull, more),
                )
                .await?;
            }
        }
        Ok(())
    }

    async fn finish_merge(
        &self,
        db: &mut SqliteConnection,
        merge: &MergeRow,
        done: bool,
    ) -> Result<(), Failure> {
        pulls::remove_merge(db, merge.issue).await?;
        let pull = pulls::by_id(db, merge.issue).await?.filter(|pull| done && pull.row.merged.is_none());
        match pull {
            Some(pull) => self.mark_merged(db, pull, merge.actor, &merge.after_sha).await,
            None => Ok(()),
        }
    }

    async fn mark_merged(
        &self,
        db: &mut SqliteConnection,
        mut pull: Pull,
        actor: i64,
        commit: &str,
    ) -> Result<(), Failure> {
        pull.row.merged = Some(self.now);
        pull.row.merged_by = Some(actor);
        pull.row.merge_commit = Some(commit.to_owned());
        pulls::update(db, &pull.row).await?;
        self.record_event(db, pull.issue.id, actor, "merged", Some(commit), json!({})).await?;
        self.close(db, &mut pull.issue, actor, None).await?;
        if pull.row.base_ref == self.repo.row.default_branch {
            let text = format!("{}\n{}", pull.issue.title, pull.issue.body.as_deref().unwrap_or_default());
            for number in closing::issue_numbers(&text) {
                self.close_issue(db, number, actor, commit).await?;
            }
        }
        Ok(())
    }

    /// Closes an issue that a commit on the default branch refers to.
    async fn close_issue(
        &self,
        db: &mut SqliteConnection,
        number: i64,
        actor: i64,
        commit: &str,
    ) -> Result<(), Failure> {
        let issue = issues::by_number(db, self.repo.row.id, number).await?;
        match issue.filter(|issue| issue.is_open() && !issue.pull) {
            Some(mut issue) => self.close(db, &mut issue, actor, Some(commit)).await,
            None => Ok(()),
        }
    }

    async fn close(
        &self,
        db: &mut SqliteConnection,
        issue: &mut IssueRow,
        actor: i64,
        commit: Option<&str>,
    ) -> Result<(), Failure> {
        issue.state = "closed".to_owned();
        issue.reason = (!issue.pull).then(|| "completed".to_owned());
        (issue.closed, issue.closed_by, issue.updated) = (Some(self.now), Some(actor), self.now);
        issues::update(db, issue).await?;
        let detail = json!({"state_reason": issue.reason});
        self.record_event(db, issue.id, actor, "closed", commit, detail).await?;
        let sender = self.ctx.user(actor);
        webhook::enqueue_issue(self.ctx, db, &self.repo, &sender, "closed", issue.id, json!({})).await
    }

    async fn record_event(
        &self,
        db: &mut SqliteConnection,
        issue: i64,
        actor: i64,
        event: &str,
        commit_id: Option<&str>,
        detail: serde_json::Value,
    ) -> Result<(), sqlx::Error> {
        let event = NewEvent { repo: self.repo.row.id, issue, actor, event, commit_id, detail };
        events::insert(db, &event, self.now).await
    }
}

/// Updates the refs of the pull requests whose head moved.
async fn write_pull_refs(git: &Repository<'_>, open: &[Pull], moves: &[RefMove]) -> Result<(), GitError> {
    for pull in open {
        let moved = moves.iter().any(|moved| moved.name.as_branch() == Some(&pull.row.head_ref));
        if let Some(head) = Sha::parse(&pull.row.head_sha).filter(|_| moved) {
            git.write_pull_ref(pull.issue.number, &head).await?;
        }
    }
    Ok(())
}
