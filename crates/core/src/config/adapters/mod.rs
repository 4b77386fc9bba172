//! Where work comes from and where it goes: a file for each adapter, with its keys, its section and what is wrong with it.

pub(super) mod github;

use std::time::Duration;

use crate::id::{ProjectId, References};

pub use github::{GithubApp, GithubConfig, Polling};

super::section! {
    pub struct Adapters at (adapters) {
        section github: GithubConfig = GithubConfig::default();
    }
}

/// Where the tickets of a project are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectTracker {
    /// The repository, as in `owner/name`; none is `adapters.github.repo`, else what the remote `origin` names.
    Github { repo: Option<String> },
}

/// Where the code and the pull requests of a project are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectForge {
    /// The repository, as in `owner/name`; none is `adapters.github.repo`, else what the remote `origin` names.
    Github { repo: Option<String> },
}

impl ProjectForge {
    pub fn repo(&self) -> Option<&str> {
        match self {
            ProjectForge::Github { repo } => repo.as_deref(),
        }
    }

    pub fn references(&self) -> References {
        match self {
            ProjectForge::Github { .. } => github::references(),
        }
    }
}

/// What the adapter of a tracker has configured, whichever it is.
#[derive(Clone, Copy, Debug)]
pub struct TrackerSettings<'c> {
    /// The label that asks for work.
    pub label: &'c str,
    /// Accounts that may ask for work whatever their permission.
    pub allowed_users: &'c [String],
    pub poll_interval: Duration,
}

impl ProjectTracker {
    pub fn settings<'c>(&self, adapters: &'c Adapters) -> TrackerSettings<'c> {
        match self {
            ProjectTracker::Github { .. } => adapters.github.tracker_settings(),
        }
    }
}

/// How tickets and pull requests of a project are written for people.
pub fn references(project: &ProjectId) -> References {
    match project.forge() {
        github::FORGE => github::references(),
        _ => References::default(),
    }
}
