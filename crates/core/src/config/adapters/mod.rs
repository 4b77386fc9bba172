//! Where work comes from and where it goes: a file for each adapter, with its keys, what a project says of it, and what is
//! wrong with that.

mod github;
#[cfg(feature = "toy")]
mod toy;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use self::github::GithubDraft;
#[cfg(feature = "toy")]
use self::toy::ToyDraft;
use super::Config;
use super::check::Faults;
use super::node::MapEntry;
use super::sections::{Flaw, describe};
use crate::id::{NotAName, ProjectId, References};

pub use github::{GithubApp, GithubConfig, Polling};
#[cfg(feature = "toy")]
pub use toy::ToyConfig;

super::section! {
    pub struct Adapters at (adapters) {
        section github: GithubConfig = GithubConfig::default();
        #[cfg(feature = "toy")]
        section toy: ToyConfig = ToyConfig::default();
    }
}

/// Where the tickets of a project are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectTracker {
    /// The issues of a repository: `owner/name`.
    Github { repo: String },
    #[cfg(feature = "toy")]
    Toy { project: String },
}

/// Where the code and the pull requests of a project are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectForge {
    /// A repository: `owner/name`.
    Github { repo: String },
    #[cfg(feature = "toy")]
    Toy { project: String },
}

/// What a project says of each adapter, in the section of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedServices {
    /// Its repository: `owner/name`.
    github: Option<String>,
    #[cfg(feature = "toy")]
    toy: Option<String>,
}

impl NamedServices {
    /// The tracker and the forge of a project with this remote, or why they are not known. A project that names no service is
    /// on GitHub.
    pub fn resolve(
        &self,
        adapters: &Adapters,
        remote: Option<&str>,
    ) -> Result<(ProjectTracker, ProjectForge), String> {
        #[cfg(feature = "toy")]
        if let Some(project) = &self.toy {
            let project = project.clone();
            return Ok((ProjectTracker::Toy { project: project.clone() }, ProjectForge::Toy { project }));
        }
        let repo = github::repository(self.github.as_deref(), &adapters.github, remote)?;
        Ok((ProjectTracker::Github { repo: repo.clone() }, ProjectForge::Github { repo }))
    }

    /// What no two projects share, with the key that says it.
    pub(super) fn identities(&self) -> impl Iterator<Item = (&'static str, String)> {
        let github = self.github.as_ref().map(|repo| ("github", repo.to_ascii_lowercase()));
        #[cfg(feature = "toy")]
        let github = github.into_iter().chain(self.toy.clone().map(|project| ("toy", project)));
        github.into_iter()
    }

    /// As it is written in the configuration.
    pub(super) fn show(&self, project: &mut Map<String, Json>) {
        project.insert("github".to_owned(), github::show(self.github.as_deref()));
        #[cfg(feature = "toy")]
        if let Some(named) = &self.toy {
            project.insert("toy".to_owned(), serde_json::json!({"project": named}));
        }
    }
}

impl ProjectForge {
    /// What the project is called in the store.
    pub fn project_id(&self) -> Result<ProjectId, NotAName> {
        let (forge, path) = match self {
            ProjectForge::Github { repo } => (github::FORGE, repo),
            #[cfg(feature = "toy")]
            ProjectForge::Toy { project } => (toy::FORGE, project),
        };
        ProjectId::parse(&format!("{forge}:{path}"))
    }

    pub fn references(&self) -> References {
        match self {
            ProjectForge::Github { .. } => github::references(),
            #[cfg(feature = "toy")]
            ProjectForge::Toy { .. } => toy::references(),
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
            #[cfg(feature = "toy")]
            ProjectTracker::Toy { .. } => adapters.toy.tracker_settings(),
        }
    }
}

/// How tickets and pull requests of a project are written for people.
pub fn references(project: &ProjectId) -> References {
    match project.forge() {
        github::FORGE => github::references(),
        #[cfg(feature = "toy")]
        toy::FORGE => toy::references(),
        _ => References::default(),
    }
}

/// Values that can be read and still make no sense.
pub(super) fn check(config: &Config, faults: &mut Faults) {
    github::check(config, faults);
    #[cfg(feature = "toy")]
    toy::check(config, faults);
}

/// What was read so far of what a project says of each adapter.
#[derive(Default)]
pub(super) struct AdapterDrafts {
    github: GithubDraft,
    #[cfg(feature = "toy")]
    toy: ToyDraft,
}

impl AdapterDrafts {
    /// The names of the sections that a project may have.
    pub(super) const NAMES: &[&str] = &[
        "github",
        #[cfg(feature = "toy")]
        "toy",
    ];

    /// Reads the section of an adapter; true when all of it could be read, none when no adapter has this name.
    pub(super) fn read(&mut self, entry: &MapEntry, flaws: &mut Vec<Flaw>) -> Option<bool> {
        match entry.key.as_str() {
            "github" => Some(self.github.read(&entry.value, flaws)),
            #[cfg(feature = "toy")]
            "toy" => Some(self.toy.read(&entry.value, flaws)),
            _ => None,
        }
    }

    /// What is named, or the section that is wrong, with the reason.
    pub(super) fn finish(self) -> Result<NamedServices, (&'static str, &'static str)> {
        let named = NamedServices {
            github: self.github.finish().map_err(|why| ("github", why))?,
            #[cfg(feature = "toy")]
            toy: self.toy.finish(),
        };
        match named.identities().count() {
            0 | 1 => Ok(named),
            _ => Err(("", "a project is on one forge; keep one of the sections")),
        }
    }

    pub(super) fn describe(item: &mut Json) {
        describe(item, GithubDraft::KEYS);
        #[cfg(feature = "toy")]
        describe(item, ToyDraft::KEYS);
    }
}
