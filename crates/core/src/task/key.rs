//! What an action is known by.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an action of a task is known by: the same facts give the same key, on every machine and after every crash.
///
/// It reads `lane:rest`. Of one lane at most one action is under way at a time, so two that would write the same thing
/// never race.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The key of an action in a lane.
    pub(crate) fn new(lane: &str, rest: impl fmt::Display) -> Key {
        Key(format!("{lane}:{rest}"))
    }

    /// A key as the store kept it.
    pub fn stored(text: String) -> Key {
        Key(text)
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What kind of thing it writes.
    pub fn lane(&self) -> &str {
        self.0.split_once(':').map_or(self.0.as_str(), |(lane, _)| lane)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
