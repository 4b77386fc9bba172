//! Which task runs next.

use crate::budget::{BudgetAdmission, BudgetConfig, Standing, Window, admit};
use crate::fact::{Active, ProjectFacts, TaskFacts};
use crate::id::{ProjectId, TaskKey};
use crate::observed::TouchedPaths;
use crate::policy::Mode;
use crate::task::{Hold, Stage};
use crate::time::Timestamp;

/// A task of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub project: ProjectId,
    pub task: TaskKey,
    /// The first ticket of its chain of fixes.
    pub root: TaskKey,
    pub rank: i64,
    pub paths: TouchedPaths,
}

impl Candidate {
    pub fn of(task: &TaskFacts, rank: i64) -> Candidate {
        let paths = task.ticket().map_or(TouchedPaths::Unknown, |ticket| ticket.body.paths.clone());
        let (project, key) = (task.project.clone(), task.key.clone());
        Candidate { project, task: key, root: task.root(), rank, paths }
    }
}

/// A project and how many of its tasks may be worked on at once.
#[derive(Clone, Copy, Debug)]
pub struct ProjectLoad<'p> {
    pub project: &'p ProjectFacts,
    pub mode: Mode,
}

/// The task to claim now, if any: the first of the queue that nothing blocks. A blocked task does not block those behind it.
pub fn next<'c>(
    projects: &[ProjectLoad<'_>],
    candidates: &'c [Candidate],
    max_concurrent: usize,
    now: Timestamp,
) -> Option<&'c Candidate> {
    let running = projects.iter().flat_map(|load| load.project.active.values());
    if running.filter(|active| active.running).count() >= max_concurrent {
        return None;
    }
    let free = candidates.iter().filter(|candidate| {
        let load = projects.iter().find(|load| load.project.id == candidate.project);
        load.is_some_and(|load| has_room(load, candidate, now))
    });
    free.min_by(|one, other| {
        (one.rank, &one.project, &one.task).cmp(&(other.rank, &other.project, &other.task))
    })
}

/// The task that another one is queued behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    pub task: TaskKey,
    /// Why that one does not continue by itself, if so.
    pub hold: Option<Hold>,
}

/// What a queued task waits for, if it is another task of its project.
pub fn queued_behind(
    load: &ProjectLoad<'_>,
    task: &TaskFacts,
    stage: &Stage,
    now: Timestamp,
) -> Option<Behind> {
    let Stage::Queued { rank } = stage else { return None };
    let (task, active) = blocked_by(load, &Candidate::of(task, *rank), now)?;
    Some(Behind { task: task.clone(), hold: active.hold.clone() })
}

/// The tasks that did not fit into the budget and fit now, in the order of the queue. What one of them will reserve is no
/// longer there for those behind it.
pub fn funded(
    projects: &[&ProjectFacts],
    config: &BudgetConfig,
    standing: &Standing,
    window: &Window,
) -> Vec<(ProjectId, TaskKey)> {
    let unfunded = projects.iter().flat_map(|project| {
        project.unfunded.iter().map(|(task, unfunded)| (unfunded.rank, &project.id, task, unfunded))
    });
    let mut unfunded: Vec<_> = unfunded.collect();
    unfunded.sort_by_key(|(rank, project, task, _)| (*rank, *project, *task));
    let mut standing = *standing;
    let fits = unfunded.into_iter().filter(|(.., unfunded)| {
        match admit(config, &standing, window, unfunded.shortage.size) {
            BudgetAdmission::Go { reserve, .. } => {
                standing.reserved = standing.reserved + reserve;
                true
            }
            BudgetAdmission::Hold(_) | BudgetAdmission::Refuse(_) => false,
        }
    });
    fits.map(|(_, project, task, _)| (project.clone(), task.clone())).collect()
}

fn has_room(load: &ProjectLoad<'_>, candidate: &Candidate, now: Timestamp) -> bool {
    blocked_by(load, candidate, now).is_none()
}

/// The task of the project that this one has to wait for: one that runs, else one that is held. Its own chain of fixes does
/// not block it.
fn blocked_by<'p>(
    load: &ProjectLoad<'p>,
    candidate: &Candidate,
    now: Timestamp,
) -> Option<(&'p TaskKey, &'p Active)> {
    let ProjectFacts { active, held, withdrawn, .. } = load.project;
    let is_own = |task: &TaskKey, active: &Active| *task == candidate.task || active.root == candidate.root;
    let others = active.iter().chain(held).filter(|(task, active)| {
        let is_waited_for = active.until > now && !withdrawn.values().any(|root| *root == active.root);
        !is_own(task, active) && (active.running || is_waited_for)
    });
    // Two tasks that have a turn, as after a label was removed and added again, must not wait for each other: a fix waits only
    // for an agent, and a task that began without a result only for one that has a result.
    let is_fix = active.iter().any(|(task, active)| is_own(task, active));
    let has_begun = held.contains_key(&candidate.task);
    let blocking = others.filter(|(_, active)| match load.mode {
        Mode::Parallel => false,
        Mode::Sequential => active.running || (!is_fix && (active.has_work || !has_begun)),
        Mode::Auto => active.paths.overlaps(&candidate.paths),
    });
    blocking.max_by_key(|(_, active)| (active.running, active.hold.is_some()))
}

/// The queue of a project, in its order.
pub fn in_order(mut candidates: Vec<Candidate>) -> Vec<TaskKey> {
    candidates.sort_by(|one, other| (one.rank, &one.task).cmp(&(other.rank, &other.task)));
    candidates.into_iter().map(|candidate| candidate.task).collect()
}

#[cfg(test)]
mod tests;
