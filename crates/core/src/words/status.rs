//! The status comment, and answers to `/pilot why`.

use super::stage;
use crate::fact::TaskFacts;
use crate::task::{Stage, Wait};

/// What the status comment says; nothing where what it says stays true. It changes when a person has something to know, not
/// at every step: each change is a call, and a mail to somebody.
pub(crate) fn status(task: &TaskFacts, at: &Stage, marker: &str) -> Option<String> {
    let words = match at {
        Stage::Checking { .. }
        | Stage::Queued { .. }
        | Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Waiting { why: Wait::MergeCap, .. } => {
            format!("Pilot is at work on this, on branch `{}`.", task.branch())
        }
        Stage::Stopping { .. } | Stage::Failing { .. } | Stage::Closing { .. } | Stage::Landing { .. } => {
            return None;
        }
        Stage::Held { .. }
        | Stage::Waiting { why: Wait::Retry { .. } | Wait::IssueCap, .. }
        | Stage::Continued { .. }
        | Stage::Ended { .. } => stage(at),
    };
    Some(format!("{words}\n\n{marker}\n"))
}

/// The answer to `/pilot why`.
pub(crate) fn answer(task: &TaskFacts, at: &Stage, marker: &str) -> String {
    let runs = match task.life.attempts {
        0 => String::new(),
        1 => " It ran once so far.".to_owned(),
        count => format!(" It ran {count} times so far."),
    };
    format!("{}: {}{runs}\n\n{marker}\n", task.key, stage(at))
}
