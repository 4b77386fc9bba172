//! A new file on disk: whole or not at all, never over another one unawares.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::wrong_use::WrongUse;

const MOST_COPIES: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    Private,
    /// Readable by all who can read the project.
    Shared,
}

/// Whether a file could be written there; checked before the first question.
pub(super) fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("read {shown}")),
        Ok(meta) if meta.is_symlink() => Err(WrongUse::error(format_args!(
            "{shown} is a symbolic link; name the file it leads to with --config, or take it away"
        ))),
        Ok(meta) if !meta.is_file() => Err(WrongUse::error(format_args!(
            "{shown} is no file; take it away, or name another one with --config"
        ))),
        Ok(_) if force => Ok(()),
        Ok(_) => Err(WrongUse::error(format_args!(
            "{shown} is there already and stays as it is; --force replaces it and keeps a copy"
        ))),
    }
}

/// Writes a file; gives where the one before is kept.
pub(super) fn put(path: &Path, text: &str, secrecy: Secrecy, force: bool) -> anyhow::Result<Option<PathBuf>> {
    let (folder_mode, mode) = match secrecy {
        Secrecy::Private => (0o700, 0o600),
        Secrecy::Shared => (0o777, 0o666),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(folder_mode)
        .create(folder)
        .with_context(|| format!("make the directory {}", folder.display()))?;
    let new = beside(path, &format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&new);
    let done = write_new(&new, text, mode).and_then(|()| move_in(&new, path, force));
    // After a move by link the first name is still there.
    let _ = fs::remove_file(&new);
    done.with_context(|| format!("write {}", path.display()))
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Without force by a link, which refuses to replace a file that another process made in the meantime.
fn move_in(new: &Path, path: &Path, force: bool) -> io::Result<Option<PathBuf>> {
    if !force || !path.exists() {
        fs::hard_link(new, path)?;
        return Ok(None);
    }
    let copy = keep(path)?;
    fs::rename(new, path)?;
    Ok(Some(copy))
}

/// Another name for the file as it is, so that it outlives being replaced.
fn keep(path: &Path) -> io::Result<PathBuf> {
    for number in 0..MOST_COPIES {
        let copy = match number {
            0 => beside(path, "old"),
            more => beside(path, &format!("old.{more}")),
        };
        match fs::hard_link(path, &copy) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(copy),
        }
    }
    Err(io::Error::other(format!("there are {MOST_COPIES} copies of it already; take some away")))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}
