//! Repositories inside the worktree: initialised submodules, and ones that the agent made or cloned.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::error::WorkspaceError;
use super::finding::RunFinding;
use super::staging::Staging;
use crate::git::path_of;

/// The mode of a link to a commit, as in an entry of an index.
const LINK: [u8; 4] = 0o160_000_u32.to_be_bytes();

/// How many links an index holds; too many when a file's data happens to look like one, which costs a look.
pub(super) fn count_links(index: &Path) -> usize {
    let bytes = fs::read(index).unwrap_or_default();
    bytes.windows(LINK.len()).filter(|window| *window == LINK).count()
}

/// Sets the git directories of entered submodules aside: staging one would run git under its own configuration.
pub(super) fn leave_submodules(staging: &Staging<'_>) -> Result<Vec<RunFinding>, WorkspaceError> {
    if count_links(&staging.dir.index()) == 0 {
        return Ok(Vec::new());
    }
    let listed = staging.git().run(&["ls-files", "--stage", "-z"], b"")?;
    let mut findings = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let Some(behind) = entry.strip_prefix(b"160000 ") else { continue };
        let Some(tab) = behind.iter().position(|byte| *byte == b'\t') else { continue };
        let path = path_of(&behind[tab + 1..]);
        if let Some(kept) = take_git_dir(staging, &path, "submodule")? {
            findings.push(RunFinding::Submodule { path, kept });
        }
    }
    Ok(findings)
}

pub(super) fn set_aside(staging: &Staging<'_>) -> Result<Vec<RunFinding>, WorkspaceError> {
    let mut findings = Vec::new();
    for entry in staging.git().status()?.into_iter().filter(|entry| entry.is_repository()) {
        let path: PathBuf = entry.path.components().collect();
        if let Some(kept) = take_git_dir(staging, &path, "nested")? {
            findings.push(RunFinding::NestedRepository { path, kept });
        }
    }
    Ok(findings)
}

fn take_git_dir(staging: &Staging<'_>, path: &Path, kind: &str) -> Result<Option<PathBuf>, WorkspaceError> {
    let git_dir = staging.owner.tree.join(path).join(".git");
    if !is_plain(&staging.owner.tree, path) || git_dir.symlink_metadata().is_err() {
        return Ok(None);
    }
    let name: String =
        path.to_string_lossy().chars().map(|c| if c == '/' { '-' } else { c }).take(100).collect();
    staging.dir.set_aside(&git_dir, &format!("{kind}-{name}.git")).map(Some)
}

/// Whether a path stays below the worktree without a single link on the way.
fn is_plain(tree: &Path, path: &Path) -> bool {
    let mut full = tree.to_owned();
    path.components().all(|part| {
        full.push(part);
        matches!(part, Component::Normal(_)) && full.symlink_metadata().is_ok_and(|meta| meta.is_dir())
    })
}
