//! What can go wrong with what Pilot remembers.

use std::error::Error;
use std::io;

use crate::database::{Kept, Location};
use crate::execution::{ExecutionStatus, RunId};

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failure of the store: it names what it is about and, where a user can help, how. `doing` is what was asked, in words.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its directory cannot be created.
    #[error("create {location}: {source}; see that the directory can be written, or set PILOT_HOME")]
    Create { location: Location, source: io::Error },
    #[error(
        "open {location}: it was written by a newer Pilot (schema {found}, this one knows {known}); upgrade Pilot, \
         or set PILOT_HOME to another directory"
    )]
    Newer { location: Location, found: i64, known: i64 },
    /// It is a database, but not one of Pilot's.
    #[error("open {location}: it is another program's database; set PILOT_HOME to another directory")]
    Foreign { location: Location },
    /// It is damaged, or no database at all.
    #[error(
        "read {location}: the database is damaged ({detail}); {kept}. Move it and the files beside it that end in -wal \
         and -shm away to start with an empty one, or put a copy back"
    )]
    Damaged { location: Location, detail: String, kept: Kept },
    /// Another process has locked it for longer than a statement waits.
    #[error(
        "{doing} in {location}: another process holds the database and does not let go of it; nothing was written. See \
         what runs on it (`fuser {location}`), and try again when it has ended"
    )]
    Locked { doing: &'static str, location: Location },
    #[error(
        "{doing} in {location}: the disk is full; nothing of this was written, and nothing from before is lost. Make \
         room, and try again"
    )]
    Full { doing: &'static str, location: Location },
    /// Everything else the database may answer.
    #[error("{doing} in {location}: {source}")]
    Database { doing: &'static str, location: Location, source: Box<dyn Error + Send + Sync> },
    #[error("find run {id}: no such run")]
    UnknownRun { id: RunId },
    /// A run ends once.
    #[error("end run {id}: it has ended already, as {status}")]
    AlreadyEnded { id: RunId, status: ExecutionStatus },
    /// Two or more runs have ids that begin with the key.
    #[error("find run {key}: {} runs begin so, among them {} and {}; write more of the id", candidates.len(), candidates[0], candidates[1])]
    Ambiguous { key: String, candidates: Vec<RunId> },
}
