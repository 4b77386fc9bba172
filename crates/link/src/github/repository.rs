//! Facts about a repository.

use pilot_core::id::Branch;
use pilot_core::policy::MergeMethod;
use serde::Deserialize;

use super::{GITHUB, Repo, RepoName};
use crate::error::{CallFault, LinkError, Result};
use crate::forge::RepositoryFacts;

#[derive(Deserialize)]
struct RepositoryWire {
    full_name: String,
    default_branch: String,
    #[serde(default)]
    archived: bool,
    permissions: Option<PermissionsWire>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    clone_url: String,
    html_url: String,
}

#[derive(Deserialize)]
struct PermissionsWire {
    #[serde(default)]
    push: bool,
}

impl Repo {
    pub async fn facts(&self) -> Result<RepositoryFacts> {
        let wire = self.read_repository().await?;
        let own_login = self.github.login().await?.to_owned();
        let default_branch = Branch::parse(&wire.default_branch)
            .map_err(|error| LinkError::malformed(&GITHUB, &self.action(), error.to_string()))?;
        Ok(RepositoryFacts {
            own_login,
            default_branch,
            is_archived: wire.archived,
            may_push: wire.permissions.as_ref().map(|permissions| permissions.push),
            merge_methods: wire.merge_methods(),
            clone_url: wire.clone_url,
            web_url: wire.html_url,
        })
    }

    /// Proves that the token can see the repository, and that it has the name we use.
    pub(super) async fn check_visible(&self) -> Result<()> {
        self.read_repository().await.map(drop)
    }

    async fn read_repository(&self) -> Result<RepositoryWire> {
        let wire: RepositoryWire = self.get(&self.action(), &[]).await?;
        let name = RepoName::parse(&wire.full_name)?;
        if !name.is_same(&self.name) {
            // Some servers reply under the old name instead of redirecting.
            return Err(LinkError::new(
                &GITHUB,
                self.action(),
                CallFault::Renamed { to: Some(name.to_string()) },
            ));
        }
        Ok(wire)
    }

    fn action(&self) -> String {
        format!("read the repository {}", self.name)
    }
}

impl RepositoryWire {
    /// Only tokens that may write are told.
    fn merge_methods(&self) -> Option<Vec<MergeMethod>> {
        let methods = [
            (MergeMethod::Merge, self.allow_merge_commit),
            (MergeMethod::Squash, self.allow_squash_merge),
            (MergeMethod::Rebase, self.allow_rebase_merge),
        ];
        let is_told = methods.iter().any(|(_, allowed)| allowed.is_some());
        let allowed = methods.into_iter().filter(|(_, allowed)| *allowed == Some(true));
        is_told.then(|| allowed.map(|(method, _)| method).collect())
    }
}
