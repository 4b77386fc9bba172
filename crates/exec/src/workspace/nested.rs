//! Repositories inside the worktree: submodules that were entered, and ones that somebody made or cloned.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::error::WorkspaceError;
use super::found::Finding;
use super::shadow::Shadow;

/// The mode of a link to a commit, as it stands in every entry of an index.
const LINK: [u8; 4] = 0o160_000_u32.to_be_bytes();

/// How many links an index holds; too many when a file's data happens to look like one, which costs a look.
pub(super) fn count_links(index: &Path) -> usize {
    let bytes = fs::read(index).unwrap_or_default();
    bytes.windows(LINK.len()).filter(|window| *window == LINK).count()
}

/// Sets the git directories of entered submodules aside: staging one would run git under its own configuration.
pub(super) fn leave_submodules(shadow: &Shadow<'_>) -> Result<Vec<Finding>, WorkspaceError> {
    if count_links(&shadow.dir.index()) == 0 {
        return Ok(Vec::new());
    }
    let listed = shadow.git().run(&["ls-files", "--stage", "-z"], b"")?;
    let mut findings = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let Some(behind) = entry.strip_prefix(b"160000 ") else { continue };
        let Some(tab) = behind.iter().position(|byte| *byte == b'\t') else { continue };
        let path = PathBuf::from(OsString::from_vec(behind[tab + 1..].to_vec()));
        if let Some(kept) = take_git_dir(shadow, &path, "submodule")? {
            findings.push(Finding::Submodule { path, kept });
        }
    }
    Ok(findings)
}

/// Sets the git directories of repositories that git does not know aside.
pub(super) fn set_aside(shadow: &Shadow<'_>) -> Result<Vec<Finding>, WorkspaceError> {
    let mut findings = Vec::new();
    for entry in shadow.git().status()?.into_iter().filter(|entry| entry.is_repository()) {
        let path: PathBuf = entry.path.components().collect();
        if let Some(kept) = take_git_dir(shadow, &path, "nested")? {
            findings.push(Finding::NestedRepository { path, kept });
        }
    }
    Ok(findings)
}

fn take_git_dir(shadow: &Shadow<'_>, path: &Path, kind: &str) -> Result<Option<PathBuf>, WorkspaceError> {
    let git_dir = shadow.tree().join(path).join(".git");
    if !is_plain(shadow.tree(), path) || git_dir.symlink_metadata().is_err() {
        return Ok(None);
    }
    let name: String =
        path.to_string_lossy().chars().map(|c| if c == '/' { '-' } else { c }).take(100).collect();
    shadow.dir.set_aside(&git_dir, &format!("{kind}-{name}.git")).map(Some)
}

/// Whether a path stays below the worktree without a single link on the way.
fn is_plain(tree: &Path, path: &Path) -> bool {
    let mut full = tree.to_owned();
    path.components().all(|part| {
        full.push(part);
        matches!(part, Component::Normal(_)) && full.symlink_metadata().is_ok_and(|meta| meta.is_dir())
    })
}
