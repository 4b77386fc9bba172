//! Commits by whatever a request calls them: a sha, a branch, a tag.

use hyper::StatusCode;

use crate::git::Repository;
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};

/// The commit that a text means, if there is one.
pub(super) async fn resolve(git: &Repository<'_>, text: &str) -> Result<Option<Sha>, Failure> {
    // The common case, which clients poll with, costs one look.
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

/// `heads/main` and `tags/v1` for short.
fn short(text: &str) -> Option<RefName> {
    let known = text.starts_with("heads/") || text.starts_with("tags/");
    if known { RefName::parse(&format!("refs/{text}")) } else { None }
}

/// The same, with GitHub's words when there is none.
pub(super) async fn commit(git: &Repository<'_>, text: &str) -> Result<Sha, Failure> {
    let found = resolve(git, text).await?;
    found.ok_or_else(|| Failure::unprocessable(format!("No commit found for SHA: {text}")))
}

/// The commit that is asked for, or the newest of the default branch.
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

/// 409, which is what GitHub says of a repository without commits.
pub(super) fn empty() -> Failure {
    Failure::new(StatusCode::CONFLICT, "Git Repository is empty.")
}
