//! Git is the truth about refs; this room tells everybody else when they moved.
//!
//! Every change of refs ends here, whoever made it: a push, the API, a merge, or a forge that died in the middle of one.
//! What git has is compared with what was told last, and the difference is told in one transaction: pushes, heads of pull
//! requests, merges, issues that commits close, runs of CI, webhooks. So a start after `kill -9` is an ordinary call.

use std::collections::HashMap;

use serde_json::json;
use sqlx::SqliteConnection;

use crate::ci;
use crate::closing;
use crate::git::{Commit, GitError, Repository};
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};
use crate::site::{Lane, Site};
use crate::store::{
    IssueRow, MergeRow, NewEvent, Permission, Pull, RepoRow, User, events, issues, pulls, refs, repos,
};
use crate::timestamp::Timestamp;
use crate::webhook;

/// More commits of one push than this are not read for words that close issues.
const MOST_READ: usize = 250;

/// A ref that moved.
#[derive(Clone, Debug)]
struct Move {
    name: RefName,
    before: Sha,
    after: Sha,
}

/// What git says about the moves, asked before anything is written.
#[derive(Debug, Default)]
struct Findings {
    moves: Vec<Move>,
    /// Begun merges, and whether git has them.
    merges: Vec<(MergeRow, bool)>,
    /// Pull requests whose head is on their base: merged by a push.
    landed: Vec<i64>,
    /// Issues that commits on the default branch close, with the commit.
    closes: Vec<(i64, Sha)>,
    /// Branches with commits that CI has something to run on.
    runs: Vec<(String, Commit)>,
}

/// Tells everybody what moved since the last time. `actor` is who moved it.
pub(crate) async fn settle(site: &Site, _lane: &Lane, repo: &RepoRow, actor: &User) -> Result<(), Failure> {
    let git = site.repository(repo.id);
    let findings = find(site, &git, repo).await?;
    if findings.moves.is_empty() && findings.merges.is_empty() {
        return Ok(());
    }
    let teller = Teller { site, repo: as_owner(site, repo.clone()), actor, now: site.clock.now() };
    let mut tx = site.store.begin().await?;
    // Merges first: what is merged stays as it was, while open ones follow their branches.
    for (merge, done) in &findings.merges {
        teller.merge(&mut tx, merge, *done).await?;
    }
    for id in &findings.landed {
        if let Some(pull) = pulls::by_id(&mut tx, *id).await?.filter(|pull| pull.issue.is_open()) {
            let head = pull.row.head_sha.clone();
            teller.merged(&mut tx, pull, actor.id, &head).await?;
        }
    }
    for moved in &findings.moves {
        teller.moved(&mut tx, moved).await?;
    }
    for (number, sha) in &findings.closes {
        teller.close_issue(&mut tx, *number, actor.id, sha.as_str()).await?;
    }
    for (branch, commit) in &findings.runs {
        ci::enqueue(site, &mut tx, &teller.repo, actor, "push", branch, commit.as_ci()).await?;
    }
    let open = open_pulls(&mut tx, repo.id).await?;
    site.commit(tx).await?;
    keep_heads(&git, &open, &findings.moves).await?;
    Ok(())
}

/// The repository as its owner sees it, for what the forge does by itself.
pub(crate) fn as_owner(site: &Site, row: RepoRow) -> Repo {
    let owner = site.user(row.owner);
    Repo { row, owner, permission: Permission::Admin }
}

async fn find(site: &Site, git: &Repository<'_>, repo: &RepoRow) -> Result<Findings, Failure> {
    let mut db = site.store.read().await?;
    let told: HashMap<String, String> =
        refs::of_repo(&mut db, repo.id).await?.into_iter().map(|row| (row.name, row.sha)).collect();
    let intended = pulls::intended(&mut db, repo.id).await?;
    let open = open_pulls(&mut db, repo.id).await?;
    drop(db);
    let there = git.refs().await?;
    let mut findings = Findings { moves: moves(&told, &there), ..Findings::default() };
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
        if ci::has_command(site, git, &moved.after).await?
            && let Some(commit) = git.commit(&moved.after).await?
        {
            findings.runs.push((branch.to_owned(), commit));
        }
        if branch == repo.default_branch && moved.before != Sha::zero() {
            for commit in git.log(&moved.after, Some(&moved.before), MOST_READ).await? {
                let numbers = closing::numbers(&commit.message);
                findings.closes.extend(numbers.into_iter().map(|number| (number, commit.sha.clone())));
            }
        }
    }
    Ok(findings)
}

fn moves(told: &HashMap<String, String>, there: &[(RefName, Sha)]) -> Vec<Move> {
    let mut moves = Vec::new();
    let before = |name: &str| told.get(name).and_then(|sha| Sha::parse(sha)).unwrap_or_else(Sha::zero);
    for (name, after) in there {
        let before = before(name.as_str());
        if before != *after {
            moves.push(Move { name: name.clone(), before, after: after.clone() });
        }
    }
    for gone in told.keys().filter(|name| !there.iter().any(|(known, _)| known.as_str() == name.as_str())) {
        if let Some(name) = RefName::parse(gone) {
            moves.push(Move { name, before: before(gone), after: Sha::zero() });
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

/// Whether the head of a pull request, which is more than its base was, is on the base now.
async fn has_landed(git: &Repository<'_>, pull: &Pull, base: &Sha) -> Result<bool, GitError> {
    let (Some(head), Some(old)) = (Sha::parse(&pull.row.head_sha), Sha::parse(&pull.row.base_sha)) else {
        return Ok(false);
    };
    Ok(git.is_ancestor(&head, base).await? && !git.is_ancestor(&head, &old).await?)
}

async fn open_pulls(db: &mut SqliteConnection, repo: i64) -> Result<Vec<Pull>, sqlx::Error> {
    let filter = pulls::Filter { state: Some("open"), ..pulls::Filter::default() };
    pulls::list(db, repo, &filter, Timestamp(i64::MAX), i64::MAX, 0).await
}

/// Who tells, of which repository, at what time.
struct Teller<'a> {
    site: &'a Site,
    repo: Repo,
    actor: &'a User,
    now: Timestamp,
}

impl Teller<'_> {
    async fn moved(&self, db: &mut SqliteConnection, moved: &Move) -> Result<(), Failure> {
        let (id, name, after) = (self.repo.row.id, moved.name.as_str(), moved.after.as_str());
        let (made, gone) = (moved.before == Sha::zero(), moved.after == Sha::zero());
        if gone {
            refs::remove(db, id, name).await?;
        } else {
            refs::put(db, id, name, after, self.now).await?;
        }
        refs::record(db, id, name, moved.before.as_str(), after, self.actor.id, self.now).await?;
        repos::touch_pushed(db, id, self.now).await?;
        if made || gone {
            webhook::ref_changed(self.site, db, &self.repo, self.actor, &moved.name, made).await?;
        }
        webhook::push(self.site, db, &self.repo, self.actor, &moved.name, &moved.before, &moved.after)
            .await?;
        match moved.name.as_branch() {
            Some(branch) => self.moved_branch(db, branch, moved).await,
            None => Ok(()),
        }
    }

    /// Pull requests from and to a branch that moved.
    async fn moved_branch(
        &self,
        db: &mut SqliteConnection,
        branch: &str,
        moved: &Move,
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
                webhook::pull(self.site, db, &self.repo, self.actor, "synchronize", &pull, more).await?;
            }
        }
        Ok(())
    }

    async fn merge(&self, db: &mut SqliteConnection, merge: &MergeRow, done: bool) -> Result<(), Failure> {
        pulls::settled(db, merge.issue).await?;
        let pull = pulls::by_id(db, merge.issue).await?.filter(|pull| done && pull.row.merged.is_none());
        match pull {
            Some(pull) => self.merged(db, pull, merge.actor, &merge.after_sha).await,
            None => Ok(()),
        }
    }

    async fn merged(
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
        self.note(db, pull.issue.id, actor, "merged", Some(commit), json!({})).await?;
        self.close(db, &mut pull.issue, actor, None).await?;
        if pull.row.base_ref == self.repo.row.default_branch {
            let text = format!("{}\n{}", pull.issue.title, pull.issue.body.as_deref().unwrap_or_default());
            for number in closing::numbers(&text) {
                self.close_issue(db, number, actor, commit).await?;
            }
        }
        Ok(())
    }

    /// Closes an issue because a commit on the default branch says so.
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
        self.note(db, issue.id, actor, "closed", commit, detail).await?;
        let sender = self.site.user(actor);
        webhook::issue(self.site, db, &self.repo, &sender, "closed", issue.id, json!({})).await
    }

    async fn note(
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

/// Keeps the heads that moved under names of their own, so that they can be fetched and outlive their branches.
async fn keep_heads(git: &Repository<'_>, open: &[Pull], moves: &[Move]) -> Result<(), GitError> {
    for pull in open {
        let moved = moves.iter().any(|moved| moved.name.as_branch() == Some(&pull.row.head_ref));
        if let Some(head) = Sha::parse(&pull.row.head_sha).filter(|_| moved) {
            git.keep_pull(pull.issue.number, &head).await?;
        }
    }
    Ok(())
}
