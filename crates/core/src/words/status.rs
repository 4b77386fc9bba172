//! The status comment, and answers to `/pilot why`.

use super::{queued_behind, stage};
use crate::dispatch::Behind;
use crate::fact::TaskFacts;
use crate::id::References;
use crate::task::{Stage, StageGroup, Wait};

/// What stays of an answer when another Pilot gave one earlier.
pub(crate) const ANSWERED_ABOVE: &str = "Answered above.";

/// The text of the status comment; none where the present one stays true. It changes when a person has something to know, not
/// at every step: each change is a call, and a mail.
pub(crate) fn status(task: &TaskFacts, at: &Stage, references: &References) -> Option<String> {
    let at_work = || Some(format!("Pilot is working on this, on branch `{}`.", task.branch()));
    match at.group() {
        StageGroup::Held | StageGroup::Ended => Some(stage(at, references)),
        StageGroup::Waiting if matches!(at, Stage::Waiting { why: Wait::MergeCap, .. }) => at_work(),
        StageGroup::Waiting => Some(stage(at, references)),
        StageGroup::PullRequest if matches!(at, Stage::Continued { .. }) => Some(stage(at, references)),
        StageGroup::Run | StageGroup::PullRequest if is_short(at) => None,
        StageGroup::Intake | StageGroup::Run | StageGroup::PullRequest => at_work(),
    }
}

/// A stage that soon becomes another one.
fn is_short(at: &Stage) -> bool {
    matches!(
        at,
        Stage::Stopping { .. } | Stage::Failing { .. } | Stage::Closing { .. } | Stage::Landing { .. }
    )
}

/// The answer to `/pilot why`.
pub(crate) fn answer(
    task: &TaskFacts,
    at: &Stage,
    behind: Option<&Behind>,
    references: &References,
) -> String {
    let runs = match task.life.attempts {
        0 => String::new(),
        1 => " It ran once so far.".to_owned(),
        count => format!(" It ran {count} times so far."),
    };
    let stands = behind.map_or_else(|| stage(at, references), |behind| queued_behind(behind, references));
    format!("{}: {stands}{runs}", task.key)
}

/// Tells one text from another. Not a secret and no proof of anything.
pub fn fingerprint(text: &str) -> String {
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn texts_have_different_fingerprints() {
        assert_eq!(fingerprint(""), "cbf29ce484222325");
        assert_ne!(fingerprint("a"), fingerprint("b"));
    }
}
