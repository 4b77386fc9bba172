//! Configuration from where it is kept: files, the environment, the command line. What it means, the core says.

pub(crate) mod command;
mod file;
mod home;
mod load;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::{
    Config, Fault, Key, Layer, Merged, Notice, Origin, Problem, References, expand, key, merge, read,
    text_layer, variables,
};

pub(crate) use home::{Environment, Home, HomeError};
pub(crate) use load::tree;

/// The exit code of wrong use or configuration.
pub(crate) const WRONG: u8 = 2;

/// Whether a command ended because of its configuration.
pub(crate) fn is_to_blame(error: &anyhow::Error) -> bool {
    error.is::<WrongConfig>() || error.is::<HomeError>()
}

/// Where to look.
pub(crate) struct Request<'a> {
    /// The environment Pilot was started in.
    pub(crate) environment: &'a Environment,
    /// `--config FILE`; none is `config.yaml` in Pilot's directory, which may be absent.
    pub(crate) file: Option<&'a Path>,
    /// The repository whose `.pilot/config.yaml` counts as well.
    pub(crate) repo: Option<&'a Path>,
    /// What flags say.
    pub(crate) flags: &'a Flags,
}

/// The flags that set configuration, as they were written. They are read as a file's values are, with the same complaints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// `--backend`
    pub(crate) backend: Option<String>,
    /// `--model`
    pub(crate) model: Option<String>,
    /// `--effort`
    pub(crate) effort: Option<String>,
    /// `--timeout`
    pub(crate) timeout: Option<String>,
    /// `--autopilot`
    pub(crate) environment: Option<String>,
}

impl Flags {
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

/// A configuration with everything that is to be said about it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Pilot's directory.
    pub(crate) home: Home,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// The directory of the store.
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

    /// What is wrong.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.merged.problems
    }

    /// What is worth a word.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.merged.notices
    }

    /// A key's value as it may be shown, and where it comes from.
    pub(crate) fn shown(&self, key: &Key) -> (serde_json::Value, Origin) {
        (self.merged.shown(key), self.merged.origin(key))
    }
}

/// Everything that is wrong with a configuration, a line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub(crate) struct WrongConfig(pub(crate) Vec<Problem>);

fn lines(problems: &[Problem]) -> String {
    let mut text = String::from("wrong configuration");
    for problem in problems {
        text.push_str(&format!("\n  {problem}"));
    }
    text
}

/// Loads everything: defaults, the user's file, the project's file, the environment, flags. What is wrong is in the result;
/// only that there is no directory to look in is an error.
pub(crate) fn load(request: &Request<'_>) -> Result<Loaded, HomeError> {
    let home = Home::find(request.environment)?;
    let mut files = Vec::new();
    let user = user_layer(request, &home, &mut files);
    let project = project_layer(request, &mut files);
    let mut merged = merge([user, project, environment_layer(request.environment), request.flags.layer()]);
    let store_dir = store_dir(&merged.config.memory.path, &home, request.environment);
    if !store_dir.starts_with(home.path()) {
        merged.problems.push(outside(&merged, &home));
    }
    Ok(Loaded { home, files, store_dir, merged })
}

fn user_layer(request: &Request<'_>, home: &Home, files: &mut Vec<PathBuf>) -> Layer {
    let (path, must_be) = match request.file {
        Some(path) => (path.to_owned(), true),
        None => (home.config_file(), false),
    };
    let origin = Origin::File { file: Arc::from(path.display().to_string()), place: None };
    let look_up = |name: &str| request.environment.text(name).map(str::to_owned);
    layer(&path, &origin, must_be, &References::From(&look_up), files)
}

/// The project's own file: no secrets, no environment, and only what cannot harm its user.
fn project_layer(request: &Request<'_>, files: &mut Vec<PathBuf>) -> Layer {
    let Some(path) = request.repo.map(|repo| repo.join(".pilot/config.yaml")) else {
        return Layer::default();
    };
    // A home directory under version control has the user's own file in that place.
    let same = |file: &PathBuf| file::is_same(file, &path);
    if files.iter().any(same) {
        return Layer::default();
    }
    let origin = Origin::Project { file: Arc::from(path.display().to_string()), place: None };
    layer(&path, &origin, false, &References::Refused, files)
}

fn environment_layer(environment: &Environment) -> Layer {
    let mut layer = variables(environment.texts());
    layer.problems.extend(environment.no_texts().map(|name| Problem {
        origin: Origin::Variable(name.to_owned()),
        key: String::new(),
        fault: Fault::Unreadable("not UTF-8; set it to a text".to_owned()),
    }));
    layer
}

fn layer(
    path: &Path,
    origin: &Origin,
    must_be: bool,
    references: &References<'_>,
    files: &mut Vec<PathBuf>,
) -> Layer {
    let whole = |why: String, origin: Origin| Layer {
        problems: vec![Problem { origin, key: String::new(), fault: Fault::Unreadable(why) }],
        ..Layer::default()
    };
    let follow = match origin {
        Origin::Project { .. } => file::Links::Refuse,
        Origin::Default | Origin::File { .. } | Origin::Variable(_) | Origin::Flag(_) => file::Links::Follow,
    };
    let found = match file::read(path, follow) {
        Ok(Some(found)) => found,
        Ok(None) if !must_be => return Layer::default(),
        Ok(None) => {
            let why = "no such file; name one that is there, or let `pilot init` write it";
            return whole(why.to_owned(), origin.clone());
        }
        Err(why) => return whole(why, origin.clone()),
    };
    files.push(path.to_owned());
    match tree(&found.bytes) {
        Err(error) => {
            let origin = error.place.map_or(origin.clone(), |place| origin.at(place));
            whole(error.why, origin)
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

/// Where the store is: below Pilot's directory, unless the path says otherwise.
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

    use super::{Environment, Flags, Loaded, Request, load};

    fn loaded(variables: &[(&str, &str)], flags: &Flags) -> Loaded {
        let environment: Environment = variables.iter().copied().collect();
        load(&Request { environment: &environment, file: None, repo: None, flags }).unwrap()
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
