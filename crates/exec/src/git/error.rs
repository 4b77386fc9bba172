//! The ways a call of git can fail.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pilot_core::id::NotAName;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("find git as `{}`: install git or fix PATH", program.display())]
    NotInstalled { program: PathBuf },
    #[error("run git {command}: {source}")]
    Io { command: String, source: io::Error },
    #[error("git {command} (exit {}): {stderr}", code.map_or("by a signal".to_owned(), |code| code.to_string()))]
    Failed { command: String, code: Option<i32>, stderr: String },
    /// Git did not end in time and was killed, or there was no time left to start it.
    #[error("git {command}: timed out after {limit:?}")]
    TimedOut { command: String, limit: Duration },
    #[error("git {command}: more than {limit} bytes of output")]
    TooMuch { command: String, limit: usize },
    #[error("read the output of git {command}: {what}")]
    Unexpected { command: String, what: String },
    #[error("find a git repository at {}: run `git init` there, or name another directory", dir.display())]
    NotARepository { dir: PathBuf },
    #[error("start from {}: its branch has no commit yet; make a first commit", dir.display())]
    Unborn { dir: PathBuf },
    #[error("resolve {revision:?} to a commit in {}", dir.display())]
    UnknownRevision { revision: String, dir: PathBuf },
    #[error(transparent)]
    BadId(#[from] NotAName),
    /// A ref was not where it was expected, or could not be locked; none of the changes was made.
    #[error("change refs: {reason}")]
    RefRefused { reason: String },
}
