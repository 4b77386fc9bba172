//! What an action is known by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Generation;

/// What kind of thing an action writes. At most one action of a lane is under way at a time, so two that would write the
/// same thing never race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    Claim,
    Run,
    Push,
    Pr,
    ClosePr,
    Fix,
    Merge,
    CloseTicket,
    DeleteBranch,
    Label,
    Comment,
    Reply,
    Message,
    Tag,
}

impl Lane {
    pub const ALL: [Lane; 14] = [
        Lane::Claim,
        Lane::Run,
        Lane::Push,
        Lane::Pr,
        Lane::ClosePr,
        Lane::Fix,
        Lane::Merge,
        Lane::CloseTicket,
        Lane::DeleteBranch,
        Lane::Label,
        Lane::Comment,
        Lane::Reply,
        Lane::Message,
        Lane::Tag,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Lane::Claim => "claim",
            Lane::Run => "run",
            Lane::Push => "push",
            Lane::Pr => "pr",
            Lane::ClosePr => "close-pr",
            Lane::Fix => "fix",
            Lane::Merge => "merge",
            Lane::CloseTicket => "close-ticket",
            Lane::DeleteBranch => "delete-branch",
            Lane::Label => "label",
            Lane::Comment => "comment",
            Lane::Reply => "reply",
            Lane::Message => "message",
            Lane::Tag => "tag",
        }
    }
}

/// What the keys of released claims begin with, after the lane.
const RELEASE: &str = "release-";

/// What an action of a task is known by: the same facts give the same key, on every machine and after every crash.
///
/// It reads `lane:rest`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key {
    text: String,
    lane: Lane,
}

impl Key {
    pub(crate) fn new(lane: Lane, rest: impl fmt::Display) -> Key {
        Key { text: format!("{}:{rest}", lane.as_str()), lane }
    }

    pub(super) fn release(generation: Generation) -> Key {
        Key::new(Lane::Claim, format_args!("{RELEASE}{generation}"))
    }

    /// Whether the action stops showing a claim to other Pilots.
    pub(crate) fn releases_claim(&self) -> bool {
        self.text.strip_prefix("claim:").is_some_and(|rest| rest.starts_with(RELEASE))
    }

    /// A key as the store kept it.
    pub fn parse(text: &str) -> Result<Key, UnknownLane> {
        let named = text.split_once(':').map_or(text, |(lane, _)| lane);
        let lane = Lane::ALL.into_iter().find(|lane| lane.as_str() == named);
        let lane = lane.ok_or_else(|| UnknownLane { key: text.to_owned() })?;
        Ok(Key { text: text.to_owned(), lane })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn lane(&self) -> Lane {
        self.lane
    }
}

/// A stored key of a lane that this version does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLane {
    pub key: String,
}

impl fmt::Display for UnknownLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key {:?} names no kind of action", self.key)
    }
}

impl std::error::Error for UnknownLane {}

impl TryFrom<String> for Key {
    type Error = UnknownLane;

    fn try_from(text: String) -> Result<Key, UnknownLane> {
        Key::parse(&text)
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.text
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Lane};

    #[test]
    fn a_key_names_its_lane() {
        for lane in Lane::ALL {
            let key = Key::new(lane, "a:b/c");
            assert_eq!(Key::parse(key.as_str()).map(|read| read.lane()), Ok(lane));
            assert_eq!(serde_json::to_string(&lane).unwrap(), format!("\"{}\"", lane.as_str()));
        }
        assert!(Key::parse("tell:GH-1/landed").is_err());
    }
}
