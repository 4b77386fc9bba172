//! Whose turn it is.

use crate::fact::{ProjectFacts, TaskFacts};
use crate::name::{IssueNumber, ProjectId, TaskKey};
use crate::policy::Mode;
use crate::seen::Reach;
use crate::time::Timestamp;

/// A task that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its project.
    pub project: ProjectId,
    /// The task.
    pub task: TaskKey,
    /// The issue it is about in the end.
    pub root: IssueNumber,
    /// Its place in the queue.
    pub rank: i64,
    /// Where its work will be.
    pub reach: Reach,
}

impl Candidate {
    /// A task of the queue.
    pub fn of(task: &TaskFacts, rank: i64) -> Candidate {
        let reach = task.seen().map_or(Reach::Unknown, |issue| issue.body.reach.clone());
        let (project, key) = (task.project.clone(), task.key.clone());
        Candidate { project, task: key, root: task.root(), rank, reach }
    }
}

/// What goes on in a project, and how much may.
#[derive(Clone, Copy, Debug)]
pub struct Floor<'p> {
    /// What is known of the project.
    pub project: &'p ProjectFacts,
    /// How many tasks at once.
    pub mode: Mode,
}

/// The task that has its turn now, if any: the first of the queue among those that nothing stands in the way of. Whoever must
/// wait, holds up nobody behind.
pub fn next<'c>(
    floors: &[Floor<'_>],
    candidates: &'c [Candidate],
    max_concurrent: usize,
    now: Timestamp,
) -> Option<&'c Candidate> {
    let running = floors.iter().flat_map(|floor| floor.project.active.values());
    if running.filter(|active| active.running).count() >= max_concurrent {
        return None;
    }
    let free = candidates.iter().filter(|candidate| {
        let floor = floors.iter().find(|floor| floor.project.id == candidate.project);
        floor.is_some_and(|floor| has_room(floor, candidate, now))
    });
    free.min_by(|one, other| {
        (one.rank, &one.project, &one.task).cmp(&(other.rank, &other.project, &other.task))
    })
}

/// Whether nothing of the project stands in a task's way. The line of fixes it belongs to does not.
fn has_room(floor: &Floor<'_>, candidate: &Candidate, now: Timestamp) -> bool {
    let mut others = floor.project.active.iter().filter(|(task, active)| {
        **task != candidate.task && active.root != candidate.root && (active.running || active.until > now)
    });
    match floor.mode {
        Mode::Parallel => true,
        Mode::Sequential => others.next().is_none(),
        Mode::Auto => !others.any(|(_, active)| active.reach.meets(&candidate.reach)),
    }
}

#[cfg(test)]
mod tests;
