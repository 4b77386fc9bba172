//! Which task runs next.

use serde::Serialize;

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

/// Whether no other task of the project blocks this one.
fn has_room(load: &ProjectLoad<'_>, candidate: &Candidate, now: Timestamp) -> bool {
    blockers(load, candidate, now).next().is_none()
}

/// The tasks of the project that this one waits for. Those of its own chain of fixes are none of them.
fn blockers<'p>(
    load: &ProjectLoad<'p>,
    candidate: &'p Candidate,
    now: Timestamp,
) -> impl Iterator<Item = &'p TaskKey> {
    let (active, held, mode) = (&load.project.active, &load.project.held, load.mode);
    let others = active.iter().chain(held).filter(move |(task, active)| {
        **task != candidate.task && active.root != candidate.root && (active.running || active.until > now)
    });
    let blocking = others.filter(move |(_, active)| match mode {
        Mode::Parallel => false,
        Mode::Sequential => true,
        Mode::Auto => active.paths.overlaps(&candidate.paths),
    });
    blocking.map(|(task, _)| task)
}

/// Where a task stands in the queue of its project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuePlace {
    /// From 1.
    pub position: usize,
    /// The tasks that have to be merged or given up first.
    pub behind: Vec<TaskKey>,
}

/// The places of a project's queue, in order.
pub fn places(
    load: &ProjectLoad<'_>,
    mut candidates: Vec<Candidate>,
    now: Timestamp,
) -> Vec<(TaskKey, QueuePlace)> {
    candidates.sort_by(|one, other| (one.rank, &one.task).cmp(&(other.rank, &other.task)));
    let numbered = candidates.iter().enumerate();
    numbered
        .map(|(place, candidate)| {
            let behind = blockers(load, candidate, now).cloned().collect();
            (candidate.task.clone(), QueuePlace { position: place + 1, behind })
        })
        .collect()
}

#[cfg(test)]
mod tests;
