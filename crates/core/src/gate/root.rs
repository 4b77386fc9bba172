//! The root of a project as gates are looked for in it: names of files, and the text of a few.

use std::collections::BTreeMap;

/// The files whose text tells what can be checked; of all others the name is enough.
pub const READ: [&str; 14] = [
    "Cargo.toml",
    "GNUmakefile",
    "Makefile",
    "makefile",
    "package.json",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements.txt",
    "requirements_dev.txt",
    "setup.cfg",
    "setup.py",
    "test-requirements.txt",
    "tox.ini",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    files: BTreeMap<String, String>,
}

impl Root {
    /// A root with these files. The text of those that are not in [`READ`] does not matter.
    pub fn new<N: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (N, T)>) -> Root {
        Root { files: files.into_iter().map(|(name, text)| (name.into(), text.into())).collect() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.files.get(name).map_or("", String::as_str)
    }
}
