//! Files in a worktree that make git wait for ever, or nearly.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{Tried, WorkspaceError};
use super::found::Finding;
use super::shadow::Shadow;

/// Larger files are no source, and forges refuse smaller ones.
const LARGEST: u64 = 256 << 20;

/// Deletes pipes, sockets and devices, which git cannot keep and may wait for when they have a name it reads, and sets huge
/// files aside. Walks everything, so it is only done when git has been waited for in vain.
pub(super) fn clear_the_way(shadow: &Shadow<'_>) -> Result<Vec<Finding>, WorkspaceError> {
    let mut findings = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        // What cannot be listed cannot be staged either; git will say so.
        for entry in fs::read_dir(shadow.tree().join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_file() && meta.len() > LARGEST {
                let kept = Some(shadow.dir.set_aside(&entry.path(), &name(&path))?);
                findings.push(Finding::Obstacle { path, kept });
            } else if !meta.is_file() && !meta.is_symlink() {
                fs::remove_file(entry.path()).tried("remove", &entry.path())?;
                findings.push(Finding::Obstacle { path, kept: None });
            }
        }
    }
    Ok(findings)
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| "huge".to_owned(), |name| format!("huge-{}", name.to_string_lossy()))
}
