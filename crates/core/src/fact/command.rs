//! Commands of people, and where they came from.

use serde::{Deserialize, Serialize};

use crate::id::{CommentId, PrNumber};
use crate::observed::Trust;
use crate::time::Timestamp;

/// What a person may tell Pilot to do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserCommand {
    /// Stop, and do not start again.
    Cancel,
    /// Start again from the beginning.
    Retry,
    /// Start no run and merge nothing.
    Pause,
    Resume,
    /// Answer with the reason for the present stage.
    Why,
}

impl UserCommand {
    pub const ALL: [UserCommand; 5] =
        [UserCommand::Cancel, UserCommand::Retry, UserCommand::Pause, UserCommand::Resume, UserCommand::Why];

    /// The word it is written with.
    pub fn as_str(self) -> &'static str {
        match self {
            UserCommand::Cancel => "cancel",
            UserCommand::Retry => "retry",
            UserCommand::Pause => "pause",
            UserCommand::Resume => "resume",
            UserCommand::Why => "why",
        }
    }
}

/// Where a command came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    /// A comment on the ticket, or on the pull request of the task. It counts once.
    Comment {
        id: CommentId,
        posted_at: Timestamp,
        login: String,
        trust: Trust,
        /// The pull request, where it is on one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
    },
    /// The user of this machine.
    Operator,
}
