//! A damaged database: it is copied before anything is changed, and refused.
//!
//! The copy is named after the time the file was last written, so that a daemon that is started again and again makes it once.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::database::Location;
use crate::error::{Result, StoreError};

/// How every SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What became of the copy of a damaged database.
#[derive(Debug)]
pub enum Kept {
    /// No copy was made: the database was open already.
    No,
    At(PathBuf),
    Failed {
        path: PathBuf,
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

/// Copies the database where the failure is that it is damaged.
pub(super) fn keep(failed: StoreError) -> StoreError {
    if let StoreError::Damaged { location: Location::File(path), detail, kept: Kept::No } = failed {
        let kept = copy(&path);
        StoreError::Damaged { location: Location::File(path), detail, kept }
    } else {
        failed
    }
}

/// Refuses a log without its database. SQLite would take the empty file for a new one, and delete the log.
pub(super) fn refuse_lone_log(path: &Path) -> Result<()> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    if length(path) > 0 || length(&beside(path, "-wal")) == 0 {
        return Ok(());
    }
    let detail = "it is empty, and the log beside it that ends in -wal is not".to_owned();
    Err(StoreError::Damaged { location: path.into(), detail, kept: Kept::No })
}

/// Refuses a file that is no database before SQLite opens it: SQLite would delete the log beside it.
pub(super) fn refuse_other_file(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    if read.is_err() || start.is_empty() || start == MAGIC {
        return Ok(());
    }
    let detail = "file is not a database".to_owned();
    Err(StoreError::Damaged { location: path.into(), detail, kept: Kept::No })
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

/// The log first: when the copy of the database exists, so does the copy of its log.
fn copy_to(path: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    match copy_file(&beside(path, "-wal"), &beside(to, "-wal")) {
        // It does not exist, or SQLite has just moved it into the database and deleted it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        copied => copied?,
    }
    // A file that was deleted is as empty as the one that would be created in its place.
    if path.exists() { copy_file(path, to) } else { private(to).map(|_| ()) }
}

/// Copies under another name first, so that a copy with the final name is complete.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let part = beside(to, ".part");
    let copied = || -> io::Result<()> {
        let mut copy = private(&part)?;
        io::copy(&mut File::open(from)?, &mut copy)?;
        copy.sync_all()?;
        fs::rename(&part, to)
    };
    copied().inspect_err(|_| {
        // The incomplete copy goes; when that fails as well, the first failure is the one to report.
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
