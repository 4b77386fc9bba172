//! Pilot's labels on a ticket: they show the stage, and are corrected when they are wrong.

use std::collections::BTreeSet;

use super::{Action, Hold, Lane, Stage};
use crate::fact::{Ending, GivenUp, TaskFacts};
use crate::observed::Ticket;
use crate::policy::Policy;
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
    let seen = task.ticket().map(ours).unwrap_or_default();
    // After a write whose reply was lost, any of them may be there.
    let doubt = task.trouble.get(&Lane::Label).is_some_and(|trouble| trouble.may_have_happened);
    if *written == wanted && !doubt && !was_changed(task, stage, &seen, &wanted, policy, now) {
        return None;
    }
    let all: BTreeSet<String> = OURS.iter().map(|label| (*label).to_owned()).collect();
    let there: BTreeSet<String> = if doubt { all } else { written.union(&seen).cloned().collect() };
    let remove = there.into_iter().filter(|label| !wanted.contains(label)).collect();
    Some(Action::Label { ticket: task.key.clone(), add: wanted, remove, writes })
}

/// Pilot's labels on a ticket, as it was read.
pub(crate) fn ours(ticket: &Ticket) -> BTreeSet<String> {
    OURS.iter().filter(|label| ticket.has_label(label)).map(|label| (*label).to_owned()).collect()
}

/// The label that fits. It follows the claim: it does not show that Pilot is at work before other Pilots can see the claim.
fn wanted(task: &TaskFacts, stage: &Stage, written: &BTreeSet<String>) -> Option<&'static str> {
    let at_work = task.claim_shown.then_some(IN_PROGRESS);
    match stage {
        Stage::Ended { ending: Ending::Done(_) } => Some(DONE),
        Stage::Ended { ending: Ending::GivenUp(GivenUp::PrClosed { .. }) } => Some(RETRY_READY),
        Stage::Ended { ending: Ending::GivenUp(_) } | Stage::Held { hold: Hold::CiKeepsFailing { .. } } => {
            Some(FAILED)
        }
        Stage::Ended { ending: Ending::Cancelled { .. } }
        | Stage::Held { hold: Hold::LabelGone | Hold::TicketClosed } => None,
        // Between two runs it stays as it is: the next one is about to start, or the claim about to be released.
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
        | Stage::Paused { .. }
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

/// Whether our labels were changed by others since, as far as a read that is not stale shows. Without a claim they may be
/// another Pilot's.
fn was_changed(
    task: &TaskFacts,
    stage: &Stage,
    seen: &BTreeSet<String>,
    wanted: &BTreeSet<String>,
    policy: &Policy,
    now: Timestamp,
) -> bool {
    let (Some(fact), Some((_, read))) = (&task.labels, &task.ticket) else { return false };
    let fresh = *read > fact.at.after(policy.settle) && now >= *read;
    fresh && task.claim_shown && !matches!(stage, Stage::Ended { .. }) && seen != wanted
}
