//! Loads configuration from files, the environment and the command line. What it means is the core's.

mod file;
mod home;
mod load;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::{
    Config, ConfigKey, EnvReferences, Fault, Layer, Merged, Notice, Origin, Problem, expand, key, merge,
    read, text_layer, variables,
};

pub(crate) use home::{Environment, Home, HomeError};
pub(crate) use load::tree;

pub(crate) const WRONG: u8 = 2;

pub(crate) fn is_to_blame(error: &anyhow::Error) -> bool {
    error.is::<WrongConfig>() || error.is::<HomeError>()
}

/// Where a configuration is read from.
#[derive(Clone, Copy)]
pub(crate) struct ConfigSources<'a> {
    pub(crate) environment: &'a Environment,
    /// `--config FILE`; none is `config.yaml` in Pilot's directory, which may be absent.
    pub(crate) file: Option<&'a Path>,
    pub(crate) repo: Option<&'a Path>,
    pub(crate) flags: &'a Flags,
}

impl<'a> ConfigSources<'a> {
    pub(crate) fn new(environment: &'a Environment, file: Option<&'a Path>) -> ConfigSources<'a> {
        ConfigSources { environment, file, repo: None, flags: &Flags::NONE }
    }
}

/// The flags that set configuration, as they were written. They are read as a file's values are, with the same errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) environment: Option<String>,
}

impl Flags {
    const NONE: Flags = Flags { backend: None, model: None, effort: None, timeout: None, environment: None };

    fn layer(&self) -> Layer {
        let all = [
            ("executor.backend", "--backend", &self.backend),
            ("executor.model", "--model", &self.model),
            ("executor.effort", "--effort", &self.effort),
            ("executor.timeout", "--timeout", &self.timeout),
            ("orchestrator.autopilot.environment", "--autopilot", &self.environment),
        ];
        text_layer(all.into_iter().filter_map(|(path, flag, text)| {
            Some((key(path)?, Origin::Flag(flag.to_owned()), text.as_deref()?))
        }))
    }
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) home: Home,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) store_dir: PathBuf,
    merged: Merged,
}

impl Loaded {
    /// The configuration, if nothing is wrong with it.
    pub(crate) fn config(&self) -> Result<&Config, WrongConfig> {
        if self.merged.problems.is_empty() {
            return Ok(&self.merged.config);
        }
        Err(WrongConfig(self.merged.problems.clone()))
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.merged.problems
    }

    pub(crate) fn notices(&self) -> &[Notice] {
        &self.merged.notices
    }

    pub(crate) fn print_notices(&self) {
        for notice in self.notices() {
            eprintln!("pilot: {notice}");
        }
    }

    /// A key's value as it may be shown, and where it comes from.
    pub(crate) fn shown(&self, key: &ConfigKey) -> (serde_json::Value, Origin) {
        (self.merged.shown(key), self.merged.origin(key))
    }
}

/// Everything that is wrong with a configuration, a line each.
#[derive(Debug, thiserror::Error)]
#[error("wrong configuration{}", problem_lines(.0))]
pub(crate) struct WrongConfig(pub(crate) Vec<Problem>);

pub(crate) fn problem_lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

/// A file or variable that cannot be read at all.
pub(crate) fn unreadable(origin: &Origin, why: impl Into<String>) -> Problem {
    Problem { origin: origin.clone(), key: String::new(), fault: Fault::Unreadable(why.into()) }
}

/// Loads everything: defaults, the user's file, the project's file, the environment, flags. What is wrong is in the result;
/// only a missing home directory is an error.
pub(crate) fn load(sources: &ConfigSources<'_>) -> Result<Loaded, HomeError> {
    let home = Home::find(sources.environment)?;
    let mut files = Vec::new();
    let user = user_layer(sources, &home, &mut files);
    let project = project_layer(sources, &mut files);
    let mut merged = merge([user, project, environment_layer(sources.environment), sources.flags.layer()]);
    let store_dir = store_dir(&merged.config.memory.path, &home, sources.environment);
    if !store_dir.starts_with(home.path()) {
        merged.problems.push(outside(&merged, &home));
    }
    Ok(Loaded { home, files, store_dir, merged })
}

fn user_layer(sources: &ConfigSources<'_>, home: &Home, files: &mut Vec<PathBuf>) -> Layer {
    let (path, must_be) = match sources.file {
        Some(path) => (path.to_owned(), true),
        None => (home.config_file(), false),
    };
    let origin = Origin::File { file: Arc::from(path.display().to_string()), place: None };
    let look_up = |name: &str| sources.environment.text(name).map(str::to_owned);
    layer(&path, &origin, must_be, &EnvReferences::From(&look_up), files)
}

/// The project's own file: no secrets, no environment, and only what cannot harm its user.
fn project_layer(sources: &ConfigSources<'_>, files: &mut Vec<PathBuf>) -> Layer {
    let Some(path) = sources.repo.map(|repo| repo.join(".pilot/config.yaml")) else {
        return Layer::default();
    };
    // A home directory under version control has the user's own file in that place.
    let same = |file: &PathBuf| file::is_same(file, &path);
    if files.iter().any(same) {
        return Layer::default();
    }
    let origin = Origin::Project { file: Arc::from(path.display().to_string()), place: None };
    layer(&path, &origin, false, &EnvReferences::Refused, files)
}

fn environment_layer(environment: &Environment) -> Layer {
    let mut layer = variables(environment.texts());
    let no_texts = environment.no_texts().map(|name| Origin::Variable(name.to_owned()));
    layer.problems.extend(no_texts.map(|origin| unreadable(&origin, "not UTF-8; set it to a text")));
    layer
}

fn layer(
    path: &Path,
    origin: &Origin,
    must_be: bool,
    references: &EnvReferences<'_>,
    files: &mut Vec<PathBuf>,
) -> Layer {
    let whole =
        |origin: &Origin, why: &str| Layer { problems: vec![unreadable(origin, why)], ..Layer::default() };
    let follow = match origin {
        Origin::Project { .. } => file::Links::Refuse,
        Origin::Default | Origin::File { .. } | Origin::Variable(_) | Origin::Flag(_) => file::Links::Follow,
    };
    let found = match file::read(path, follow) {
        Ok(Some(found)) => found,
        Ok(None) if !must_be => return Layer::default(),
        Ok(None) => {
            return whole(origin, "no such file; name one that is there, or let `pilot init` write it");
        }
        Err(why) => return whole(origin, &why),
    };
    files.push(path.to_owned());
    match tree(&found.bytes) {
        Err(error) => {
            let origin = error.place.map_or(origin.clone(), |place| origin.at(place));
            whole(&origin, &error.why)
        }
        Ok(mut root) => {
            let unresolved = expand(&mut root, origin, references);
            let mut layer = read(&root, origin);
            layer.problems.extend(unresolved);
            if found.others_can_read && layer.holds_secret {
                layer.notices.push(file::others_can_read(origin));
            }
            layer
        }
    }
}

fn store_dir(path: &str, home: &Home, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), environment.os("HOME")) {
        (Some(rest), Some(user)) => Path::new(user).join(rest),
        (Some(_), None) | (None, _) => home.path().join(path),
    }
}

fn outside(merged: &Merged, home: &Home) -> Problem {
    let origin = key("memory.path").map_or(Origin::Default, |key| merged.origin(key));
    let why = format!("not below {}; write for example data, or set PILOT_HOME", home.path().display());
    Problem { origin, key: "memory.path".to_owned(), fault: Fault::Nonsense(why) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use pilot_core::config::{Backend, Effort};

    use super::{ConfigSources, Environment, Flags, Loaded, load};

    fn loaded(variables: &[(&str, &str)], flags: &Flags) -> Loaded {
        let environment: Environment = variables.iter().copied().collect();
        load(&ConfigSources { flags, ..ConfigSources::new(&environment, None) }).unwrap()
    }

    #[test]
    fn flags_win() {
        let flags = Flags {
            backend: Some("codex".to_owned()),
            model: Some("m".to_owned()),
            effort: Some("max".to_owned()),
            timeout: Some("5m".to_owned()),
            environment: None,
        };
        let loaded = loaded(
            &[
                ("PILOT_HOME", "/nonexistent"),
                ("PILOT_EXECUTOR_MODEL", "n"),
                ("PILOT_EXECUTOR_TIMEOUT", "1h"),
            ],
            &flags,
        );
        let executor = &loaded.config().unwrap().executor;
        assert_eq!(executor.backend, Backend::Codex);
        assert_eq!(executor.model.as_deref(), Some("m"));
        assert_eq!(executor.effort, Some(Effort::Max));
        assert_eq!(executor.timeout, Some(Duration::from_secs(300)));
        assert_eq!(loaded.store_dir, Path::new("/nonexistent/data"));
    }

    #[test]
    fn a_wrong_flag_is_told_by_its_name() {
        let flags = Flags { backend: Some("claud-code".to_owned()), ..Flags::default() };
        let wrong = loaded(&[("PILOT_HOME", "/nonexistent")], &flags).config().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "wrong configuration\n  --backend: executor.backend: \"claud-code\": did you mean claude-code? \
             The choice is claude-code, codex, opencode, gemini, qwen-code, command"
        );
    }

    #[test]
    fn the_store_stays_below_the_home() {
        for (path, below) in [
            ("data", Some("/p/data")),
            ("/p/x", Some("/p/x")),
            ("~/.pilot/data", None),
            ("/var/x", None),
            ("../x", None),
        ] {
            let variables = [("PILOT_HOME", "/p"), ("HOME", "/h"), ("PILOT_MEMORY_PATH", path)];
            let loaded = loaded(&variables, &Flags::default());
            assert_eq!(loaded.config().is_ok(), below.is_some(), "{path}");
            if let Some(below) = below {
                assert_eq!(loaded.store_dir, Path::new(below));
            }
        }
        let home = loaded(&[("HOME", "/h"), ("PILOT_MEMORY_PATH", "~/.pilot/data")], &Flags::default());
        assert_eq!(home.store_dir, Path::new("/h/.pilot/data"), "the Go Pilot's own default");
        assert!(home.config().is_ok());
    }
}
