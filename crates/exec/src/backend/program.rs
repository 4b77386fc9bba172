//! Finding a program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pilot_core::config::Backend;

use super::{BackendError, install_hint};

/// The program as an absolute path: itself when it is one, else the first hit in the directories of `path` (a `PATH` value).
pub fn find_program(
    backend: Backend,
    program: &str,
    path: &OsStr,
    exists: impl Fn(&Path) -> bool,
) -> Result<PathBuf, BackendError> {
    let missing = |place| {
        let (program, remedy) = (program.to_owned(), install_hint(backend));
        Err(BackendError::NotInstalled { program, place, remedy })
    };
    let given = Path::new(program);
    if given.is_absolute() {
        return if exists(given) { Ok(given.to_path_buf()) } else { missing("as an executable file") };
    }
    if program.is_empty() || program.contains('/') {
        return missing("because it is neither a bare name nor an absolute path");
    }
    search_path(program, path, exists).map_or_else(|| missing("on the PATH"), Ok)
}

/// The first hit in the directories of `path`, a `PATH` value. Relative ones are skipped: they differ for every working
/// directory.
pub fn search_path(program: &str, path: &OsStr, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|candidate| exists(candidate))
}

pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(program: &str, path: &str) -> Result<PathBuf, String> {
        let there = ["/a/claude", "/b/claude", "/b/my-agent", "rel/claude"].map(Path::new);
        let exists = |path: &Path| there.contains(&path);
        find_program(Backend::ClaudeCode, program, OsStr::new(path), exists)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_is_found_on_the_path_that_is_given() {
        assert_eq!(find("claude", "/x:/b:/a"), Ok("/b/claude".into()));
        assert_eq!(find("/a/claude", ""), Ok("/a/claude".into()));
        assert_eq!(find("my-agent", "/a:/b"), Ok("/b/my-agent".into()));
        assert_eq!(find("claude", "rel::/a"), Ok("/a/claude".into()));
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_a_way_out() {
        let install = "install it with `npm install -g @anthropic-ai/claude-code`";
        for (program, path, place) in [
            ("claude", "/x:rel:", "on the PATH"),
            ("claude", "", "on the PATH"),
            ("/x/claude", "/a", "as an executable file"),
            ("./claude", "/a", "because it is neither a bare name nor an absolute path"),
            ("", "/a", "because it is neither a bare name nor an absolute path"),
        ] {
            assert_eq!(find(program, path), Err(format!("{program:?} was not found {place}: {install}")));
        }
    }

    #[test]
    fn only_files_that_may_be_run_are_programs() {
        assert!(is_executable(Path::new("/bin/sh")));
        assert!(!is_executable(Path::new("/bin")));
        assert!(!is_executable(Path::new("/etc/passwd")));
        assert!(!is_executable(Path::new("/no/such/file")));
    }
}
