//! Which task runs next.

use crate::budget::{BudgetAdmission, BudgetConfig, Standing, Window, admit};
use crate::fact::{ProjectFacts, TaskFacts};
use crate::id::{ProjectId, TaskKey};
use crate::observed::TouchedPaths;
use crate::policy::Mode;
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

/// Whether no other task of the project blocks this one. Its own chain of fixes does not.
fn has_room(load: &ProjectLoad<'_>, candidate: &Candidate, now: Timestamp) -> bool {
    let (active, held) = (&load.project.active, &load.project.held);
    let mut others = active.iter().chain(held).filter(|(task, active)| {
        **task != candidate.task && active.root != candidate.root && (active.running || active.until > now)
    });
    match load.mode {
        Mode::Parallel => true,
        Mode::Sequential => others.next().is_none(),
        Mode::Auto => !others.any(|(_, active)| active.paths.overlaps(&candidate.paths)),
    }
}

#[cfg(test)]
mod tests;
