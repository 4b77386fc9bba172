//! From facts to where a task stands.

use super::plan::{Decision, Plan, is_stuck, retry_at};
use super::{Hold, Lane, Stage, Stop, Wait};
use crate::fact::{Claim, Ending, Fix, GivenUp, ProjectFacts, RunEnding, TaskFacts, Trouble, Work};
use crate::id::{PrNumber, Sha};
use crate::intake::{Admission, admit};
use crate::outcome::Class;
use crate::policy::Policy;
use crate::pr;
use crate::time::Timestamp;

/// How long a merged commit may be missing on the base branch before a person is asked, in intervals of looking.
const BASE_LOOKS: u32 = 10;

/// Decides what becomes of a task: the one place.
pub fn step(task: &TaskFacts, project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Decision {
    let stage = stage(task, project, policy, now);
    Plan::new(task, project, policy, now).decide(stage)
}

/// Where it stands. What is on the forge goes before what we think of it: a merge ends every other thought.
fn stage(task: &TaskFacts, project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Stage {
    let life = &task.life;
    if let Some((ending, _)) = &life.ended {
        return Stage::Ended { ending: ending.clone() };
    }
    if let Some(landed) = &life.landed {
        return Stage::Ended { ending: Ending::Done(landed.clone()) };
    }
    if let Some((commit, pr)) = task.merged() {
        return landing(task, policy, commit, pr);
    }
    if let Some(claim) = &life.claim {
        return claimed(task, project, policy, claim, now);
    }
    if let Some(fix) = &life.fix {
        return continued(task, fix);
    }
    if let Some(pr) = &life.pr {
        return pr::stage(task, pr, project, policy, now);
    }
    if let Some(by) = &life.cancelled {
        return Stage::Ended { ending: Ending::Cancelled { by: by.clone() } };
    }
    if let Some(work) = task.work() {
        return publishing(task, project, policy, work);
    }
    if let Some(why) = given_up(task, policy) {
        return Stage::Ended { ending: Ending::GivenUp(why) };
    }
    match admit(task, project, policy, now) {
        Admission::Held(hold) => Stage::Held { hold },
        Admission::Unknown(queries) => Stage::Checking { queries },
        Admission::Admitted { rank } => match again_at(task, policy).filter(|(until, _)| now < *until) {
            Some((until, class)) => Stage::Waiting { until, why: Wait::Retry { class } },
            None => {
                match start_trouble(task).filter(|(_, trouble)| now < retry_at(true, trouble, true, policy)) {
                    Some((lane, trouble)) => {
                        let failure = trouble.failure.clone();
                        Stage::Held { hold: Hold::Trouble { lane, failure } }
                    }
                    None => Stage::Queued { rank },
                }
            }
        },
    }
}

/// What keeps runs of a task from beginning, when that is more than a hiccup.
pub(crate) fn start_trouble(task: &TaskFacts) -> Option<(Lane, &Trouble)> {
    let stuck =
        [Lane::Claim, Lane::Run].into_iter().filter_map(|lane| Some((lane, task.trouble.get(&lane)?)));
    stuck.filter(|(_, trouble)| is_stuck(trouble)).max_by_key(|(_, trouble)| trouble.at)
}

fn landing(task: &TaskFacts, policy: &Policy, commit: &Sha, pr: PrNumber) -> Stage {
    match task.life.not_on_base {
        Some((since, last)) if last.since(since) > BASE_LOOKS * policy.poll_interval => {
            Stage::Held { hold: Hold::NotOnBase { pr } }
        }
        Some(_) | None => Stage::Landing { commit: commit.clone(), pr },
    }
}

/// Why people want a task stopped, if they do.
pub(crate) fn stop(task: &TaskFacts, policy: &Policy) -> Option<Stop> {
    if let Some(by) = &task.life.cancelled {
        return Some(Stop::Cancelled { by: by.clone() });
    }
    if !task.is_open() {
        return Some(Stop::TicketClosed);
    }
    let labelled = task.ticket().is_some_and(|ticket| ticket.has_label(&policy.label));
    (!labelled).then_some(Stop::LabelGone)
}

fn claimed(
    task: &TaskFacts,
    project: &ProjectFacts,
    policy: &Policy,
    claim: &Claim,
    now: Timestamp,
) -> Stage {
    let generation = claim.generation;
    if let Some(why) = stop(task, policy) {
        return Stage::Stopping { generation, why };
    }
    if claim.started.is_some() {
        return Stage::Running { generation };
    }
    // A claim that cannot be used is given back, so that no other task waits for it.
    if start_trouble(task).is_some_and(|(_, trouble)| trouble.at >= claim.at) {
        return Stage::Stopping { generation, why: Stop::NotAdmitted };
    }
    match admit(task, project, policy, now) {
        Admission::Admitted { .. } if claim.placed => Stage::Starting { generation },
        Admission::Admitted { .. } => Stage::Claiming { generation },
        Admission::Held(_) | Admission::Unknown(_) => Stage::Stopping { generation, why: Stop::NotAdmitted },
    }
}

fn continued(task: &TaskFacts, fix: &Fix) -> Stage {
    match (fix.gave_up, &task.life.cancelled) {
        (false, _) => Stage::Continued { by: fix.ticket.clone() },
        (true, Some(by)) => Stage::Ended { ending: Ending::Cancelled { by: by.clone() } },
        (true, None) => {
            let ticket = fix.ticket.clone();
            Stage::Ended { ending: Ending::GivenUp(GivenUp::FixGivenUp { ticket }) }
        }
    }
}

fn publishing(task: &TaskFacts, project: &ProjectFacts, policy: &Policy, work: &Work) -> Stage {
    if let Some(hold) = held(task, project, policy) {
        return Stage::Held { hold };
    }
    match &task.life.pushed {
        Some(pushed) if pushed.sha == work.sha => Stage::Opening { sha: work.sha.clone() },
        Some(_) | None => Stage::Publishing { work: Box::new(work.clone()) },
    }
}

/// What keeps a task whose work is done from continuing.
pub(crate) fn held(task: &TaskFacts, project: &ProjectFacts, policy: &Policy) -> Option<Hold> {
    match stop(task, policy) {
        Some(Stop::TicketClosed) => return Some(Hold::TicketClosed),
        Some(Stop::LabelGone) => return Some(Hold::LabelGone),
        Some(Stop::Cancelled { .. } | Stop::NotAdmitted) | None => {}
    }
    if let Some(by) = &task.life.paused {
        return Some(Hold::Paused { by: by.clone() });
    }
    project.paused.as_ref().map(|by| Hold::ProjectPaused { by: by.clone() })
}

/// Whether the last run was one too many.
fn given_up(task: &TaskFacts, policy: &Policy) -> Option<GivenUp> {
    let RunEnding::Stopped { class, reason, .. } = &task.life.run.as_ref()?.ending else { return None };
    if *class == Class::Cancelled {
        return None;
    }
    let count = task.life.attempts;
    match again_at(task, policy) {
        None => Some(GivenUp::Run { class: *class, reason: reason.clone() }),
        Some(_) if count >= policy.max_attempts => Some(GivenUp::Attempts { count, class: *class }),
        Some(_) => None,
    }
}

/// When the next run may begin, if one may after the last.
fn again_at(task: &TaskFacts, policy: &Policy) -> Option<(Timestamp, Class)> {
    let run = task.life.run.as_ref()?;
    let RunEnding::Stopped { class, again_at, .. } = &run.ending else { return None };
    let at = match again_at {
        Some(at) => *at,
        None if *class == Class::Cancelled => run.at,
        // The account or the machine is at fault, not the task: it waits as long as every other task.
        None if class.stops_all_runs() => run.at.after(policy.breaker.reset_after),
        None => return None,
    };
    Some((at, *class))
}
