//! What is known of a repository.

use serde::Deserialize;

use super::{GithubError, MergeMethod, Repo, RepoName, Why};

/// What is known of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Its name, as GitHub writes it.
    pub name: RepoName,
    /// The branch that pull requests go to.
    pub default_branch: String,
    /// Whether it can only be read.
    pub archived: bool,
    /// Whether it has issues.
    pub has_issues: bool,
    /// What our token may do; none when GitHub does not tell.
    pub rights: Option<Rights>,
    /// How pull requests may be merged; none when GitHub does not tell, which it does to those who may write.
    pub merge_methods: Option<Vec<MergeMethod>>,
    /// The address for git, over HTTPS.
    pub clone_url: String,
    /// The address for people.
    pub html_url: String,
}

/// What a token may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Read.
    pub pull: bool,
    /// Write.
    pub push: bool,
    /// Everything.
    pub admin: bool,
}

#[derive(Deserialize)]
struct Wire {
    full_name: String,
    default_branch: String,
    #[serde(default)]
    archived: bool,
    #[serde(default = "yes")]
    has_issues: bool,
    permissions: Option<RightsWire>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    clone_url: String,
    html_url: String,
}

#[derive(Deserialize)]
struct RightsWire {
    #[serde(default)]
    pull: bool,
    #[serde(default)]
    push: bool,
    #[serde(default)]
    admin: bool,
}

fn yes() -> bool {
    true
}

impl Repo {
    /// What is known of it. A repository that was renamed is an error that tells the new name.
    pub async fn facts(&self) -> Result<RepositoryFacts, GithubError> {
        let what = format!("look at the repository {}", self.name);
        let wire: Wire = self.get(&what, &[]).await?;
        let facts = wire.facts()?;
        if !facts.name.is_same(&self.name) {
            // Some servers answer under the old name instead of sending us on.
            return Err(GithubError::new(what, Why::Renamed { to: Some(facts.name) }));
        }
        Ok(facts)
    }
}

impl Wire {
    fn facts(self) -> Result<RepositoryFacts, GithubError> {
        let methods = [
            (MergeMethod::Merge, self.allow_merge_commit),
            (MergeMethod::Squash, self.allow_squash_merge),
            (MergeMethod::Rebase, self.allow_rebase_merge),
        ];
        let told = methods.iter().any(|(_, allowed)| allowed.is_some());
        let allowed = methods.into_iter().filter(|(_, allowed)| *allowed == Some(true));
        Ok(RepositoryFacts {
            name: RepoName::parse(&self.full_name)?,
            default_branch: self.default_branch,
            archived: self.archived,
            has_issues: self.has_issues,
            rights: self.permissions.map(|RightsWire { pull, push, admin }| Rights { pull, push, admin }),
            merge_methods: told.then(|| allowed.map(|(method, _)| method).collect()),
            clone_url: self.clone_url,
            html_url: self.html_url,
        })
    }
}
