//! The tracker port: one arm for each adapter.

use pilot_core::observed::Failure;
use pilot_core::port::{TrackerAnswer, TrackerCall};

use crate::github::GithubTracker;

/// A project's tracker.
#[derive(Clone, Debug)]
pub enum Tracker {
    Github(GithubTracker),
    #[cfg(feature = "toy")]
    Toy(crate::toy::Toy),
}

impl Tracker {
    pub async fn call(&self, call: &TrackerCall) -> Result<TrackerAnswer, Failure> {
        match self {
            Tracker::Github(github) => github.call(call).await,
            #[cfg(feature = "toy")]
            Tracker::Toy(toy) => toy.call_tracker(call).await,
        }
    }
}
