//! What the daemon stands on: its identity, its way to the forge, and the projects it works on.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use pilot_core::config::{Config, NamedServices, Project};
use pilot_core::id::{HomeId, InstanceId};
use pilot_core::time::Timestamp;
use pilot_exec::git::{GitError, Program, Repository};
use pilot_link::connect::Connector;
use pilot_link::forge::Forge;
use pilot_link::http::{Pace, Proxy, Settings};
use pilot_link::tracker::Tracker;
use pilot_store::{RunId, Store};

use super::log::Log;
use super::project::{ProjectSetup, Shared};
use crate::agent::recover;
use crate::clock;
use crate::config::{Environment, Loaded};
use crate::wrong_use::{OrWrongUse, WrongUse};

/// What a daemon starts with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) shared: Shared,
    pub(crate) setups: Vec<ProjectSetup>,
}

/// The time of day, and dice.
#[derive(Debug)]
pub(crate) struct WallPace;

impl Pace for WallPace {
    fn now(&self) -> Timestamp {
        Timestamp(clock::now().0)
    }

    fn random(&self) -> u64 {
        RandomState::new().build_hasher().finish()
    }
}

impl Setup {
    /// Checks everything that can be wrong before anything is done.
    pub(crate) fn check(
        loaded: &Loaded,
        config: &Config,
        environment: &Environment,
        only: Option<&str>,
    ) -> anyhow::Result<Setup> {
        let path = environment.os("PATH").unwrap_or_default().to_owned();
        let user = environment.os("HOME").map(PathBuf::from);
        let git = Arc::new(Program::new(path, user.clone()));
        let parts =
            SetupParts { config, git: &git, connector: &connector(config, environment, Settings::default()) };
        let setups = parts.setups(user.as_deref(), only)?;
        let home = loaded.home.path();
        let shared = Shared {
            home: name_of(home).context("name this Pilot's directory")?,
            claimant: name_of(&loaded.store_dir).context("name this Pilot's store")?,
            git,
            scratch: home.join("scratch"),
            askpass: std::env::current_exe().context("find this program")?,
        };
        Ok(Setup { shared, setups })
    }
}

/// The way to trackers and forges.
pub(crate) fn connector(config: &Config, environment: &Environment, settings: Settings) -> Connector {
    let user = environment.os("HOME").map(PathBuf::from);
    let settings = Settings { proxy: proxy(environment), ..settings };
    Connector::new(&config.adapters, user, settings, Arc::new(WallPace))
}

fn proxy(environment: &Environment) -> Option<Proxy> {
    let named = |name: &str| environment.text(name).or(environment.text(&name.to_ascii_lowercase()));
    named("HTTPS_PROXY")
        .filter(|url| !url.is_empty())
        .map(|url| Proxy { url: url.to_owned(), bypass: named("NO_PROXY").unwrap_or_default().to_owned() })
}

/// What every project is set up with.
struct SetupParts<'s> {
    config: &'s Config,
    git: &'s Arc<Program>,
    connector: &'s Connector,
}

impl SetupParts<'_> {
    /// The projects that are configured, or the one that is named.
    fn setups(&self, user: Option<&Path>, only: Option<&str>) -> anyhow::Result<Vec<ProjectSetup>> {
        // Names are unique whatever their case, and a directory has many spellings.
        let is_it = |project: &Project, only: &str| {
            let there = at_home(&project.path, user).canonicalize();
            only.to_lowercase() == project.name.to_lowercase()
                || there.is_ok_and(|there| Path::new(only).canonicalize().is_ok_and(|only| only == there))
        };
        let wanted = |project: &&Project| only.is_none_or(|only| is_it(project, only));
        let configured: Vec<&Project> = self.config.projects.iter().filter(wanted).collect();
        if configured.is_empty() {
            let path = PathBuf::from(only.unwrap_or("."));
            if only.is_some_and(|only| !Path::new(only).is_dir()) {
                return Err(WrongUse::error(format_args!(
                    "{} is neither the name of a project in the configuration nor a directory: see `pilot config show`",
                    only.unwrap_or_default()
                )));
            }
            let name = path
                .canonicalize()
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
            let name = name.unwrap_or_else(|| "project".to_owned());
            return Ok(vec![self.setup(name, &path, &NamedServices::default(), None)?]);
        }
        configured
            .into_iter()
            .map(|project| {
                let path = at_home(&project.path, user);
                self.setup(project.name.clone(), &path, &project.services, project.base.clone())
            })
            .collect()
    }

    fn setup(
        &self,
        name: String,
        path: &Path,
        services: &NamedServices,
        base: Option<String>,
    ) -> anyhow::Result<ProjectSetup> {
        let next = "name a repository under projects in the configuration, or start in one";
        let path = path
            .canonicalize()
            .map_err(|error| format!("find {}: {error}", path.display()))
            .or_cannot(next)?;
        let repository = match Repository::open(self.git, &path) {
            Err(GitError::NotARepository { dir }) => {
                return Err(WrongUse::error(format_args!(
                    "{} is in no git repository: {next}",
                    dir.display()
                )));
            }
            other => other.or_cannot("see `pilot doctor`")?,
        };
        let remote = repository.remote_url("origin");
        let (tracker, forge) = services
            .resolve(&self.config.adapters, remote.as_deref())
            .map_err(|why| WrongUse::error(format_args!("{name}: {why}")))?;
        Ok(ProjectSetup {
            id: forge.project_id().context("name the project")?,
            path: repository.root().map_or(path, Path::to_owned),
            tracker_port: Tracker::connect(&tracker, self.connector).or_wrong_use("")?,
            forge_port: Forge::connect(&forge, self.connector).or_wrong_use("")?,
            name,
            tracker,
            forge,
            base,
        })
    }
}

/// A path that may begin with `~/`.
pub(super) fn at_home(path: &str, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), user) {
        (Some(rest), Some(user)) => user.join(rest),
        (_, _) => PathBuf::from(path),
    }
}

/// The name of a directory of this Pilot's, made once. A process that dies on the way leaves no name or a whole one.
fn name_of(folder: &Path) -> anyhow::Result<HomeId> {
    let file = folder.join("home-id");
    match fs::read_to_string(&file) {
        Ok(text) if !text.trim().is_empty() => return Ok(HomeId::parse(text.trim())?),
        // Of a Pilot that wrote it in two steps and died between them: nothing was done under that name.
        Ok(_) => fs::remove_file(&file)?,
        Err(_) => {}
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let fresh = RunId::generate(clock::now());
    let draft = folder.join(format!("home-id.{}", fresh.as_str()));
    let fresh = format!("pilot-{}", fresh.as_str().rsplit('-').next().unwrap_or("0"));
    let mut made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    made.write_all(format!("{fresh}\n").as_bytes())?;
    made.sync_all()?;
    let linked = fs::hard_link(&draft, &file);
    fs::remove_file(&draft)?;
    match linked {
        Ok(()) => {}
        // Another process was faster.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    Ok(HomeId::parse(fs::read_to_string(&file)?.trim())?)
}

/// A name for this start.
pub(crate) fn instance() -> anyhow::Result<InstanceId> {
    Ok(InstanceId::parse(RunId::generate(clock::now()).as_str())?)
}

/// Collects what workers of a daemon that died left.
pub(crate) async fn collect(shared: &Shared, home: &Path, store: &Store, log: &mut Log) {
    for warning in recover::recover(&shared.git, home, store).await {
        log.warn("pilot", &warning);
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn a_directory_has_one_name_whatever_was_left_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let name = name_of(&home).unwrap();
        assert_eq!(name_of(&home).unwrap(), name);
        assert_eq!(std::fs::read_dir(&home).unwrap().count(), 1, "no draft is left");
        std::fs::write(home.join("home-id"), "").unwrap();
        let next = name_of(&home).unwrap();
        assert_eq!((name_of(&home).unwrap(), next != name), (next, true));
        std::fs::write(home.join("home-id"), "no name at all").unwrap();
        assert!(name_of(&home).is_err(), "what a person wrote there is not overwritten");
    }
}
