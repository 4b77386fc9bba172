//! Pilot's own directory, and the environment it was started in: read once, in `main`, and passed down.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The one of this process. Called once, by `main`.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(crate) fn of_this_process() -> Environment {
        std::env::vars_os().collect()
    }

    pub(crate) fn with(&self, name: &str, value: &OsStr) -> Environment {
        let mut changed = self.clone();
        changed.0.insert(name.into(), value.to_owned());
        changed
    }

    pub(crate) fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }

    pub(crate) fn os(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.os(name).and_then(OsStr::to_str)
    }

    /// The names of variables of ours that are no text.
    pub(crate) fn no_texts(&self) -> impl Iterator<Item = &str> {
        let no_text = self.0.iter().filter(|(_, value)| value.to_str().is_none());
        // Pilot's own directory may have any name.
        no_text
            .filter_map(|(name, _)| name.to_str())
            .filter(|name| name.starts_with("PILOT_") && *name != "PILOT_HOME")
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        Environment(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Pilot's own directory: everything it stores is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Home(PathBuf);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HomeError {
    #[error("find Pilot's directory: neither PILOT_HOME nor HOME is set; set PILOT_HOME to a directory")]
    Nowhere,
    /// A path that depends on the current directory.
    #[error("find Pilot's directory: {name} is {path:?}; write a path that starts with /")]
    Relative { name: &'static str, path: PathBuf },
}

impl Home {
    /// `PILOT_HOME`, else `.pilot` in the user's home. Nothing is created.
    pub(crate) fn find(environment: &Environment) -> Result<Home, HomeError> {
        let set = |name| environment.os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (name, path) = match (set("PILOT_HOME"), set("HOME")) {
            (Some(path), _) => ("PILOT_HOME", path),
            (None, Some(path)) => ("HOME", path.join(".pilot")),
            (None, None) => return Err(HomeError::Nowhere),
        };
        if path.is_absolute() { Ok(Home(path)) } else { Err(HomeError::Relative { name, path }) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.0.join("config.yaml")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Environment, Home, HomeError};

    #[test]
    fn the_directory_is_found_in_one_place() {
        let find =
            |variables: &[(&str, &str)]| Home::find(&variables.iter().copied().collect::<Environment>());
        assert_eq!(find(&[("PILOT_HOME", "/p"), ("HOME", "/h")]).unwrap().path(), Path::new("/p"));
        assert_eq!(find(&[("HOME", "/h")]).unwrap().config_file(), Path::new("/h/.pilot/config.yaml"));
        assert_eq!(find(&[("PILOT_HOME", ""), ("HOME", "/h")]).unwrap().path(), Path::new("/h/.pilot"));
        assert_eq!(find(&[]), Err(HomeError::Nowhere));
        let relative = find(&[("PILOT_HOME", "x")]).unwrap_err().to_string();
        assert!(relative.contains("PILOT_HOME is \"x\"; write a path that starts with /"), "{relative}");
    }
}
