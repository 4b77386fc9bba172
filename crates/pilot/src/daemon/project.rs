//! A project and the ports to it: its tracker, its forge, its repository here, and what is configured for it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use pilot_core::config::{Config, ProjectForge, ProjectTracker};
use pilot_core::id::{Branch, HomeId, PrNumber, ProjectId};
use pilot_core::observed::{Author, AuthorKind, Failure, FailureKind};
use pilot_core::policy::Policy;
use pilot_core::port::{Answer, Call, GitAnswer, GitCall, Reply};
use pilot_exec::git::{GitPort, Program};
use pilot_link::forge::{Forge, GitCredential};
use pilot_link::tracker::Tracker;

/// A project whose tracker and forge have answered.
#[derive(Debug)]
pub(crate) struct OpenProject {
    pub(crate) id: ProjectId,
    /// What people call it.
    pub(crate) name: String,
    /// Its repository on this machine.
    pub(crate) path: PathBuf,
    pub(crate) policy: Policy,
    /// Where its tickets are, for its workers.
    pub(crate) tracked_by: ProjectTracker,
    /// Our own login there.
    pub(crate) me: String,
    /// The address for people.
    pub(crate) html_url: String,
    tracker: Tracker,
    forge: Forge,
    git: GitPort,
}

/// A project as it is configured, before its forge was asked.
#[derive(Clone, Debug)]
pub(crate) struct ProjectSetup {
    /// What it is called in the store.
    pub(crate) id: ProjectId,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) tracker: ProjectTracker,
    pub(crate) forge: ProjectForge,
    pub(crate) tracker_port: Tracker,
    pub(crate) forge_port: Forge,
    /// The branch everything is merged into, if it is not the forge's default.
    pub(crate) base: Option<String>,
}

/// What all projects share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) home: HomeId,
    /// The name under which claims are placed on the forge.
    pub(crate) claimant: HomeId,
    pub(crate) git: Arc<Program>,
    pub(crate) scratch: PathBuf,
    pub(crate) askpass: PathBuf,
}

impl ProjectSetup {
    /// Asks the forge what must be known before anything is done.
    pub(crate) async fn connect(&self, shared: &Shared, config: &Config) -> anyhow::Result<OpenProject> {
        let facts = self.forge_port.facts().await?;
        let (me, repo) = (facts.own_login, self.id.path());
        if facts.is_archived {
            anyhow::bail!("{repo} is archived: unarchive it, or remove it from the projects");
        }
        if facts.may_push == Some(false) {
            anyhow::bail!(
                "the token of {me} may not write to {repo}: give it the permission to write contents, issues and pull requests"
            );
        }
        let configured =
            self.base.as_deref().map(Branch::parse).transpose().context("use the base branch")?;
        let base = configured.unwrap_or(facts.default_branch);
        let policy = Policy::of(config, &self.tracker, &self.forge, base);
        let method = policy.merge_method;
        if facts.merge_methods.as_ref().is_some_and(|allowed| !allowed.contains(&method)) {
            anyhow::bail!(
                "{repo} does not allow the merge method {method:?}: allow it there, or set orchestrator.autopilot.merge_method"
            );
        }
        Ok(OpenProject {
            id: self.id.clone(),
            name: self.name.clone(),
            path: self.path.clone(),
            policy,
            tracked_by: self.tracker.clone(),
            html_url: facts.web_url,
            tracker: self.tracker_port.clone(),
            forge: self.forge_port.clone(),
            me,
            git: GitPort {
                program: Arc::clone(&shared.git),
                path: self.path.clone(),
                url: facts.clone_url,
                scratch: shared.scratch.clone(),
                askpass: shared.askpass.clone(),
                claimant: shared.claimant.clone(),
            },
        })
    }
}

impl OpenProject {
    /// Makes a call of one of the ports.
    pub(crate) async fn call(&self, call: &Call) -> Reply {
        match call {
            Call::Tracker(call) => self.tracker.call(call).await.map(Answer::Tracker),
            Call::Forge(call) => self.forge.call(call).await.map(Answer::Forge),
            Call::Git(call) => self.call_git(call).await.map(Answer::Git),
        }
    }

    /// The address of a pull request for people.
    /// How a commit names the author of a ticket; a person may use Pilot's account too.
    pub(crate) fn co_author(&self, author: &Author) -> Option<String> {
        match author.kind {
            AuthorKind::Person | AuthorKind::Me => self.tracker.co_author(&author.login),
            AuthorKind::Bot => None,
        }
    }

    pub(crate) fn pull_url(&self, pr: PrNumber) -> String {
        self.forge.pull_url(&self.html_url, pr)
    }

    /// The page where a person opens a pull request of a branch.
    pub(crate) fn compare_url(&self, branch: &Branch) -> String {
        self.forge.compare_url(&self.html_url, &self.policy.base, branch)
    }

    async fn call_git(&self, call: &GitCall) -> Result<GitAnswer, Failure> {
        let GitCredential { user, password } = self.forge.git_credential().await?;
        let (port, call) = (self.git.clone(), call.clone());
        let called = tokio::task::spawn_blocking(move || port.call(user, password.expose(), &call)).await;
        called.unwrap_or_else(|error| {
            Err(Failure::new(FailureKind::NotSent, format!("a thread that waited for git panicked: {error}")))
        })
    }
}
