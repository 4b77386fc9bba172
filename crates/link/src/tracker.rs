//! The tracker port: one arm for each adapter.

use pilot_core::observed::Failure;
use pilot_core::port::{TrackerAnswer, TrackerCall};

use crate::github::{GithubTracker, co_author};

/// A project's tracker.
#[derive(Clone, Debug)]
pub enum Tracker {
    Github(GithubTracker),
    #[cfg(feature = "toy")]
    Toy(crate::toy::Toy),
}

impl Tracker {
    /// How a commit names this user as co-author, where the service has an address for it.
    pub fn co_author(&self, login: &str) -> Option<String> {
        match self {
            Tracker::Github(_) => Some(co_author(login)),
            #[cfg(feature = "toy")]
            Tracker::Toy(_) => None,
        }
    }

    pub async fn call(&self, call: &TrackerCall) -> Result<TrackerAnswer, Failure> {
        match self {
            Tracker::Github(github) => github.call(call).await,
            #[cfg(feature = "toy")]
            Tracker::Toy(toy) => toy.call_tracker(call).await,
        }
    }
}
