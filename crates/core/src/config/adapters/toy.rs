//! The toy, a service that exists only in tests, as tracker and as forge: what an adapter costs here.

use std::time::Duration;

use super::TrackerSettings;
use crate::config::check::{Faults, SHORTEST_TICK};
use crate::config::node::Node;
use crate::config::projects::read_section;
use crate::config::scalar::read_filled;
use crate::config::sections::{Flaw, item_draft};
use crate::config::{Config, Secret, section};
use crate::id::{KeyStyle, References};

/// The forge's name in a project's id.
pub(super) const FORGE: &str = "toy";

pub(super) fn references() -> References {
    References {
        tickets: KeyStyle::Numbered { prefix: "TOY".to_owned() },
        pull_sign: '!',
        closing_word: None,
    }
}

section! {
    pub struct ToyConfig at (adapters.toy) {
        /// The address of the service.
        user api_url: Option<String> = None, read_filled;
        /// The key Pilot authenticates with.
        secret key: Option<Secret> = None;
        /// The account the key belongs to.
        user login: String = "pilot-bot".to_owned();
        /// How often the service is polled.
        user interval: Duration = Duration::from_secs(30);
    }
}

impl ToyConfig {
    pub(super) fn tracker_settings(&self) -> TrackerSettings<'_> {
        TrackerSettings { label: "pilot", allowed_users: &[], poll_interval: self.interval }
    }
}

item_draft! {
    /// What a project says of the toy.
    pub(super) struct ToyDraft {
        /// Its project there, as in `team/project`.
        "toy.project" project: String, read_filled;
    }
}

impl ToyDraft {
    pub(super) fn read(&mut self, section: &Node, flaws: &mut Vec<Flaw>) -> bool {
        read_section(("toy", ToyDraft::KEYS), self, section, flaws)
    }

    pub(super) fn finish(self) -> Option<String> {
        self.project
    }
}

pub(super) fn check(config: &Config, faults: &mut Faults) {
    let toy = &config.adapters.toy;
    faults.check_time("adapters.toy.interval", toy.interval, SHORTEST_TICK);
    if toy.key.as_deref().is_some_and(|key| key.contains(|c: char| !c.is_ascii_graphic())) {
        faults.add("adapters.toy.key", "a key is one word");
    }
}
