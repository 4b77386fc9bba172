//! What is found: the kind of project, agents, a forge, variables that builds need. Looks only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::Backend;
use pilot_core::gate::{Gate, detect};
use pilot_exec::backend::is_executable;
use pilot_exec::gate::look;
use pilot_exec::git::{Program, Repository};

use super::choices;
use super::forge::Forge;
use crate::config::Environment;

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Where it was looked.
    pub(super) directory: PathBuf,
    /// The root of the repository there.
    pub(super) repository: Option<PathBuf>,
    /// What is built there, the surest first.
    pub(super) kinds: Vec<Kind>,
    /// The agents on the `PATH`, the default first.
    pub(super) agents: Vec<Backend>,
    /// Where the repository is pushed to.
    pub(super) forge: Option<Forge>,
    /// Variables that are set and that a build of this kind needs.
    pub(super) variables: Vec<&'static str>,
    /// The checks that Pilot finds here by itself.
    pub(super) gates: Vec<Gate>,
}

/// What is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rust,
    Go,
    Node,
    Python,
    Java,
    Make,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Rust, Kind::Go, Kind::Node, Kind::Python, Kind::Java, Kind::Make];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Rust => "Rust",
            Kind::Go => "Go",
            Kind::Node => "Node",
            Kind::Python => "Python",
            Kind::Java => "Java",
            Kind::Make => "Make",
        }
    }

    /// Files any of which says so.
    fn files(self) -> &'static [&'static str] {
        match self {
            Kind::Rust => &["Cargo.toml"],
            Kind::Go => &["go.mod"],
            Kind::Node => &["package.json"],
            Kind::Python => &["pyproject.toml", "setup.py", "requirements.txt"],
            Kind::Java => &["pom.xml", "build.gradle", "build.gradle.kts"],
            Kind::Make => &["Makefile", "makefile", "GNUmakefile"],
        }
    }

    /// Variables that say where tools and caches are. None of them holds a secret.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Kind::Rust => &["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"],
            Kind::Go => &["GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS"],
            Kind::Node => &["NVM_DIR", "PNPM_HOME", "VOLTA_HOME", "COREPACK_HOME"],
            Kind::Python => &["VIRTUAL_ENV", "PYENV_ROOT", "POETRY_HOME", "UV_CACHE_DIR", "CONDA_PREFIX"],
            Kind::Java => &["JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_HOME"],
            Kind::Make => &[],
        }
    }
}

impl Found {
    /// Looks around a directory.
    pub(super) fn at(directory: &Path, environment: &Environment) -> Found {
        let repository = directory.ancestors().find(|folder| folder.join(".git").exists());
        let root = repository.unwrap_or(directory);
        let kinds: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| kind.files().iter().any(|file| root.join(file).is_file()))
            .collect();
        let needed = kinds.iter().flat_map(|kind| kind.variables()).copied();
        Found {
            directory: directory.to_owned(),
            repository: repository.map(Path::to_owned),
            variables: needed
                .filter(|name| environment.os(name).is_some_and(|value| !value.is_empty()))
                .collect(),
            kinds,
            agents: choices().filter(|backend| is_on_path(*backend, environment)).collect(),
            forge: repository.and_then(|root| forge(root, environment)),
            gates: detect(&look(root)),
        }
    }
}

fn is_on_path(backend: Backend, environment: &Environment) -> bool {
    let (Some(program), Some(path)) = (backend.program(), environment.os("PATH")) else { return false };
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .any(|folder| is_executable(&folder.join(program)))
}

/// Where `origin` leads. No remote, no git: no forge, and nothing to complain about here.
fn forge(root: &Path, environment: &Environment) -> Option<Forge> {
    let path = environment.os("PATH").unwrap_or_default().to_owned();
    let git = Arc::new(Program::new(path, environment.os("HOME").map(PathBuf::from)));
    let url = Repository::open(&git, root).ok()?.remote_url("origin")?;
    Forge::parse(&url)
}
