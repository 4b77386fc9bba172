//! Files in a worktree that make git hang.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{Tried, WorkspaceError};
use super::finding::RunFinding;
use super::staging::Staging;

/// Larger files are no source, and forges refuse smaller ones.
const LARGEST: u64 = 256 << 20;

/// Deletes pipes, sockets and devices, which git cannot keep and may wait for when they have a name it reads, and sets huge
/// files aside. Walks the whole tree, so it is only done after git timed out.
pub(super) fn set_aside_unstageable(staging: &Staging<'_>) -> Result<Vec<RunFinding>, WorkspaceError> {
    let mut findings = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        // What cannot be listed cannot be staged either; git will report it.
        for entry in fs::read_dir(staging.owner.tree.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_file() && meta.len() > LARGEST {
                let kept = Some(staging.dir.set_aside(&entry.path(), &name(&path))?);
                findings.push(RunFinding::Obstacle { path, kept });
            } else if !meta.is_file() && !meta.is_symlink() {
                fs::remove_file(entry.path()).tried("remove", &entry.path())?;
                findings.push(RunFinding::Obstacle { path, kept: None });
            }
        }
    }
    Ok(findings)
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| "huge".to_owned(), |name| format!("huge-{}", name.to_string_lossy()))
}
