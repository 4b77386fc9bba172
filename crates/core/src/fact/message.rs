//! Messages between the tasks of a project.

use serde::{Deserialize, Serialize};

use super::{Landed, Lineage};
use crate::id::{Branch, TaskKey};

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
    /// A user asked me to retry, and you continue with my work.
    Retry,
    /// A user asked me to retry, and only you can start again. The branch says with which of your lives I continued.
    Restart { branch: Branch },
}

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Adopted,
    LetGo,
    Landed,
    GaveUp,
    Retry,
    Restart,
}

impl TaskMessage {
    pub fn kind(&self) -> MessageKind {
        match self {
            TaskMessage::Adopted(_) => MessageKind::Adopted,
            TaskMessage::LetGo => MessageKind::LetGo,
            TaskMessage::Landed(_) => MessageKind::Landed,
            TaskMessage::GaveUp { .. } => MessageKind::GaveUp,
            TaskMessage::Retry => MessageKind::Retry,
            TaskMessage::Restart { .. } => MessageKind::Restart,
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
            MessageKind::Retry => "retry",
            MessageKind::Restart => "restart",
        }
    }
}
