//! Jobs: what an executor is told to do, and what came of recording.

use super::TaskRef;
use crate::id::{Branch, Generation, ProjectId, Sha};
use crate::task::{Query, RunRequest, Stage};
use crate::time::Timestamp;
use crate::turn::{Applied, Input, OutboxEntry, ProjectInput, Turn};

#[expect(clippy::large_enum_variant, reason = "most jobs are records, and few wait at a time")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Connect to the forge of the project with this name: `opened` or `not_opened`.
    Connect { name: String },
    /// Renew the lease, and report what instances with expired leases left: `take_over`.
    RenewLease,
    /// Register this instance, and report what dead instances of this home left: `take_over`.
    BeginInstance,
    /// Decide and write what follows: `recorded`.
    Record(Record),
    /// The same for a project: `project_recorded`.
    RecordProject { project: ProjectId, input: Option<ProjectInput> },
    /// Read the tasks of a project: `tasks_read`.
    ReadTasks { project: ProjectId, reading: Reading },
    /// Decide, without writing, which queries the task needs now: `looked`.
    LookAt { task: TaskRef },
    /// Make the calls of the queries: `query_answered` for each answer, then `queries_ended`.
    RunQueries { task: TaskRef, queries: Vec<Query> },
    /// Read a task that runs or ran here: `task_checked`.
    CheckTask { task: TaskRef },
    /// Read the queue, take a task with `choose`, and report it: `claim`. Before the first claim of a round tasks that wait
    /// for the budget and fit now are reported: `budget_freed`.
    Dispatch { is_budget_checked: bool },
    /// Ask the tracker what is new: `polled`.
    Poll { project: ProjectId, since: Timestamp },
    /// Take at most this many due actions out of the outbox: `actions_taken`.
    TakeActions { room: usize },
    /// Make the calls of an action: `performed`.
    Perform { entry: Box<OutboxEntry> },
    /// Ask the agent of this run to stop; it keeps its work.
    StopRun { task: TaskRef, generation: Generation },
    /// Tell the worker of this paused run to continue.
    ResumeRun { task: TaskRef, generation: Generation },
    /// Delete the branches of merged tasks from the checkout: `call_ended`.
    ForgetBranches { project: ProjectId, branches: Vec<(Branch, Sha)> },
    /// Read whether any task is active: `active_counted`.
    CountActive,
    /// This command reached every task it is for.
    CommandDone { id: String },
    /// This command is for a task of a project that is not configured.
    CommandRefused { id: String, task: TaskRef },
}

impl Job {
    /// Whether it makes calls that end later.
    pub(super) fn is_call(&self) -> bool {
        match self {
            Job::Connect { .. }
            | Job::Poll { .. }
            | Job::RunQueries { .. }
            | Job::Perform { .. }
            | Job::ForgetBranches { .. } => true,
            Job::RenewLease
            | Job::BeginInstance
            | Job::Record(_)
            | Job::RecordProject { .. }
            | Job::ReadTasks { .. }
            | Job::LookAt { .. }
            | Job::CheckTask { .. }
            | Job::Dispatch { .. }
            | Job::TakeActions { .. }
            | Job::StopRun { .. }
            | Job::ResumeRun { .. }
            | Job::CountActive
            | Job::CommandDone { .. }
            | Job::CommandRefused { .. } => false,
        }
    }
}

/// Why the tasks of a project are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The project was just opened.
    AtOpening,
    /// Something changed that concerns all its tasks.
    ToWake,
    /// To find the tickets that should be in the list of a poll and are not.
    ForMissing,
    /// To find the tasks that commands in comments are for.
    ForCommands,
}

/// An event of a task, or the passing of time, to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub task: TaskRef,
    pub input: Option<Input>,
    pub purpose: RecordFor,
}

/// What follows once it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFor {
    Event,
    /// A command. A ticket without a task has no commands.
    Command,
    /// What came of an action. When its claim is over, the action is at least given back.
    Settling,
    /// The time that passed with the task's queries.
    Queries {
        has_failed: bool,
    },
    /// A claim; the generation before it.
    Claim {
        before: Generation,
    },
    RunEnded,
}

impl Record {
    /// Whether it is dropped where the task is unknown.
    pub fn needs_task(&self) -> bool {
        self.input.is_none() || self.purpose == RecordFor::Command
    }
}

/// What came of recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub applied: Applied,
    /// Whether the task is known.
    pub is_known: bool,
    pub generation: Generation,
    pub stage: Option<Stage>,
    /// When the task is to be looked at.
    pub wake: Option<Timestamp>,
    pub project_wake: Option<Timestamp>,
    /// A run to start.
    pub run: Option<RunRequest>,
}

impl Recorded {
    /// The task is unknown: nothing was written.
    pub fn unknown() -> Recorded {
        Recorded {
            applied: Applied::Written,
            is_known: false,
            generation: Generation(0),
            stage: None,
            wake: None,
            project_wake: None,
            run: None,
        }
    }

    /// What follows from a turn, given whether it could be written.
    pub fn new(turn: &Turn, applied: Applied) -> Recorded {
        let Some(change) = turn.task.as_ref().filter(|_| applied == Applied::Written) else {
            return Recorded { applied, is_known: true, ..Recorded::unknown() };
        };
        Recorded {
            applied,
            is_known: true,
            generation: change.facts.generation,
            stage: Some(change.stage.clone()),
            wake: change.wake,
            project_wake: turn.project.wake,
            run: change.run.clone(),
        }
    }
}
