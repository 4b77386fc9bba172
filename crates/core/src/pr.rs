//! The stages of a task with a pull request: from the verdict of CI to a merge, a fix, or a question to a person.

use std::time::Duration;

use crate::ci::{CiFailed, CiPassed, Inconclusive, Verdict, judge};
use crate::fact::{Ending, GivenUp, ProjectFacts, Pushed, TaskFacts, TaskPr};
use crate::id::PrNumber;
use crate::observed::{Mergeable, PrState};
use crate::policy::{Policy, Watch};
use crate::task::{Hold, ReadyToMerge, Stage, Wait, held};
use crate::time::Timestamp;
use crate::words;

/// A reading of CI may be this old when it leads to a merge, in intervals of reading.
const FRESH: u32 = 2;

/// The stage of a task with a pull request.
pub(crate) fn stage(
    task: &TaskFacts,
    known: &TaskPr,
    project: &ProjectFacts,
    policy: &Policy,
    now: Timestamp,
) -> Stage {
    let pr = known.pr.number;
    if let Some(by) = &task.life.cancelled {
        return cancelled(known, by);
    }
    if known.pr.state == PrState::Closed {
        return closed(task, known, policy);
    }
    let Some(pushed) = &task.life.pushed else {
        return Stage::Held { hold: Hold::HeadMoved { pr, head: known.pr.head.clone() } };
    };
    if known.pr.head != pushed.sha && now.since(pushed.at) > policy.settle {
        return Stage::Held { hold: Hold::HeadMoved { pr, head: known.pr.head.clone() } };
    }
    if let Some(hold) = held(task, project, policy) {
        return Stage::Held { hold };
    }
    if !known.changes_requested_by.is_empty() {
        let by = known.changes_requested_by.clone();
        return Stage::Held { hold: Hold::ChangesRequested { pr, by } };
    }
    let verdict = judge(&pushed.sha, task.life.ci.as_ref(), pushed.at, &policy.ci, now);
    match verdict {
        Verdict::Failed(failed) => failing(task, pr, failed, project, policy, now),
        Verdict::Passed(passed) => passing(task, known, pushed, passed, project, policy, now),
        Verdict::Pending { .. } | Verdict::Unknown(_) => waiting(pr, pushed, verdict, policy, now),
    }
}

/// The pull request is closed first, by an action that checks whether it was merged meanwhile; then the task is over.
fn cancelled(known: &TaskPr, by: &str) -> Stage {
    let by = by.to_owned();
    if known.may_be_open() {
        Stage::Closing { pr: known.pr.number, by }
    } else {
        Stage::Ended { ending: Ending::Cancelled { by } }
    }
}

/// For how long it must read closed before that counts: longer than a read can be stale and its answer late.
pub(crate) fn closed_for(policy: &Policy) -> Duration {
    4 * policy.settle
}

/// A person closed it. That counts when it was read more than once, so far apart that not all reads can be stale.
fn closed(task: &TaskFacts, known: &TaskPr, policy: &Policy) -> Stage {
    let pr = known.pr.number;
    match known.closed {
        Some((since, last)) if last.since(since) < closed_for(policy) => Stage::AwaitingCi {
            pr,
            sha: task.life.pushed.as_ref().map_or_else(|| known.pr.head.clone(), |pushed| pushed.sha.clone()),
            verdict: Verdict::Unknown(Inconclusive::Unconfirmed),
        },
        Some(_) | None => Stage::Ended { ending: Ending::GivenUp(GivenUp::PrClosed { pr }) },
    }
}

fn waiting(pr: PrNumber, pushed: &Pushed, verdict: Verdict, policy: &Policy, now: Timestamp) -> Stage {
    if now.since(pushed.at) > policy.ci.timeout {
        return Stage::Held { hold: Hold::CiLate { pr, verdict } };
    }
    Stage::AwaitingCi { pr, sha: pushed.sha.clone(), verdict }
}

fn failing(
    task: &TaskFacts,
    pr: PrNumber,
    failed: CiFailed,
    project: &ProjectFacts,
    policy: &Policy,
    now: Timestamp,
) -> Stage {
    let fixes = task.iteration();
    if fixes >= policy.max_ci_fixes {
        return Stage::Held { hold: Hold::CiKeepsFailing { pr, fixes, failed } };
    }
    match project.tickets_capped_until(policy, now) {
        Some(until) => Stage::Waiting { until, why: Wait::TicketCap },
        None => Stage::Failing { pr, failed, iteration: fixes.saturating_add(1) },
    }
}

fn passing(
    task: &TaskFacts,
    known: &TaskPr,
    pushed: &Pushed,
    passed: CiPassed,
    project: &ProjectFacts,
    policy: &Policy,
    now: Timestamp,
) -> Stage {
    let pr = known.pr.number;
    let doubt = |doubt| Stage::AwaitingCi { pr, sha: pushed.sha.clone(), verdict: Verdict::Unknown(doubt) };
    let read = task.life.ci.as_ref().map_or(pushed.at, |ci| ci.last);
    let stale = policy.ci.watch != Watch::Nothing && now.since(read) > FRESH * policy.ci.poll_interval;
    if known.pr.mergeable == Mergeable::No {
        return Stage::Held { hold: Hold::MergeConflict { pr } };
    }
    if !policy.auto_merge {
        return Stage::Held { hold: Hold::AwaitsMerge { pr } };
    }
    if stale || known.pr.head != pushed.sha {
        return doubt(Inconclusive::Unconfirmed);
    }
    if known.pr.mergeable == Mergeable::Unknown {
        return doubt(Inconclusive::NotMergeableYet);
    }
    match project.merges_capped_until(policy, now) {
        Some(until) => Stage::Waiting { until, why: Wait::MergeCap },
        None => {
            let title = words::merge_title(task.title(), pr, &policy.references);
            Stage::Merging { ready: ReadyToMerge::new(pr, passed, policy.merge_method, title) }
        }
    }
}

#[cfg(test)]
mod tests;
