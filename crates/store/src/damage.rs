//! A damaged database: it is copied before anybody can touch it, and refused.
//!
//! The copy is named after the time the file was last written, so that it is made once however often a daemon starts again.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::StoreError;

/// How every SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What became of the copy of a damaged database.
#[derive(Debug)]
pub enum Kept {
    /// Nobody made one: it was open already.
    No,
    /// It is here.
    At(PathBuf),
    /// It could not be made.
    Failed {
        /// Where it was to be.
        path: PathBuf,
        /// Why it is not.
        source: io::Error,
    },
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was changed or deleted")?;
        match self {
            Kept::No => Ok(()),
            Kept::At(path) => write!(f, ", and a copy is kept as {}", path.display()),
            Kept::Failed { path, source } => {
                write!(f, ", but a copy could not be kept as {}: {source}", path.display())
            }
        }
    }
}

/// The same failure with a copy of what is damaged, where that is what failed.
pub(crate) fn keep(failed: StoreError) -> StoreError {
    if let StoreError::Damaged { path, detail, kept: Kept::No } = failed {
        let kept = copy(&path);
        StoreError::Damaged { path, detail, kept }
    } else {
        failed
    }
}

/// Refuses a log without its database. SQLite would take the empty file for a new one, and delete the log.
pub(crate) fn refuse_lone_log(path: &Path) -> Result<(), StoreError> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    if length(path) > 0 || length(&beside(path, "-wal")) == 0 {
        return Ok(());
    }
    let detail = "it is empty, and the log beside it that ends in -wal is not".to_owned();
    Err(StoreError::Damaged { path: path.to_owned(), detail, kept: Kept::No })
}

/// Refuses a file that is no database before SQLite opens it, and with it the log beside it, which it would delete.
pub(crate) fn refuse_stranger(path: &Path) -> Result<(), StoreError> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    if read.is_err() || start.is_empty() || start == MAGIC {
        return Ok(());
    }
    let detail = "file is not a database".to_owned();
    Err(StoreError::Damaged { path: path.to_owned(), detail, kept: Kept::No })
}

fn copy(path: &Path) -> Kept {
    let to = beside(path, &format!(".corrupt-{}", written_at(path)));
    match copy_to(path, &to) {
        Ok(()) => Kept::At(to),
        Err(source) => Kept::Failed { path: to, source },
    }
}

/// When the file was last written, in microseconds since 1970.
fn written_at(path: &Path) -> u128 {
    let written = fs::metadata(path).and_then(|file| file.modified());
    written.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |at| at.as_micros())
}

/// The log first: where the copy of the database is, all of it is.
fn copy_to(path: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    match copy_file(&beside(path, "-wal"), &beside(to, "-wal")) {
        // There is none, or SQLite has just put it into the database and deleted it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        copied => copied?,
    }
    // A file that somebody deleted is as empty as the one that would be made in its place.
    if path.exists() { copy_file(path, to) } else { private(to).map(|_| ()) }
}

/// Copies under another name first: a copy that was cut off is none.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let part = beside(to, ".part");
    let copied = || -> io::Result<()> {
        let mut copy = private(&part)?;
        io::copy(&mut File::open(from)?, &mut copy)?;
        copy.sync_all()?;
        fs::rename(&part, to)
    };
    copied().inspect_err(|_| {
        // It did not work out, and this is what is left of it.
        let _ = fs::remove_file(&part);
    })
}

/// A file only its owner can read, as the database is.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
