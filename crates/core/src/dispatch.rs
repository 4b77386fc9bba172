//! Which task runs next.

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
