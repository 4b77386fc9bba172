//! The parts of the user's configuration that Pilot uses: identity, line endings, ignore rules, and what it switches off.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Git, GitError, GitPlace, Program};

/// Settings of a repository that change bytes on disk but start nothing; a checkout of ours has the same.
const KEPT: [&str; 8] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: "Pilot".to_owned(), email: "pilot@localhost".to_owned() }
    }
}

/// The part of the configuration we obey, and the part we must switch off.
#[derive(Clone, Debug, Default)]
pub struct GitSettings {
    pub identity: Identity,
    /// Settings that decide how files look on disk.
    pub kept: Vec<(String, String)>,
    /// Settings that switch off every filter and hook the configuration names.
    pub off: Vec<(String, String)>,
    pub excludes: Option<PathBuf>,
}

impl GitSettings {
    /// Reads the configuration as the user's own git sees it; reading starts nothing.
    pub(crate) fn read(program: &Arc<Program>, dir: &Path) -> Result<Self, GitError> {
        let place = GitPlace { dir: dir.to_owned(), ..GitPlace::default() };
        let mut git = Git::at(Arc::clone(program), place).with_var("GIT_CONFIG_NOSYSTEM", "0");
        if let Some(home) = program.home() {
            git = git.with_var("HOME", home).with_var("XDG_CONFIG_HOME", home.join(".config"));
            let global = [home.join(".gitconfig"), home.join(".config/git/config")];
            if let Some(file) = global.into_iter().find(|file| file.exists()) {
                git = git.with_var("GIT_CONFIG_GLOBAL", file);
            }
        }
        let listed = git.run(&["config", "-z", "--list"], b"")?;
        Ok(Self::from_list(&listed, program.home()))
    }

    /// Reads `git config -z --list`: `key LF value NUL`, or `key NUL` for a bare key. Later ones win.
    fn from_list(listed: &[u8], home: Option<&Path>) -> Self {
        let mut settings = Self::default();
        let mut excludes = None;
        for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            match key {
                "user.name" if !value.trim().is_empty() => settings.identity.name = value.to_owned(),
                "user.email" if !value.trim().is_empty() => settings.identity.email = value.to_owned(),
                "core.excludesfile" => excludes = Some(expanded(value, home)),
                _ => settings.take(key, value),
            }
        }
        let default = home.map(|home| home.join(".config/git/ignore"));
        settings.excludes = excludes.or(default);
        settings
    }

    fn take(&mut self, key: &str, value: &str) {
        if KEPT.contains(&key) {
            self.kept.retain(|(kept, _)| kept != key);
            self.kept.push((key.to_owned(), value.to_owned()));
        }
        let Some((section, rest)) = key.split_once('.') else { return };
        let Some((name, _)) = rest.rsplit_once('.') else { return };
        let off: &[(&str, &str)] = match section {
            "filter" => &[("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")],
            // Git 2.54 learned hooks that live in the configuration.
            "hook" => &[("enabled", "false")],
            _ => return,
        };
        for (what, value) in off {
            let entry = (format!("{section}.{name}.{what}"), (*value).to_owned());
            if !self.off.contains(&entry) {
                self.off.push(entry);
            }
        }
    }
}

/// `~/x` as git reads it.
fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{GitSettings, Identity};

    #[test]
    fn the_list_is_read_and_filters_are_switched_off() {
        let listed =
            b"user.name\nA\0user.name\nAda\0user.email\na@b\0core.autocrlf\ntrue\0core.fsmonitor\n/x\0\
            filter.lfs.clean\ngit-lfs clean -- %f\0filter.lfs.required\ntrue\0filter.a.b.smudge\nx\0bare\0\
            core.excludesfile\n~/ignore\0hook.x.command\ny\0";
        let settings = GitSettings::from_list(listed, Some("/home/ada".as_ref()));
        assert_eq!(settings.identity, Identity { name: "Ada".into(), email: "a@b".into() });
        assert_eq!(settings.kept, [("core.autocrlf".into(), "true".into())]);
        assert_eq!(settings.excludes.as_deref(), Some("/home/ada/ignore".as_ref()));
        let off: Vec<&str> = settings.off.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(
            off,
            [
                "filter.lfs.clean",
                "filter.lfs.smudge",
                "filter.lfs.process",
                "filter.lfs.required",
                "filter.a.b.clean",
                "filter.a.b.smudge",
                "filter.a.b.process",
                "filter.a.b.required",
                "hook.x.enabled",
            ]
        );
        assert_eq!(GitSettings::from_list(b"", None).identity, Identity::default());
    }
}
