//! The ways git can fail us.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a call of git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program is not there.
    #[error("find git as `{}`: install git or fix PATH", program.display())]
    NotInstalled {
        /// What was looked for.
        program: PathBuf,
    },
    /// The program could not be started or spoken to.
    #[error("run git {command}: {source}")]
    Io {
        /// The subcommand.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// Git ended with a failure.
    #[error("git {command} (exit {}): {stderr}", code.map_or("by a signal".to_owned(), |code| code.to_string()))]
    Failed {
        /// The subcommand.
        command: String,
        /// Its exit code; none when a signal ended it.
        code: Option<i32>,
        /// What it said, cut.
        stderr: String,
    },
    /// Git did not end in time and was killed, or there was no time left to start it.
    #[error("git {command}: no end within {limit:?}")]
    TimedOut {
        /// The subcommand.
        command: String,
        /// How long it, or several calls together, had.
        limit: Duration,
    },
    /// Git printed more than we keep.
    #[error("git {command}: more than {limit} bytes of output")]
    TooMuch {
        /// The subcommand.
        command: String,
        /// The bound.
        limit: usize,
    },
    /// Git answered in a way we do not read.
    #[error("read the answer of git {command}: {what}")]
    Unexpected {
        /// The subcommand.
        command: String,
        /// What was odd.
        what: String,
    },
    /// The directory is in no repository.
    #[error("find a git repository at {}: run `git init` there, or name another directory", dir.display())]
    NotARepository {
        /// Where we looked.
        dir: PathBuf,
    },
    /// The repository has no commit yet.
    #[error("start from {}: its branch has no commit yet; make a first commit", dir.display())]
    Unborn {
        /// The repository.
        dir: PathBuf,
    },
    /// No commit goes by this name.
    #[error("resolve {revision:?} to a commit in {}", dir.display())]
    UnknownRevision {
        /// What was asked for.
        revision: String,
        /// The repository.
        dir: PathBuf,
    },
    /// A branch cannot have this name.
    #[error("use {name:?} as a branch name: {why}")]
    BadName {
        /// The name.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// This is no object name.
    #[error("read {text:?} as an object name: it takes 40 or 64 hexadecimal digits")]
    BadSha {
        /// What was read.
        text: String,
    },
    /// A ref was not where it was expected, or could not be locked; none of the changes was made.
    #[error("change refs: {reason}")]
    RefRefused {
        /// What git said.
        reason: String,
    },
}
