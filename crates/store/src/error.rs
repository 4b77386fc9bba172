//! What can go wrong with what Pilot remembers.

use std::io;
use std::path::{Path, PathBuf};

use crate::damage::Kept;
use crate::execution::{RunId, Status};

/// A failure of the store; each names what it is about and, where a person can help, how.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its directory cannot be made.
    #[error("create {}: {source}; see that the directory can be written, or set PILOT_HOME", path.display())]
    Create {
        /// What was to be made.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A newer Pilot has written it.
    #[error(
        "open {}: it was written by a newer Pilot (schema {found}, this one knows {known}); upgrade Pilot, \
         or set PILOT_HOME to another directory", path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// It is a database, but not one of Pilot's.
    #[error("open {}: it is another program's database; set PILOT_HOME to another directory", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// It is damaged, or no database at all.
    #[error(
        "read {}: the database is damaged ({detail}); {kept}. Move it and the files beside it that end in -wal \
         and -shm away to start with an empty one, or put a copy back", path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
        /// Whether there is a copy of it now.
        kept: Kept,
    },
    /// Another process holds it, and did not let go of it in time.
    #[error(
        "{doing} in {}: another process holds the database and does not let go of it; nothing was written. See \
         what runs on it (`fuser {}`), and try again when it has ended", path.display(), path.display()
    )]
    Locked {
        /// What was asked, in words.
        doing: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// There is no room for what was to be written.
    #[error(
        "{doing} in {}: the disk is full; nothing of this was written, and nothing from before is lost. Make room, \
         and try again", path.display()
    )]
    Full {
        /// What was asked, in words.
        doing: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// The database did not do what was asked.
    #[error("{doing} in {}: {source}", path.display())]
    Database {
        /// What was asked, in words.
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// What it answered.
        source: sqlx::Error,
    },
    /// No such run.
    #[error("find run {id}: no such run")]
    UnknownRun {
        /// The run asked for.
        id: RunId,
    },
    /// A run ends once.
    #[error("end run {id}: it has ended already, as {status}")]
    AlreadyEnded {
        /// The run.
        id: RunId,
        /// How it ended.
        status: Status,
    },
    /// Several runs have ids that begin so.
    #[error("find run {key}: {} runs begin so, among them {} and {}; write more of the id", candidates.len(), candidates[0], candidates[1])]
    Ambiguous {
        /// What was asked for.
        key: String,
        /// Two or more of them.
        candidates: Vec<RunId>,
    },
}

impl StoreError {
    /// Tells the failures that a person can do something about from every other.
    pub(crate) fn database(doing: &'static str, path: &Path, source: sqlx::Error) -> StoreError {
        let path = path.to_owned();
        let said = source.as_database_error().map(|error| error.message().to_owned()).unwrap_or_default();
        match code(&source) {
            Some(CORRUPT | NOT_A_DATABASE) => StoreError::Damaged { path, detail: said, kept: Kept::No },
            Some(BUSY | LOCKED) => StoreError::Locked { doing, path },
            Some(FULL) => StoreError::Full { doing, path },
            Some(_) | None => StoreError::Database { doing, path, source },
        }
    }
}

/// SQLite's result codes.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const NOT_A_DATABASE: i32 = 26;

/// What SQLite answered, without what its extended codes add.
fn code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}
