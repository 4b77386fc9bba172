//! What can go wrong with what Pilot remembers.

use std::io;
use std::path::{Path, PathBuf};

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
        "read {}: the database is damaged ({detail}); nothing was changed or deleted. Move it and the files \
         beside it that end in -wal and -shm away to start with an empty one, or put a copy back", path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
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
    /// Tells damage from every other failure.
    pub(crate) fn database(doing: &'static str, path: &Path, source: sqlx::Error) -> StoreError {
        let path = path.to_owned();
        match damage(&source) {
            Some(detail) => StoreError::Damaged { path, detail },
            None => StoreError::Database { doing, path, source },
        }
    }
}

/// SQLite's words for a damaged file: `SQLITE_CORRUPT` and `SQLITE_NOTADB`, with their extended codes.
fn damage(error: &sqlx::Error) -> Option<String> {
    let error = error.as_database_error()?;
    let code: i32 = error.code()?.parse().ok()?;
    matches!(code & 0xff, 11 | 26).then(|| error.message().to_owned())
}

/// Whether another process holds the database for the moment: `SQLITE_BUSY`, `SQLITE_LOCKED`.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| matches!(code & 0xff, 5 | 6))
}
