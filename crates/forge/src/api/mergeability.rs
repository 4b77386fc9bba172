//! Whether a pull request can be merged, and how large it is: what only git knows, remembered by head and base.

use std::collections::HashMap;
use std::sync::Mutex;

use sqlx::SqliteConnection;

use super::protection::{self, Verdict};
use crate::git::{GitError, MergeOutcome, Repository};
use crate::name::Sha;
use crate::server::{Failure, Repo};
use crate::site::Site;
use crate::store::{Pull, reviews};
use crate::timestamp::Timestamp;
use crate::wire::PullFacts;

/// Pairs that are remembered; beyond that everything is forgotten and asked again.
const MOST: usize = 4096;

/// What git said about pairs of base and head.
#[derive(Debug, Default)]
pub(crate) struct Comparisons(Mutex<HashMap<(i64, String, String), Comparison>>);

/// What git says about one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    /// Whether there are no conflicts.
    clean: bool,
    commits: i64,
    behind: i64,
    additions: i64,
    deletions: i64,
    files: i64,
}

impl Comparisons {
    /// What git says about the base and head of a pull request.
    async fn of(&self, git: &Repository<'_>, pull: &Pull) -> Result<Comparison, Failure> {
        let key = (pull.row.repo, pull.row.base_sha.clone(), pull.row.head_sha.clone());
        if let Some(known) = self.lock().get(&key) {
            return Ok(*known);
        }
        let (Some(base), Some(head)) = (Sha::parse(&key.1), Sha::parse(&key.2)) else {
            return Err(Failure::internal(&"a pull request without commits"));
        };
        let found = compare(git, &base, &head).await?;
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, found);
        Ok(found)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(i64, String, String), Comparison>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

async fn compare(git: &Repository<'_>, base: &Sha, head: &Sha) -> Result<Comparison, GitError> {
    let clean = git.merge_tree(base, head).await? != MergeOutcome::Conflict;
    let root = git.merge_base(base, head).await?.unwrap_or_else(|| base.clone());
    let files = git.summary(&root, head).await?;
    Ok(Comparison {
        clean,
        commits: git.count(head, base).await?,
        behind: git.count(base, head).await?,
        additions: files.iter().map(|file| file.additions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        files: i64::try_from(files.len()).unwrap_or(i64::MAX),
    })
}

/// Everything about a pull request that its rows do not say. Whether it can be merged is unknown for a while after it
/// changed.
pub(crate) async fn facts(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    pull: &Pull,
) -> Result<PullFacts, Failure> {
    let found = site.comparisons.of(&site.repository(pull.row.repo), pull).await?;
    let now = site.clock.now();
    let known = now >= pull.row.changed.after(site.lags.mergeable);
    let mergeable = (pull.issue.is_open() && known).then_some(found.clean);
    let mergeable_state = match mergeable {
        None => "unknown",
        Some(false) => "dirty",
        Some(true) => state(db, repo, pull, found.behind > 0, now).await?,
    };
    Ok(PullFacts {
        mergeable,
        mergeable_state,
        commits: found.commits,
        additions: found.additions,
        deletions: found.deletions,
        changed_files: found.files,
        review_comments: reviews::count_comments(db, pull.issue.id).await?,
    })
}

/// GitHub's word for what else is in the way of a pull request without conflicts.
async fn state(
    db: &mut SqliteConnection,
    repo: &Repo,
    pull: &Pull,
    behind: bool,
    now: Timestamp,
) -> Result<&'static str, sqlx::Error> {
    if pull.row.draft {
        return Ok("draft");
    }
    if let Some(rules) = protection::of_branch(db, repo, &pull.row.base_ref).await? {
        if !protection::wants(db, repo, &rules, pull, now).await?.is_empty() {
            return Ok("blocked");
        }
        if behind && rules.is_strict() {
            return Ok("behind");
        }
    }
    let results = protection::results(db, pull.row.repo, &pull.row.head_sha, now).await?;
    let all_passed = results.iter().all(|result| result.verdict == Verdict::Passed);
    Ok(if all_passed { "clean" } else { "unstable" })
}

/// Whether the base has commits that a pull request has not.
pub(super) async fn is_behind(site: &Site, pull: &Pull) -> Result<bool, Failure> {
    Ok(site.comparisons.of(&site.repository(pull.row.repo), pull).await?.behind > 0)
}
