//! Recovery after a crash, before the next forge accepts requests.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::ci;
use crate::context::Context;
use crate::reconcile;
use crate::server::Failure;
use crate::store::repos;

/// How long to wait for the locks of git processes that outlived the previous forge.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Such a process may move a ref after the first pass, so there is a second one.
const SECOND_PASS: Duration = Duration::from_secs(10);

/// The deepest directory below `refs` that is searched for locks.
const DEEPEST: usize = 64;

pub(crate) async fn recover(ctx: &Context) -> Result<(), Failure> {
    ci::reset(ctx).await?;
    let known = remove_unknown_repositories(ctx).await?;
    for id in known {
        remove_leftovers(ctx.repository(id).path()).await?;
    }
    sync_all_refs(ctx).await
}

/// The second pass.
pub(crate) async fn recover_again(ctx: Arc<Context>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(SECOND_PASS) => {}
        _ = stop.wait_for(|stopped| *stopped) => return,
    }
    // On failure the next reconciliation of the repository covers it.
    let _ = sync_all_refs(&ctx).await;
}

async fn sync_all_refs(ctx: &Context) -> Result<(), Failure> {
    let mut db = ctx.store.read().await?;
    let rows = repos::all(&mut db).await?;
    drop(db);
    for row in rows {
        let lock = ctx.repo_locks.acquire(row.id).await;
        let owner = ctx.user(row.owner);
        reconcile::sync_refs(ctx, &lock, &row, &owner).await?;
    }
    Ok(())
}

/// Removes directories without a row; returns the ids of the repositories.
async fn remove_unknown_repositories(ctx: &Context) -> Result<Vec<i64>, Failure> {
    let mut db = ctx.store.read().await?;
    let known: HashSet<i64> = repos::all(&mut db).await?.into_iter().map(|row| row.id).collect();
    drop(db);
    let mut found = tokio::fs::read_dir(ctx.git.root()).await?;
    while let Some(entry) = found.next_entry().await? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".git").and_then(|id| id.parse().ok());
        if id.is_none_or(|id| !known.contains(&id)) && entry.file_type().await?.is_dir() {
            tokio::fs::remove_dir_all(entry.path()).await?;
        }
    }
    Ok(known.into_iter().collect())
}

/// Removes locks, temporary files and partly received objects, once no git process can be using them.
async fn remove_leftovers(repository: &Path) -> Result<(), Failure> {
    let mut left = find_leftovers(repository)?;
    let mut waited = Duration::ZERO;
    while left.iter().any(|path| path.extension().is_some_and(|end| end == "lock")) && waited < LOCK_WAIT {
        tokio::time::sleep(POLL_INTERVAL).await;
        waited += POLL_INTERVAL;
        left = find_leftovers(repository)?;
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

fn find_leftovers(repository: &Path) -> Result<Vec<PathBuf>, Failure> {
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
    add_locks_below(&repository.join("refs"), 0, &mut found)?;
    Ok(found)
}

fn add_locks_below(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for path in children(directory)? {
        if path.is_dir() && depth < DEEPEST {
            add_locks_below(&path, depth + 1, found)?;
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
