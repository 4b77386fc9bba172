//! Options of a forge.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::faults::Plan;

#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of all data; created if it is missing.
    pub root: PathBuf,
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The token of the first user; by default the stored one or a new one.
    pub token: Option<String>,
    /// The login of the first user, who is an administrator.
    pub user: String,
    /// The `PATH` for git and the CI command.
    pub path: OsString,
    pub lags: Lags,
    pub ci: CiOptions,
    /// Requests per user and hour; a 304 does not count.
    pub rate_limit: u32,
    /// The fault plan, for tests.
    pub faults: Plan,
}

impl Options {
    /// A forge below `root` on a free loopback port, with the lags of GitHub at its worst.
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

/// Delays until changes become visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lags {
    /// From a push to its check runs.
    pub checks: Duration,
    /// From a push until `mergeable` is known; until then it is null.
    pub mergeable: Duration,
    /// From the creation of an issue or pull request until lists and searches contain it.
    pub lists: Duration,
}

impl Lags {
    /// The delays of GitHub at its worst.
    pub fn worst() -> Lags {
        Lags {
            checks: Duration::from_secs(5),
            mergeable: Duration::from_secs(2),
            lists: Duration::from_secs(1),
        }
    }

    pub fn none() -> Lags {
        Lags { checks: Duration::ZERO, mergeable: Duration::ZERO, lists: Duration::ZERO }
    }
}

#[derive(Clone, Debug)]
pub struct CiOptions {
    /// The number of concurrent runs.
    pub jobs: usize,
    /// The shell command to run instead of `.pilot/ci.sh`.
    pub command: Option<String>,
    /// A run that takes longer is killed with its process group.
    pub timeout: Duration,
}

impl Default for CiOptions {
    fn default() -> Self {
        CiOptions { jobs: 2, command: None, timeout: Duration::from_secs(600) }
    }
}
