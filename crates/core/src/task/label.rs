//! Pilot's labels on an issue: a picture of where the task stands, painted over when it is wrong.

use std::collections::BTreeSet;

use super::{Action, Hold, Stage};
use crate::fact::{Ending, GivenUp, TaskFacts};
use crate::policy::Policy;
use crate::seen::Issue;
use crate::time::Timestamp;
use crate::words::label::{DONE, FAILED, IN_PROGRESS, OURS, RETRY_READY};

/// The labels to be written, if any are.
pub(super) fn labels(task: &TaskFacts, stage: &Stage, policy: &Policy, now: Timestamp) -> Option<Action> {
    let nothing = BTreeSet::new();
    let (written, writes) = match &task.labels {
        Some(fact) => (&fact.labels, fact.writes),
        None => (&nothing, 0),
    };
    let wanted: BTreeSet<String> = wanted(task, stage, written).into_iter().map(str::to_owned).collect();
    let seen = task.seen().map(ours).unwrap_or_default();
    // After a write of which nobody knows whether it happened, anything may be there.
    let doubt = task.trouble.get("label").is_some_and(|trouble| trouble.may_have_happened);
    if *written == wanted && !doubt && !painted_over(task, stage, &seen, &wanted, policy, now) {
        return None;
    }
    let all: BTreeSet<String> = OURS.iter().map(|label| (*label).to_owned()).collect();
    let there: BTreeSet<String> = if doubt { all } else { written.union(&seen).cloned().collect() };
    let remove = there.into_iter().filter(|label| !wanted.contains(label)).collect();
    Some(Action::Label { issue: task.number, add: wanted, remove, writes })
}

/// Pilot's labels on an issue, as it was read.
pub(crate) fn ours(issue: &Issue) -> BTreeSet<String> {
    OURS.iter().filter(|label| issue.has_label(label)).map(|label| (*label).to_owned()).collect()
}

/// The label that fits. It follows the claim: nobody reads that Pilot is at work before every other Pilot can.
fn wanted(task: &TaskFacts, stage: &Stage, written: &BTreeSet<String>) -> Option<&'static str> {
    let at_work = task.claim_shown.then_some(IN_PROGRESS);
    match stage {
        Stage::Ended { ending: Ending::Done(_) } => Some(DONE),
        Stage::Ended { ending: Ending::GivenUp(GivenUp::PrClosed { .. }) } => Some(RETRY_READY),
        Stage::Ended { ending: Ending::GivenUp(_) } | Stage::Held { hold: Hold::CiKeepsFailing { .. } } => {
            Some(FAILED)
        }
        Stage::Ended { ending: Ending::Cancelled { .. } }
        | Stage::Held { hold: Hold::LabelGone | Hold::IssueClosed } => None,
        // Between two runs it stays as it is: the next one is about to begin, or the claim about to be taken back.
        Stage::Checking { .. } | Stage::Queued { .. } | Stage::Claiming { .. } => {
            at_work.filter(|label| written.contains(*label))
        }
        Stage::Held { .. } | Stage::Waiting { .. } if task.work().is_none() => {
            at_work.filter(|label| written.contains(*label))
        }
        Stage::Held { .. }
        | Stage::Waiting { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Continued { .. }
        | Stage::Landing { .. } => at_work,
    }
}

/// Whether somebody else changed our labels since, as far as a read that is not stale shows. Without a claim they may be
/// another Pilot's.
fn painted_over(
    task: &TaskFacts,
    stage: &Stage,
    seen: &BTreeSet<String>,
    wanted: &BTreeSet<String>,
    policy: &Policy,
    now: Timestamp,
) -> bool {
    let (Some(fact), Some((_, read))) = (&task.labels, &task.issue) else { return false };
    let fresh = *read > fact.at.after(policy.settle) && now >= *read;
    fresh && task.claim_shown && !matches!(stage, Stage::Ended { .. }) && seen != wanted
}
