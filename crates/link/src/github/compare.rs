//! How two commits lie to one another.

use serde::Deserialize;

use super::{GithubError, Repo, Sha, Why};
use crate::http::{Read, Request};

/// How a head lies to a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// In a word.
    pub relation: Relation,
    /// Commits that only the head has.
    pub ahead: u64,
    /// Commits that only the base has.
    pub behind: u64,
    /// The last commit they share.
    pub merge_base: Sha,
}

/// How a head lies to a base, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same commit.
    Identical,
    /// The head has all of the base, and more.
    Ahead,
    /// The base has all of the head, and more.
    Behind,
    /// Each has something the other has not.
    Diverged,
}

#[derive(Deserialize)]
struct Wire {
    status: String,
    ahead_by: u64,
    behind_by: u64,
    merge_base_commit: CommitWire,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: String,
}

impl Repo {
    /// How `head` lies to `base`; both are branches, tags or commits.
    pub async fn compare(&self, base: &str, head: &str) -> Result<Comparison, GithubError> {
        let what = self.doing(&format!("compare {base:?} and {head:?}"));
        let mut url = self.url(&what, &["compare", &format!("{base}...{head}")])?;
        // Only the verdict is wanted, not two hundred and fifty commits.
        url.query_pairs_mut().append_pair("per_page", "1");
        let Read { value: wire, .. } = self.github.read::<Wire>(&what, Request::get(url)).await?;
        let relation = match wire.status.as_str() {
            "identical" => Relation::Identical,
            "ahead" => Relation::Ahead,
            "behind" => Relation::Behind,
            "diverged" => Relation::Diverged,
            other => {
                let detail = format!("{other:?} is no way to lie to one another");
                return Err(GithubError::new(what, Why::Malformed { detail }));
            }
        };
        let merge_base = Sha::parse(&wire.merge_base_commit.sha)?;
        Ok(Comparison { relation, ahead: wire.ahead_by, behind: wire.behind_by, merge_base })
    }

    /// Whether a branch has a commit.
    pub async fn contains(&self, branch: &str, commit: &Sha) -> Result<bool, GithubError> {
        match self.compare(branch, commit.as_str()).await?.relation {
            Relation::Identical | Relation::Behind => Ok(true),
            Relation::Ahead | Relation::Diverged => Ok(false),
        }
    }
}
