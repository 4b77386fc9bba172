//! What an executor reports, and the jobs that follow from it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{
    COMMANDS_SINCE, Clock, Job, MOST_WAITING, OpenedProject, QUIET_POLLS, Reading, Record, RecordFor,
    Recorded, RunUntil, SILENCE, Schedule, StopState, TICK, TaskRef, WaitingCommand,
};
use crate::fact::{Ending, ProjectEvent, RunEnding, TaskEvent, TaskFacts, UserCommand};
use crate::id::{Branch, Generation, HomeId, InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use crate::intake::missing;
use crate::observed::{Failure, FailureKind};
use crate::perform::{Polled, PolledCommand, Report};
use crate::port::CommentPlace;
use crate::task::{Query, Stage};
use crate::time::Timestamp;
use crate::turn::{Applied, Input, Left, OutboxEntry, ProjectInput};

/// A task as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct TrackedTask<'t> {
    pub facts: &'t TaskFacts,
    pub stage: &'t Stage,
}

/// What changed about a tracker's answers to polls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollNotice {
    StoppedAnswering(String),
    AnswersAgain,
    /// It was silent for too long for a daemon that ends by itself.
    GiveUp(String),
}

/// What is left to check before a daemon ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCheck {
    /// Nothing besides the outbox.
    Outbox,
    /// Whether this task ended or is held.
    Rests(TaskKey),
}

impl Schedule {
    /// A call ended that nothing else is reported of.
    pub fn call_ended(&mut self) {
        self.calls = self.calls.saturating_sub(1);
        self.is_queue_stale = true;
    }

    /// A forge could not be reached, or refused.
    pub fn not_opened(&mut self, name: &str, clock: Clock) {
        self.call_ended();
        self.connecting.remove(name);
        self.unconnected.insert(name.to_owned(), clock.now.after(self.config.reconnect_after));
    }

    /// A project's forge has answered.
    pub fn opened(&mut self, name: &str, project: ProjectId, poll_interval: Duration, clock: Clock) {
        self.call_ended();
        self.connecting.remove(name);
        self.open_project(project, poll_interval, clock);
    }

    /// A project can be worked on: what earlier instances left in it continues.
    pub fn open_project(&mut self, project: ProjectId, poll_interval: Duration, clock: Clock) {
        let opened = OpenedProject {
            poll_interval,
            comments_since: clock.now.before(COMMANDS_SINCE).whole_second(),
            listed: None,
            polled_at: None,
            is_polling: false,
            failing_since: None,
            commands: Vec::new(),
            wake: None,
        };
        self.projects.insert(project.clone(), opened);
        self.jobs.push_back(Job::BeginInstance);
        let parked = std::mem::take(&mut self.parked);
        self.actions_taken(parked);
        self.jobs.push_back(Job::ReadTasks { project: project.clone(), reading: Reading::AtOpening });
        if let RunUntil::Rest(task) = self.config.until.clone() {
            self.push_queries((project.clone(), task), vec![Query::Ticket]);
        }
        self.jobs.push_back(Job::RecordProject { project, input: None });
    }

    /// How often a project is polled from now on.
    pub fn set_poll_interval(&mut self, project: &ProjectId, interval: Duration) {
        if let Some(opened) = self.projects.get_mut(project) {
            opened.poll_interval = interval;
        }
    }

    /// What dead instances left. What belongs to a project that is not open yet waits for it.
    pub fn take_over(&mut self, left: Left) {
        self.left.add(left);
        for job in self.takeover_jobs().into_iter().rev() {
            self.jobs.push_front(job);
        }
    }

    /// A command given at this machine. The same command again is none.
    pub fn receive_command(&mut self, id: String, command: UserCommand, task: Option<TaskRef>) {
        if self.commands.iter().all(|waiting| waiting.id != id) {
            self.commands.push(WaitingCommand { id, command, task, told: BTreeSet::new() });
        }
    }

    /// A hint that a ticket changed: it is read.
    pub fn hint(&mut self, task: TaskRef) {
        if self.projects.contains_key(&task.0) {
            self.push_queries(task, vec![Query::Ticket]);
        }
    }

    /// The version of the store: another process may have written.
    pub fn store_read(&mut self, version: u64) {
        if version != self.store_version {
            self.store_version = version;
            self.is_queue_stale = true;
            self.quiet_polls = 0;
        }
    }

    /// What a poll found.
    pub fn polled(&mut self, project: &ProjectId, polled: Polled, clock: Clock) -> Option<PollNotice> {
        self.call_ended();
        let Polled { tickets, commands, since } = polled;
        let failure = tickets.as_ref().err().or(commands.as_ref().err()).map(ToString::to_string);
        let notice = self.note_poll(project, failure.clone(), since, clock);
        let is_listed = tickets.is_ok();
        if let Ok(tickets) = tickets {
            if let Some(tickets) = tickets {
                if let Some(opened) = self.projects.get_mut(project) {
                    opened.listed = Some(tickets.iter().map(|ticket| ticket.key.clone()).collect());
                }
                for ticket in tickets {
                    self.record((project.clone(), ticket.key.clone()), TaskEvent::TicketRead { ticket });
                }
            }
            // Also when the list is the same: what was read of a ticket that is not in it may have been stale.
            self.jobs.push_back(Job::ReadTasks { project: project.clone(), reading: Reading::ForMissing });
        }
        let commands = commands.unwrap_or_default();
        if let Some(opened) = self.projects.get_mut(project).filter(|_| !commands.is_empty()) {
            opened.commands.extend(commands);
            if !is_listed {
                let (project, reading) = (project.clone(), Reading::ForCommands);
                self.jobs.push_back(Job::ReadTasks { project, reading });
            }
        }
        if self.config.until == RunUntil::Quiet {
            match failure {
                Some(_) => self.quiet_polls = 0,
                None => self.jobs.push_back(Job::CountActive),
            }
        }
        notice
    }

    fn note_poll(
        &mut self,
        project: &ProjectId,
        failure: Option<String>,
        since: Timestamp,
        clock: Clock,
    ) -> Option<PollNotice> {
        let opened = self.projects.get_mut(project)?;
        opened.is_polling = false;
        opened.comments_since = since;
        match (failure, opened.failing_since) {
            (Some(why), None) => {
                opened.failing_since = Some(clock.uptime);
                Some(PollNotice::StoppedAnswering(why))
            }
            (Some(why), Some(since)) => {
                let is_over = clock.uptime.saturating_sub(since) > SILENCE;
                (is_over && self.config.until == RunUntil::Quiet).then_some(PollNotice::GiveUp(why))
            }
            (None, Some(_)) => {
                opened.failing_since = None;
                Some(PollNotice::AnswersAgain)
            }
            (None, None) => None,
        }
    }

    /// Whether any task is active: a poll that brought nothing new while none is counts towards the end.
    pub fn active_counted(&mut self, is_any_active: bool, store_version: u64) {
        let has_changed = store_version != self.store_version;
        let is_busy = has_changed || is_any_active || !self.runs.is_empty() || !self.querying.is_empty();
        self.quiet_polls = if is_busy { 0 } else { self.quiet_polls + 1 };
    }

    /// The tasks of a project.
    pub fn tasks_read(&mut self, project: &ProjectId, reading: Reading, tasks: &[TrackedTask<'_>]) {
        let at = |task: &TrackedTask<'_>| (project.clone(), task.facts.key.clone());
        match reading {
            Reading::AtOpening => {
                let branches = tasks.iter().filter_map(merged_branch).collect();
                self.forget_branches(project, branches);
                tasks.iter().for_each(|task| self.push_record(at(task), None, RecordFor::Event));
            }
            Reading::ToWake => {
                let open = tasks.iter().filter(|task| !matches!(task.stage, Stage::Ended { .. }));
                open.for_each(|task| self.push_record(at(task), None, RecordFor::Event));
            }
            Reading::ForCommands => self.deliver_commands(project, tasks),
            Reading::ForMissing => {
                self.deliver_commands(project, tasks);
                let Some(listed) = self.projects.get(project).and_then(|opened| opened.listed.clone()) else {
                    return;
                };
                for key in missing(&listed, tasks.iter().map(|task| (&task.facts.key, task.stage))) {
                    self.push_queries((project.clone(), key), vec![Query::Ticket]);
                }
            }
        }
    }

    /// Records the commands in comments, those on a pull request for the task it belongs to. One that no task knows yet waits:
    /// the reply that it was opened may have been lost.
    fn deliver_commands(&mut self, project: &ProjectId, tasks: &[TrackedTask<'_>]) {
        let Some(opened) = self.projects.get_mut(project) else { return };
        let (mut known, mut waiting) = (Vec::new(), Vec::new());
        for polled in std::mem::take(&mut opened.commands) {
            let has_pr = |pr: PrNumber| {
                move |task: &&TrackedTask<'_>| {
                    task.facts.life.pr.as_ref().is_some_and(|known| known.pr.number == pr)
                }
            };
            let task = match &polled.on {
                CommentPlace::Ticket(key) => Some(key.clone()),
                CommentPlace::Pull(pr) => tasks.iter().find(has_pr(*pr)).map(|task| task.facts.key.clone()),
            };
            match task {
                Some(task) => known.push((task, polled)),
                None => waiting.push(polled),
            }
        }
        waiting.drain(..waiting.len().saturating_sub(MOST_WAITING));
        opened.commands = waiting;
        for (task, PolledCommand { command, by, .. }) in known {
            let input = Input { event: TaskEvent::CommandReceived { command, by }, settles: None };
            self.push_record((project.clone(), task), Some(input), RecordFor::Command);
        }
    }

    fn forget_branches(&mut self, project: &ProjectId, branches: Vec<(Branch, Sha)>) {
        if !branches.is_empty() {
            self.jobs.push_back(Job::ForgetBranches { project: project.clone(), branches });
        }
    }

    /// Which queries a task needs now. Without any, only time has passed for it.
    pub fn looked(&mut self, task: TaskRef, queries: Vec<Query>) {
        if queries.is_empty() {
            self.push_record(task, None, RecordFor::Event);
        } else {
            self.push_queries(task, queries);
        }
    }

    /// A query was answered.
    pub fn query_answered(&mut self, task: &TaskRef, query: &Query, event: TaskEvent) {
        self.is_rest_read |= *query == Query::Ticket && self.config.until == RunUntil::Rest(task.1.clone());
        self.record(task.clone(), event);
    }

    /// All queries of a task ended; where one failed, the next come after a while.
    pub fn queries_ended(&mut self, task: TaskRef, has_failed: bool) {
        self.call_ended();
        self.push_record(task, None, RecordFor::Queries { has_failed });
    }

    /// A task that runs or ran here, as another instance may have left it.
    pub fn task_checked(&mut self, task: &TaskRef, checked: &TrackedTask<'_>) {
        if let Stage::Stopping { generation, .. } = checked.stage {
            self.stop_run(task, *generation);
        }
        if self.ran.contains(task)
            && let Some(branch) = merged_branch(checked)
        {
            self.ran.remove(task);
            self.forget_branches(&task.0, vec![branch]);
        }
    }

    fn stop_run(&mut self, task: &TaskRef, generation: Generation) {
        if self.runs.get(task) == Some(&generation) {
            self.jobs.push_back(Job::StopRun { task: task.clone(), generation });
        }
    }

    /// These tasks fit into the budget again. Returns whether there are any: then the queue is read again first.
    pub fn budget_freed(&mut self, tasks: Vec<TaskRef>) -> bool {
        let has_any = !tasks.is_empty();
        for task in tasks {
            self.record(task, TaskEvent::BudgetFreed);
        }
        if has_any {
            self.jobs.push_back(Job::Dispatch { is_budget_checked: true });
        }
        has_any
    }

    /// A task was chosen from the queue; `before` is its generation.
    pub fn claim(&mut self, task: TaskRef, before: Generation, home: HomeId, instance: InstanceId) {
        let event = TaskEvent::Claimed { generation: before.next(), home, instance };
        let input = Input { event, settles: None };
        self.jobs.push_front(Job::Record(Record {
            task,
            input: Some(input),
            purpose: RecordFor::Claim { before },
        }));
    }

    /// Actions that were taken out of the outbox. Those of a project that is not open yet wait for it.
    pub fn actions_taken(&mut self, entries: Vec<OutboxEntry>) {
        for entry in entries {
            if self.projects.contains_key(&entry.project) {
                self.jobs.push_back(Job::Perform { entry: Box::new(entry) });
            } else {
                self.parked.push(entry);
            }
        }
    }

    /// What came of an action.
    pub fn performed(&mut self, entry: &OutboxEntry, report: Report) {
        self.call_ended();
        let (project, key) = (&entry.project, entry.key.clone());
        let settles = Some(key.clone());
        match (report, &entry.task) {
            (Report::Task(event), Some(task)) => self.settle(project, task, Input { event, settles }),
            (Report::Failed(failure), Some(task)) => {
                self.settle(project, task, Input { event: TaskEvent::Failed { key, failure }, settles });
            }
            (Report::Message { to, received, sent }, Some(task)) => {
                // Received before sent: a crash between the two sends it twice, not never.
                self.record((project.clone(), to), *received);
                self.settle(project, task, Input { event: *sent, settles });
            }
            (Report::Project(event), _) => {
                let input = Some(ProjectInput { event, settles });
                self.jobs.push_back(Job::RecordProject { project: project.clone(), input });
            }
            (Report::Failed(failure), None) => {
                let input = Some(ProjectInput { event: ProjectEvent::Failed { key, failure }, settles });
                self.jobs.push_back(Job::RecordProject { project: project.clone(), input });
            }
            (Report::Task(_) | Report::Message { .. }, None) => {}
        }
        if entry.task.is_some() {
            // What the project itself wants may depend on what became of its task.
            self.jobs.push_back(Job::RecordProject { project: project.clone(), input: None });
        }
    }

    fn settle(&mut self, project: &ProjectId, task: &TaskKey, input: Input) {
        self.push_record((project.clone(), task.clone()), Some(input), RecordFor::Settling);
    }

    /// The run that was to start has started.
    pub fn run_started(&mut self, task: TaskRef, generation: Generation) {
        self.runs.insert(task, generation);
    }

    pub fn run_ended(&mut self, task: TaskRef, generation: Generation, ending: RunEnding) {
        self.is_queue_stale = true;
        let input = Input { event: TaskEvent::RunEnded { generation, ending }, settles: None };
        self.push_record(task, Some(input), RecordFor::RunEnded);
    }

    /// What came of recording: when to look again, and what has to stop or to follow.
    pub fn recorded(&mut self, record: &Record, recorded: &Recorded, clock: Clock) {
        let Record { task, input, purpose } = record;
        if recorded.applied == Applied::Written && recorded.is_known {
            self.keep_wakes(task, recorded);
        }
        match purpose {
            RecordFor::Event | RecordFor::Command => {}
            RecordFor::Settling => {
                let key = input.as_ref().and_then(|input| input.settles.clone());
                if let Some(key) = key.filter(|_| recorded.applied == Applied::Fenced) {
                    let failure = Failure::new(FailureKind::Interrupted, "the claim is over");
                    let event = TaskEvent::Failed { key: key.clone(), failure };
                    let input = Some(Input { event, settles: Some(key) });
                    let purpose = RecordFor::Event;
                    self.jobs.push_front(Job::Record(Record { task: task.clone(), input, purpose }));
                }
            }
            RecordFor::Queries { has_failed } => {
                self.querying.remove(task);
                let interval = self.projects.get(&task.0).map(|opened| opened.poll_interval);
                if let (true, Some(wake), Some(interval)) = (has_failed, self.wakes.get_mut(task), interval) {
                    *wake = clock.now.after(interval).max(*wake);
                }
            }
            RecordFor::Claim { before } => {
                if recorded.generation > *before {
                    self.jobs.push_front(Job::Dispatch { is_budget_checked: true });
                }
            }
            RecordFor::RunEnded => {
                self.runs.remove(task);
                self.ran.insert(task.clone());
            }
        }
    }

    fn keep_wakes(&mut self, task: &TaskRef, recorded: &Recorded) {
        match recorded.wake {
            Some(wake) => self.wakes.insert(task.clone(), wake),
            None => self.wakes.remove(task),
        };
        if let (Some(wake), Some(opened)) = (recorded.project_wake, self.projects.get_mut(&task.0)) {
            opened.wake = Some(wake);
        }
        match recorded.stage {
            Some(Stage::Stopping { generation, .. }) => self.stop_run(task, generation),
            Some(Stage::Queued { .. }) => self.is_queue_stale = true,
            Some(_) | None => {}
        }
    }

    /// When time alone changes something about a project.
    pub fn project_recorded(&mut self, project: &ProjectId, wake: Option<Timestamp>) {
        if let Some(opened) = self.projects.get_mut(project) {
            opened.wake = wake;
        }
    }

    /// Whether a daemon that ends by itself may end, and what to check for it.
    pub fn end_check(&self) -> Option<EndCheck> {
        let is_busy = self.calls > 0 || !self.runs.is_empty() || !self.jobs.is_empty();
        match &self.config.until {
            _ if is_busy || self.stopping != StopState::Running => None,
            RunUntil::Stopped => None,
            RunUntil::Quiet => (self.quiet_polls >= QUIET_POLLS).then_some(EndCheck::Outbox),
            RunUntil::Rest(task) => self.is_rest_read.then(|| EndCheck::Rests(task.clone())),
        }
    }

    /// Whether the outbox keeps a daemon from ending by itself.
    pub fn is_outbox_idle(next_action: Option<Timestamp>, clock: Clock) -> bool {
        next_action.is_none_or(|at| at > clock.now.after(TICK * 30))
    }
}

/// The branch of a merged task, and what was pushed of it.
fn merged_branch(task: &TrackedTask<'_>) -> Option<(Branch, Sha)> {
    let Stage::Ended { ending: Ending::Done(_) } = task.stage else { return None };
    task.facts.life.pushed.as_ref().map(|pushed| (pushed.branch.clone(), pushed.sha.clone()))
}
