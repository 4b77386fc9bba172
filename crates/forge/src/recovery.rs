//! What a forge that died left: finished or removed before the next one answers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::ci;
use crate::reconcile;
use crate::server::Failure;
use crate::site::Site;
use crate::store::repos;

/// A git process of the forge before may still be at work; its locks are respected for so long.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Such a process may have moved a ref after the forge looked, so it looks again.
const SECOND_LOOK: Duration = Duration::from_secs(10);

/// Directories deeper than refs can be are not looked into.
const DEEPEST: usize = 64;

/// Finishes what was begun.
pub(crate) async fn recover(site: &Site) -> Result<(), Failure> {
    ci::clear(site).await?;
    let known = sweep(site).await?;
    for id in known {
        release_locks(site.repository(id).path()).await?;
    }
    settle_all(site).await
}

/// Once more a little later, if the forge before was killed.
pub(crate) async fn look_again(site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(SECOND_LOOK) => {}
        _ = stop.wait_for(|stopped| *stopped) => return,
    }
    // Whoever moves a ref next tells of this one as well.
    let _ = settle_all(&site).await;
}

async fn settle_all(site: &Site) -> Result<(), Failure> {
    let mut db = site.store.read().await?;
    let rows = repos::all(&mut db).await?;
    drop(db);
    for row in rows {
        let lane = site.lanes.enter(row.id).await;
        let owner = site.user(row.owner);
        reconcile::settle(site, &lane, &row, &owner).await?;
    }
    Ok(())
}

/// Removes directories that no row names. Gives the repositories that one does.
async fn sweep(site: &Site) -> Result<Vec<i64>, Failure> {
    let mut db = site.store.read().await?;
    let known: HashSet<i64> = repos::all(&mut db).await?.into_iter().map(|row| row.id).collect();
    drop(db);
    let mut found = tokio::fs::read_dir(site.git.root()).await?;
    while let Some(entry) = found.next_entry().await? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".git").and_then(|id| id.parse().ok());
        if id.is_none_or(|id| !known.contains(&id)) && entry.file_type().await?.is_dir() {
            tokio::fs::remove_dir_all(entry.path()).await?;
        }
    }
    Ok(known.into_iter().collect())
}

/// Removes locks, scratch files and half-received objects, once nobody can be using them any more.
async fn release_locks(repository: &Path) -> Result<(), Failure> {
    let mut left = leftovers(repository)?;
    let mut waited = Duration::ZERO;
    while left.iter().any(|path| path.extension().is_some_and(|end| end == "lock")) && waited < PATIENCE {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        waited += BETWEEN_LOOKS;
        left = leftovers(repository)?;
    }
    for path in left {
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        if let Err(error) = removed
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error.into());
        }
    }
    Ok(())
}

fn leftovers(repository: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let named = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for path in children(repository)? {
        let name = named(&path);
        if name.ends_with(".lock") || name.starts_with("index-") {
            found.push(path);
        }
    }
    for path in children(&repository.join("objects"))? {
        if named(&path).starts_with("tmp_objdir-") {
            found.push(path);
        }
    }
    locks_below(&repository.join("refs"), 0, &mut found)?;
    Ok(found)
}

fn locks_below(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for path in children(directory)? {
        if path.is_dir() && depth < DEEPEST {
            locks_below(&path, depth + 1, found)?;
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    Ok(())
}

fn children(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    match std::fs::read_dir(directory) {
        Ok(entries) => {
            Ok(entries.collect::<Result<Vec<_>, _>>()?.into_iter().map(|entry| entry.path()).collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
