//! The forge port: one arm for each adapter.

use pilot_core::config::ProjectForge;
use pilot_core::id::{Branch, PrNumber};
use pilot_core::observed::Failure;
use pilot_core::policy::MergeMethod;
use pilot_core::port::{ForgeAnswer, ForgeCall};

use crate::connect::{ConnectError, Connector};
use crate::error::LinkError;
use crate::github::{GithubForge, Repo};
use crate::http::SecretText;

#[derive(Clone, Debug)]
pub enum Forge {
    Github(GithubForge),
    #[cfg(feature = "toy")]
    Toy(crate::toy::Toy),
}

/// What must be known of a repository before any work on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The login of the account that the credentials belong to.
    pub own_login: String,
    pub default_branch: Branch,
    pub is_archived: bool,
    /// Whether the credentials may push; none when the forge does not tell.
    pub may_push: Option<bool>,
    /// The merge methods the repository allows; none when the forge does not tell.
    pub merge_methods: Option<Vec<MergeMethod>>,
    pub clone_url: String,
    pub web_url: String,
}

#[derive(Clone, Debug)]
pub struct GitCredential {
    pub user: &'static str,
    pub password: SecretText,
}

impl Forge {
    pub fn connect(project: &ProjectForge, connector: &Connector) -> Result<Forge, ConnectError> {
        Ok(match project {
            ProjectForge::Github { repo } => Forge::Github(GithubForge::new(Repo::connect(connector, repo)?)),
            #[cfg(feature = "toy")]
            ProjectForge::Toy { project } => Forge::Toy(crate::toy::Toy::connect(connector, project)?),
        })
    }

    pub async fn call(&self, call: &ForgeCall) -> Result<ForgeAnswer, Failure> {
        match self {
            Forge::Github(github) => github.call(call).await,
            #[cfg(feature = "toy")]
            Forge::Toy(toy) => toy.call_forge(call).await,
        }
    }

    pub async fn facts(&self) -> Result<RepositoryFacts, LinkError> {
        match self {
            Forge::Github(github) => github.facts().await,
            #[cfg(feature = "toy")]
            Forge::Toy(toy) => toy.facts().await,
        }
    }

    pub async fn git_credential(&self) -> Result<GitCredential, Failure> {
        match self {
            Forge::Github(github) => github.git_credential().await,
            #[cfg(feature = "toy")]
            Forge::Toy(toy) => Ok(toy.git_credential()),
        }
    }

    /// The web page of a pull request, in a repository whose page is `web_url`.
    pub fn pull_url(&self, web_url: &str, pr: PrNumber) -> String {
        match self {
            Forge::Github(_) => format!("{web_url}/pull/{}", pr.0),
            #[cfg(feature = "toy")]
            Forge::Toy(_) => format!("{web_url}/pulls/{}", pr.0),
        }
    }

    /// The web page that shows what a branch changes, where a user opens a pull request.
    pub fn compare_url(&self, web_url: &str, base: &Branch, branch: &Branch) -> String {
        match self {
            Forge::Github(_) => format!("{web_url}/compare/{base}...{branch}"),
            #[cfg(feature = "toy")]
            Forge::Toy(_) => format!("{web_url}/changes/{branch}"),
        }
    }

    /// The web page of a repository's releases.
    pub fn releases_url(&self, web_url: &str) -> String {
        match self {
            Forge::Github(_) => format!("{web_url}/releases"),
            #[cfg(feature = "toy")]
            Forge::Toy(_) => format!("{web_url}/tags"),
        }
    }
}
