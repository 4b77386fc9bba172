//! A project and the ways to it: its forge, its repository here, and what is configured for it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use pilot_core::config::Config;
use pilot_core::name::{Branch, HomeId, ProjectId};
use pilot_core::policy::{MergeMethod, Policy};
use pilot_exec::git::{Courier, GitError, Program, Remote, RemoteError, Repository};
use pilot_link::github::{self, Github, GithubError, Repo, RepoName};

/// What every branch of Pilot's begins with.
pub(crate) const PREFIX: &str = "pilot/";

/// A project that can be worked on.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) id: ProjectId,
    /// What people call it.
    pub(crate) name: String,
    /// Its repository on this machine.
    pub(crate) path: PathBuf,
    pub(crate) policy: Policy,
    pub(crate) github: Github,
    pub(crate) repo: Repo,
    /// Our own login there.
    pub(crate) me: String,
    /// Whose claims are ours: all who share a store are one to everybody else.
    pub(crate) claimant: HomeId,
    pub(crate) git: Arc<Program>,
    pub(crate) clone_url: String,
    /// The address for people.
    pub(crate) html_url: String,
    /// For small files while git talks to the forge.
    pub(crate) scratch: PathBuf,
    /// What git starts to hear a password.
    pub(crate) askpass: PathBuf,
}

/// A project as it is configured, before anybody asked its forge.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) repo: RepoName,
    /// The branch everything is merged into, if it is not the forge's default.
    pub(crate) base: Option<String>,
}

/// What all projects share.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) github: Github,
    pub(crate) home: HomeId,
    /// In whose name claims are placed on the forge.
    pub(crate) claimant: HomeId,
    pub(crate) git: Arc<Program>,
    pub(crate) scratch: PathBuf,
    pub(crate) askpass: PathBuf,
}

impl Plot {
    /// What it is called in the store.
    pub(crate) fn id(&self) -> anyhow::Result<ProjectId> {
        ProjectId::parse(&format!("github:{}", self.repo)).context("name the project")
    }

    /// Asks the forge what must be known before anything is done.
    pub(crate) async fn connect(&self, ground: &Ground, config: &Config) -> anyhow::Result<Site> {
        let repo = ground.github.repo(self.repo.clone());
        let facts = repo.facts().await?;
        let me = ground.github.login().await?.to_owned();
        if facts.archived {
            anyhow::bail!("{} is archived: unarchive it, or take it out of the projects", self.repo);
        }
        if facts.rights.is_some_and(|rights| !rights.push) {
            anyhow::bail!(
                "the token of {me} may not write to {}: give it the permission to write contents, issues and pull requests",
                self.repo
            );
        }
        let base = self.base.clone().unwrap_or(facts.default_branch);
        let base = Branch::parse(&base).context("use the base branch")?;
        let policy = Policy::of(config, base);
        let method = method(policy.merge_method);
        if facts.merge_methods.as_ref().is_some_and(|allowed| !allowed.contains(&method)) {
            anyhow::bail!(
                "{} does not allow the merge method {method:?}: allow it there, or set orchestrator.autopilot.merge_method",
                self.repo
            );
        }
        Ok(Site {
            id: self.id()?,
            name: self.name.clone(),
            path: self.path.clone(),
            policy,
            github: ground.github.clone(),
            repo,
            me,
            claimant: ground.claimant.clone(),
            git: Arc::clone(&ground.git),
            clone_url: facts.clone_url,
            html_url: facts.html_url,
            scratch: ground.scratch.clone(),
            askpass: ground.askpass.clone(),
        })
    }
}

/// Why git did not do what was asked of it.
pub(super) enum GitTrouble {
    /// No password could be had.
    Github(GithubError),
    /// Git or the other side failed.
    Remote(RemoteError),
}

impl From<RemoteError> for GitTrouble {
    fn from(error: RemoteError) -> GitTrouble {
        GitTrouble::Remote(error)
    }
}

impl From<GitError> for GitTrouble {
    fn from(error: GitError) -> GitTrouble {
        GitTrouble::Remote(error.into())
    }
}

impl Site {
    /// Lets somebody talk to the forge with git, on a thread of its own.
    pub(super) async fn with_git<T: Send + 'static>(
        &self,
        talk: impl FnOnce(&Courier<'_>) -> Result<T, RemoteError> + Send + 'static,
    ) -> Result<T, GitTrouble> {
        let password = self.github.git_password().await.map_err(GitTrouble::Github)?;
        let remote =
            Remote::parse(&self.clone_url)?.with_password("x-access-token", &password, &self.askpass);
        let (git, path, scratch) = (Arc::clone(&self.git), self.path.clone(), self.scratch.clone());
        let talked = tokio::task::spawn_blocking(move || {
            let repository = Repository::open(&git, &path)?;
            talk(&Courier { repository: &repository, remote: &remote, scratch: &scratch })
        });
        match talked.await {
            Ok(done) => Ok(done?),
            Err(broken) => {
                let source = std::io::Error::other(broken);
                Err(GitError::Io { command: "push or fetch".to_owned(), source }.into())
            }
        }
    }
}

/// How a merge is made, in the forge's words.
pub(super) fn method(method: MergeMethod) -> github::MergeMethod {
    match method {
        MergeMethod::Squash => github::MergeMethod::Squash,
        MergeMethod::Merge => github::MergeMethod::Merge,
        MergeMethod::Rebase => github::MergeMethod::Rebase,
    }
}
