//! How a forge is to run.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::faults::Plan;

/// How a forge is to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where everything is kept; made when it is missing.
    pub root: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The token of the first user; none keeps the one there is, or makes one.
    pub token: Option<String>,
    /// The name of the first user, who may do everything.
    pub user: String,
    /// The `PATH` by which git and the programs of CI are found.
    pub path: OsString,
    /// How late things appear.
    pub lags: Lags,
    /// What CI runs and how much of it.
    pub ci: CiOptions,
    /// Requests an hour for each user; a 304 is free.
    pub rate_limit: u32,
    /// What goes wrong, for tests.
    pub faults: Plan,
}

impl Options {
    /// A forge below `root` on a free port of loopback, as slow as the real one at its worst.
    pub fn new(root: impl Into<PathBuf>, path: impl Into<OsString>) -> Options {
        Options {
            root: root.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: None,
            user: "pilot".to_owned(),
            path: path.into(),
            lags: Lags::worst(),
            ci: CiOptions::default(),
            rate_limit: 5000,
            faults: Plan::default(),
        }
    }
}

/// How late things appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lags {
    /// From a push to the first sign of its check runs.
    pub checks: Duration,
    /// From a push to the answer whether a pull request can be merged; until then it is null.
    pub mergeable: Duration,
    /// From making an issue or pull request to its place in lists and searches.
    pub lists: Duration,
}

impl Lags {
    /// As the real one at its worst: everything is late, and nothing says so.
    pub fn worst() -> Lags {
        Lags {
            checks: Duration::from_secs(5),
            mergeable: Duration::from_secs(2),
            lists: Duration::from_secs(1),
        }
    }

    /// Everything at once.
    pub fn none() -> Lags {
        Lags { checks: Duration::ZERO, mergeable: Duration::ZERO, lists: Duration::ZERO }
    }
}

/// What CI runs and how much of it.
#[derive(Clone, Debug)]
pub struct CiOptions {
    /// How many runs at once.
    pub jobs: usize,
    /// The shell command to run instead of `.pilot/ci.sh`.
    pub command: Option<String>,
    /// A run that takes longer is ended with everything it started.
    pub timeout: Duration,
}

impl Default for CiOptions {
    fn default() -> Self {
        CiOptions { jobs: 2, command: None, timeout: Duration::from_secs(600) }
    }
}
