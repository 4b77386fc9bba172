//! Whether a pull request can be merged, and its size: computed by git and cached by base and head.

use std::collections::HashMap;
use std::sync::Mutex;

use sqlx::SqliteConnection;

use super::protection::{self, CheckVerdict};
use super::pulls::sides;
use crate::context::Context;
use crate::git::{GitError, MergeOutcome, Repository};
use crate::name::Sha;
use crate::server::{Failure, Repo};
use crate::store::{Pull, reviews};
use crate::timestamp::Timestamp;
use crate::wire::PullFacts;

/// Cached pairs; when the cache is full it is cleared.
const MOST: usize = 4096;

/// Cache of comparisons by repository, base and head.
#[derive(Debug, Default)]
pub(crate) struct Comparisons(Mutex<HashMap<(i64, String, String), Comparison>>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    /// Whether the merge has no conflicts.
    clean: bool,
    commits: i64,
    behind: i64,
    additions: i64,
    deletions: i64,
    files: i64,
}

impl Comparisons {
    /// Compares the base and head of a pull request.
    async fn of(&self, git: &Repository<'_>, pull: &Pull) -> Result<Comparison, Failure> {
        let key = (pull.row.repo, pull.row.base_sha.clone(), pull.row.head_sha.clone());
        if let Some(known) = self.lock().get(&key) {
            return Ok(*known);
        }
        let (base, head) = sides(pull)?;
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

/// The facts about a pull request that its rows do not hold. `mergeable` is unknown until `Lags::mergeable` has passed since
/// the last change.
pub(crate) async fn facts(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    pull: &Pull,
) -> Result<PullFacts, Failure> {
    let found = ctx.comparisons.of(&ctx.repository(pull.row.repo), pull).await?;
    let now = ctx.clock.now();
    let known = now >= pull.row.changed.after(ctx.lags.mergeable);
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

/// GitHub's `mergeable_state` of a pull request without conflicts.
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
        if !protection::missing_requirements(db, repo, &rules, pull, now).await?.is_empty() {
            return Ok("blocked");
        }
        if behind && rules.is_strict() {
            return Ok("behind");
        }
    }
    let results = protection::results(db, pull.row.repo, &pull.row.head_sha, now).await?;
    let all_passed = results.iter().all(|result| result.verdict == CheckVerdict::Passed);
    Ok(if all_passed { "clean" } else { "unstable" })
}

/// Whether the base has commits that the head does not contain.
pub(super) async fn is_behind(ctx: &Context, pull: &Pull) -> Result<bool, Failure> {
    Ok(ctx.comparisons.of(&ctx.repository(pull.row.repo), pull).await?.behind > 0)
}
