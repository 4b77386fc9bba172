//! Resolves the revisions of requests: a sha, a branch or a tag.

use hyper::StatusCode;

use crate::git::Repository;
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};

/// Resolves a revision to a commit.
pub(super) async fn resolve(git: &Repository<'_>, text: &str) -> Result<Option<Sha>, Failure> {
    // Clients poll with full shas: resolve those with one git process.
    if Sha::parse(text).is_some()
        && let Some(sha) = git.commit_named(text).await?
    {
        return Ok(Some(sha));
    }
    for name in [RefName::parse(text), RefName::branch(text), RefName::tag(text), short(text)] {
        if let Some(name) = name
            && let Some(sha) = git.resolve(&format!("{name}^{{commit}}")).await?
        {
            return Ok(Some(sha));
        }
    }
    Ok(git.commit_named(text).await?)
}

/// The refs `heads/main` and `tags/v1`.
fn short(text: &str) -> Option<RefName> {
    let known = text.starts_with("heads/") || text.starts_with("tags/");
    if known { RefName::parse(&format!("refs/{text}")) } else { None }
}

/// Like [`resolve`], with GitHub's error if there is no such commit.
pub(super) async fn commit(git: &Repository<'_>, text: &str) -> Result<Sha, Failure> {
    let found = resolve(git, text).await?;
    found.ok_or_else(|| Failure::unprocessable(format!("No commit found for SHA: {text}")))
}

/// Resolves a revision; without one the tip of the default branch.
pub(super) async fn or_default(
    git: &Repository<'_>,
    repo: &Repo,
    text: Option<&str>,
) -> Result<Option<Sha>, Failure> {
    match text {
        Some(text) => resolve(git, text).await,
        None => resolve(git, &repo.row.default_branch).await,
    }
}

/// GitHub's 409 for a repository without commits.
pub(super) fn empty() -> Failure {
    Failure::new(StatusCode::CONFLICT, "Git Repository is empty.")
}
