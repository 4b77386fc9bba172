//! Messages between the tasks of a project.

use serde::{Deserialize, Serialize};

use super::{Landed, Lineage};
use crate::id::TaskKey;

/// What one task tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskMessage {
    /// You fix my CI.
    Adopted(Lineage),
    /// My ticket does not want this work any more: stop as well.
    LetGo,
    /// My pull request holds your work, and it is on the base branch.
    Landed(Landed),
    /// I could not fix your CI.
    GaveUp { ticket: TaskKey },
}

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Adopted,
    LetGo,
    Landed,
    GaveUp,
}

impl TaskMessage {
    pub fn kind(&self) -> MessageKind {
        match self {
            TaskMessage::Adopted(_) => MessageKind::Adopted,
            TaskMessage::LetGo => MessageKind::LetGo,
            TaskMessage::Landed(_) => MessageKind::Landed,
            TaskMessage::GaveUp { .. } => MessageKind::GaveUp,
        }
    }
}

impl MessageKind {
    pub fn as_str(self) -> &'static str {
        match self {
            MessageKind::Adopted => "adopted",
            MessageKind::LetGo => "let-go",
            MessageKind::Landed => "landed",
            MessageKind::GaveUp => "gave-up",
        }
    }
}
