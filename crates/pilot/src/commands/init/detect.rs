//! What is found: the kind of project, agents, a forge, variables that builds need. Looks only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::Backend;
use pilot_core::gate::{Gate, detect};
use pilot_exec::backend::{is_executable, search_path};
use pilot_exec::gate::read_root;
use pilot_exec::git::Repository;

use super::choices;
use super::forge::RemoteForge;
use crate::agent::call::git_program;
use crate::config::Environment;

#[derive(Clone, Debug)]
pub(super) struct Detected {
    pub(super) directory: PathBuf,
    pub(super) repository: Option<PathBuf>,
    /// What is built there, the surest first.
    pub(super) kinds: Vec<&'static ProjectKind>,
    /// The agents on the `PATH`, the default first.
    pub(super) agents: Vec<Backend>,
    pub(super) forge: Option<RemoteForge>,
    pub(super) variables: Vec<&'static str>,
    pub(super) gates: Vec<Gate>,
}

#[derive(Debug)]
pub(super) struct ProjectKind {
    pub(super) name: &'static str,
    /// Files any of which shows it.
    files: &'static [&'static str],
    /// Variables that name where tools and caches are. None of them holds a secret.
    variables: &'static [&'static str],
}

static KINDS: [ProjectKind; 6] = [
    ProjectKind {
        name: "Rust",
        files: &["Cargo.toml"],
        variables: &["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"],
    },
    ProjectKind {
        name: "Go",
        files: &["go.mod"],
        variables: &["GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS"],
    },
    ProjectKind {
        name: "Node",
        files: &["package.json"],
        variables: &["NVM_DIR", "PNPM_HOME", "VOLTA_HOME", "COREPACK_HOME"],
    },
    ProjectKind {
        name: "Python",
        files: &["pyproject.toml", "setup.py", "requirements.txt"],
        variables: &["VIRTUAL_ENV", "PYENV_ROOT", "POETRY_HOME", "UV_CACHE_DIR", "CONDA_PREFIX"],
    },
    ProjectKind {
        name: "Java",
        files: &["pom.xml", "build.gradle", "build.gradle.kts"],
        variables: &["JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_HOME"],
    },
    ProjectKind { name: "Make", files: &["Makefile", "makefile", "GNUmakefile"], variables: &[] },
];

impl Detected {
    pub(super) fn at(directory: &Path, environment: &Environment) -> Detected {
        let repository = directory.ancestors().find(|folder| folder.join(".git").exists());
        let root = repository.unwrap_or(directory);
        let shows = |kind: &&ProjectKind| kind.files.iter().any(|file| root.join(file).is_file());
        let kinds: Vec<&'static ProjectKind> = KINDS.iter().filter(shows).collect();
        let needed = kinds.iter().flat_map(|kind| kind.variables).copied();
        Detected {
            directory: directory.to_owned(),
            repository: repository.map(Path::to_owned),
            variables: needed
                .filter(|name| environment.os(name).is_some_and(|value| !value.is_empty()))
                .collect(),
            kinds,
            agents: choices().filter(|backend| is_on_path(*backend, environment)).collect(),
            forge: repository.and_then(|root| forge(root, environment)),
            gates: detect(&read_root(root)),
        }
    }
}

fn is_on_path(backend: Backend, environment: &Environment) -> bool {
    let (Some(program), Some(path)) = (backend.program(), environment.os("PATH")) else { return false };
    search_path(program, path, is_executable).is_some()
}

/// Where `origin` leads. No remote, no git: no forge, and nothing to complain about here.
fn forge(root: &Path, environment: &Environment) -> Option<RemoteForge> {
    let git = Arc::new(git_program(environment));
    let url = Repository::open(&git, root).ok()?.remote_url("origin")?;
    RemoteForge::parse(&url)
}
