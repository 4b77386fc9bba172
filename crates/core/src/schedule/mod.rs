//! What the daemon does next: what to poll, query, record, perform, stop and wait for.
//!
//! The daemon and the simulator execute the same [`Job`]s and decide nothing themselves. An executor calls
//! [`Schedule::plan_round`], takes jobs with [`Schedule::next_job`] until there is none, reports what came of each with the
//! methods of `report`, and then waits for [`Schedule::wait`] or for a call or a run to end. A job that failed because the
//! database is busy is put back with [`Schedule::put_back`]: nothing overtakes it.

mod job;
mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

pub use self::job::{Job, Reading, Record, RecordFor, Recorded};
pub use self::report::{EndCheck, PollNotice, TrackedTask};
use crate::dispatch::{self, Candidate, ProjectLoad};
use crate::fact::{CommandSource, ProjectEvent, TaskEvent, UserCommand};
use crate::id::{Generation, ProjectId, TaskKey};
use crate::observed::{Failure, FailureKind};
use crate::perform::PolledCommand;
use crate::task::Query;
use crate::time::Timestamp;
use crate::turn::{Input, Left, OutboxEntry, ProjectInput};

/// A task: its project and its key.
pub type TaskRef = (ProjectId, TaskKey);

/// The longest wait: another process may have written meanwhile.
const TICK: Duration = Duration::from_secs(1);

/// The shortest wait: a job that is due and cannot start must not keep the processor busy.
const SHORTEST_WAIT: Duration = Duration::from_millis(5);

/// How many calls are under way at once.
const MAX_CALLS: usize = 16;

/// How far back comments are read at a start.
const COMMANDS_SINCE: Duration = Duration::from_secs(7 * 86_400);

/// How many commands on pull requests wait until a task knows its pull request; the oldest are dropped.
const MOST_WAITING: usize = 100;

/// How long agents may continue when the daemon is asked to stop.
pub const DRAIN: Duration = Duration::from_secs(15);

/// How long a tracker may fail to answer before a daemon that ends by itself gives up.
const SILENCE: Duration = Duration::from_secs(120);

/// How many polls without news end a daemon that ends by itself.
const QUIET_POLLS: u32 = 2;

/// Two clocks: the time of day, which may jump, and the time since the start, which does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub now: Timestamp,
    pub uptime: Duration,
}

/// When the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunUntil {
    Stopped,
    /// Nothing is left to do.
    Quiet,
    /// This task ended or is held. No other task is started.
    Rest(TaskKey),
}

/// What does not change while a daemon runs.
#[derive(Clone, Debug)]
pub struct ScheduleConfig {
    pub until: RunUntil,
    pub max_concurrent: usize,
    /// How often the lease is renewed.
    pub renew_every: Duration,
    /// How long to wait before a forge that could not be reached is tried again.
    pub reconnect_after: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopState {
    Running,
    /// Agents may finish; since when, by the uptime.
    Draining(Duration),
    /// Agents are asked to stop.
    Now,
}

/// A project whose tracker and forge have answered.
#[derive(Clone, Debug)]
struct OpenedProject {
    poll_interval: Duration,
    /// From when comments are read.
    comments_since: Timestamp,
    /// The tickets of the last list; none before the first.
    listed: Option<BTreeSet<TaskKey>>,
    /// When the last poll began, by the uptime.
    polled_at: Option<Duration>,
    is_polling: bool,
    failing_since: Option<Duration>,
    /// Commands in comments whose task is not known yet, the oldest first.
    commands: Vec<PolledCommand>,
    /// When time alone changes something.
    wake: Option<Timestamp>,
}

/// A command given at this machine, for a task or for every project.
#[derive(Clone, Debug)]
struct WaitingCommand {
    /// What the executor knows it by.
    id: String,
    command: UserCommand,
    task: Option<TaskRef>,
    /// The projects that were told.
    told: BTreeSet<ProjectId>,
}

#[derive(Clone, Debug)]
pub struct Schedule {
    config: ScheduleConfig,
    jobs: VecDeque<Job>,
    /// Whether the first job was put back.
    is_blocked: bool,
    projects: BTreeMap<ProjectId, OpenedProject>,
    /// Projects to connect to, by name, and when.
    unconnected: BTreeMap<String, Timestamp>,
    /// Projects whose forge is being asked.
    connecting: BTreeSet<String>,
    /// When each task is to be looked at.
    wakes: BTreeMap<TaskRef, Timestamp>,
    /// Tasks whose queries are under way.
    querying: BTreeSet<TaskRef>,
    /// The runs of this daemon.
    runs: BTreeMap<TaskRef, Generation>,
    /// Tasks that ran here and have not ended: another instance may end them.
    ran: BTreeSet<TaskRef>,
    /// Actions of projects that are not open yet.
    parked: Vec<OutboxEntry>,
    /// What dead instances left, until its project is open.
    left: Left,
    commands: Vec<WaitingCommand>,
    /// How many calls are under way.
    calls: usize,
    renewed_at: Duration,
    /// Whether the queue may have changed since the last dispatch.
    is_queue_stale: bool,
    store_version: u64,
    stopping: StopState,
    /// How many polls in a row brought nothing new.
    quiet_polls: u32,
    /// Whether the one task was read since the start.
    is_rest_read: bool,
}

impl Schedule {
    /// A daemon that has just started, with the names of its projects.
    pub fn new(config: ScheduleConfig, projects: impl IntoIterator<Item = String>, clock: Clock) -> Schedule {
        Schedule {
            config,
            jobs: VecDeque::new(),
            is_blocked: false,
            projects: BTreeMap::new(),
            unconnected: projects.into_iter().map(|name| (name, clock.now)).collect(),
            connecting: BTreeSet::new(),
            wakes: BTreeMap::new(),
            querying: BTreeSet::new(),
            runs: BTreeMap::new(),
            ran: BTreeSet::new(),
            parked: Vec::new(),
            left: Left::default(),
            commands: Vec::new(),
            calls: 0,
            renewed_at: clock.uptime,
            is_queue_stale: true,
            store_version: 0,
            stopping: StopState::Running,
            quiet_polls: 0,
            is_rest_read: false,
        }
    }

    /// Adds what is due to the jobs. What could not be done in the last round comes first, alone.
    pub fn plan_round(&mut self, clock: Clock) {
        if std::mem::take(&mut self.is_blocked) {
            return;
        }
        self.plan_connect(clock);
        if clock.uptime.saturating_sub(self.renewed_at) >= self.config.renew_every {
            self.renewed_at = clock.uptime;
            self.jobs.push_back(Job::RenewLease);
        }
        let takeover = self.takeover_jobs();
        self.jobs.extend(takeover);
        self.plan_commands();
        self.plan_stop(clock);
        self.plan_polls(clock);
        self.plan_wakes(clock.now);
        if self.stopping == StopState::Running && std::mem::take(&mut self.is_queue_stale) {
            let tasks: BTreeSet<TaskRef> = self.runs.keys().chain(&self.ran).cloned().collect();
            self.jobs.extend(tasks.into_iter().map(|task| Job::CheckTask { task }));
            self.jobs.push_back(Job::Dispatch { is_budget_checked: false });
        }
        let planned = self.jobs.iter().filter(|job| job.is_call()).count();
        let room = MAX_CALLS.saturating_sub(self.calls + planned);
        if room > 0 && !self.projects.is_empty() && self.stopping != StopState::Now {
            self.jobs.push_back(Job::TakeActions { room });
        }
    }

    /// The next job of this round.
    pub fn next_job(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.calls += usize::from(job.is_call());
        Some(job)
    }

    /// A job that could not be done because the database is busy: it is the next one again.
    pub fn put_back(&mut self, job: Job) {
        self.calls = self.calls.saturating_sub(usize::from(job.is_call()));
        self.jobs.push_front(job);
        self.is_blocked = true;
    }

    /// How long to wait for messages, where `next_action` is the time of the next action in the outbox. Another process may
    /// write meanwhile, so not too long.
    pub fn wait(&self, clock: Clock, next_action: Option<Timestamp>) -> Duration {
        self.next_due(clock, next_action).min(TICK)
    }

    /// How long nothing is due.
    pub fn next_due(&self, clock: Clock, next_action: Option<Timestamp>) -> Duration {
        let is_running = self.stopping == StopState::Running;
        if !self.jobs.is_empty() || (self.is_queue_stale && is_running) {
            return SHORTEST_WAIT;
        }
        let next_action = next_action.filter(|_| self.calls < MAX_CALLS && self.stopping != StopState::Now);
        let project_wakes = self.projects.values().filter_map(|project| project.wake);
        let times = self.wakes.values().copied().chain(project_wakes).chain(next_action);
        let timers = times.map(|at| at.since(clock.now));
        let polls = self.projects.values().filter(|project| is_running && !project.is_polling);
        let polls = polls.map(|project| project.next_poll().saturating_sub(clock.uptime));
        let renewal = (self.renewed_at + self.config.renew_every).saturating_sub(clock.uptime);
        timers.chain(polls).fold(renewal, Duration::min).max(SHORTEST_WAIT)
    }

    /// The task to claim now, if any.
    pub fn choose(
        &self,
        loads: &[ProjectLoad<'_>],
        candidates: &[Candidate],
        now: Timestamp,
    ) -> Option<TaskRef> {
        let may_start = |candidate: &&Candidate| match &self.config.until {
            RunUntil::Stopped | RunUntil::Quiet => true,
            RunUntil::Rest(task) => candidate.root == *task,
        };
        let candidates: Vec<Candidate> = candidates.iter().filter(may_start).cloned().collect();
        let next = dispatch::next(loads, &candidates, self.config.max_concurrent, now)?;
        Some((next.project.clone(), next.task.clone()))
    }

    /// Asks the daemon to stop: at once, or when its agents have finished. Returns how many agents may finish.
    pub fn stop(&mut self, is_urgent: bool, clock: Clock) -> usize {
        let is_first = self.stopping == StopState::Running && !is_urgent;
        // Asked twice is asked urgently.
        self.stopping = if is_first { StopState::Draining(clock.uptime) } else { StopState::Now };
        if is_first { self.runs.len() } else { 0 }
    }

    /// Whether it was asked to stop and nothing is under way. What the database cannot take now, the next start takes over.
    pub fn has_stopped(&self, is_store_busy: bool) -> bool {
        let is_recorded = is_store_busy || (self.runs.is_empty() && self.jobs.is_empty());
        self.stopping != StopState::Running && self.calls == 0 && is_recorded
    }

    /// Whether every project's forge has answered.
    fn are_all_open(&self) -> bool {
        self.unconnected.is_empty() && self.connecting.is_empty()
    }

    fn plan_connect(&mut self, clock: Clock) {
        let due = self.unconnected.iter().find(|(_, at)| **at <= clock.now).map(|(name, _)| name.clone());
        if let Some(name) = due {
            self.unconnected.remove(&name);
            self.connecting.insert(name.clone());
            self.jobs.push_back(Job::Connect { name });
        }
    }

    /// Records what dead instances left in the projects that are open: their runs are over, and their actions may have
    /// happened.
    fn takeover_jobs(&mut self) -> Vec<Job> {
        let Left { claims, intents } = &mut self.left;
        let is_open = |project: &ProjectId| self.projects.contains_key(project);
        let claims =
            claims.extract_if(.., |(project, ..)| is_open(project)).map(|(project, task, generation)| {
                let input = Some(Input { event: TaskEvent::Abandoned { generation }, settles: None });
                Job::Record(Record { task: (project, task), input, purpose: RecordFor::Event })
            });
        let intents = intents.extract_if(.., |(project, ..)| is_open(project)).map(|(project, task, key)| {
            let failure = Failure::new(FailureKind::Interrupted, "Pilot stopped meanwhile");
            let settles = Some(key.clone());
            match task {
                Some(task) => {
                    let input = Some(Input { event: TaskEvent::Failed { key, failure }, settles });
                    Job::Record(Record { task: (project, task), input, purpose: RecordFor::Event })
                }
                None => {
                    let input = Some(ProjectInput { event: ProjectEvent::Failed { key, failure }, settles });
                    Job::RecordProject { project, input }
                }
            }
        });
        claims.chain(intents).collect()
    }

    /// A command for a task waits until its project is open, one for every project until all are.
    fn plan_commands(&mut self) {
        let are_all_open = self.are_all_open();
        for mut waiting in std::mem::take(&mut self.commands) {
            let is_for = |project: &&ProjectId| waiting.task.as_ref().is_none_or(|(of, _)| of == *project);
            let projects: Vec<ProjectId> = self.projects.keys().filter(is_for).cloned().collect();
            for project in &projects {
                if waiting.told.insert(project.clone()) {
                    self.jobs.extend(command_jobs(project, &waiting));
                }
            }
            let is_told = !projects.is_empty();
            match waiting.task {
                Some(_) if is_told => self.jobs.push_back(Job::CommandDone { id: waiting.id }),
                Some(task) if are_all_open => {
                    self.jobs.push_back(Job::CommandRefused { id: waiting.id, task });
                }
                None if are_all_open => self.jobs.push_back(Job::CommandDone { id: waiting.id }),
                Some(_) | None => self.commands.push(waiting),
            }
        }
    }

    /// Stops the agents when their time is over.
    fn plan_stop(&mut self, clock: Clock) {
        if let StopState::Draining(since) = self.stopping
            && clock.uptime.saturating_sub(since) >= DRAIN
        {
            self.stopping = StopState::Now;
        }
        if self.stopping == StopState::Now {
            let runs = self.runs.iter();
            let stops =
                runs.map(|(task, generation)| Job::StopRun { task: task.clone(), generation: *generation });
            self.jobs.extend(stops);
        }
    }

    fn plan_polls(&mut self, clock: Clock) {
        if self.stopping != StopState::Running {
            return;
        }
        for (id, project) in &mut self.projects {
            if !project.is_polling && project.next_poll() <= clock.uptime {
                project.is_polling = true;
                project.polled_at = Some(clock.uptime);
                self.jobs.push_back(Job::Poll { project: id.clone(), since: project.comments_since });
            }
        }
    }

    fn plan_wakes(&mut self, now: Timestamp) {
        for (id, project) in &mut self.projects {
            if project.wake.take_if(|at| *at <= now).is_some() {
                self.jobs.push_back(Job::RecordProject { project: id.clone(), input: None });
            }
        }
        let due: Vec<TaskRef> =
            self.wakes.iter().filter(|(_, at)| **at <= now).map(|(task, _)| task.clone()).collect();
        for task in due {
            self.wakes.remove(&task);
            self.jobs.push_back(Job::LookAt { task });
        }
    }

    fn record(&mut self, task: TaskRef, event: TaskEvent) {
        self.push_record(task, Some(Input { event, settles: None }), RecordFor::Event);
    }

    fn push_record(&mut self, task: TaskRef, input: Option<Input>, purpose: RecordFor) {
        self.jobs.push_back(Job::Record(Record { task, input, purpose }));
    }

    /// Runs the queries of a task, unless others of it are under way.
    fn push_queries(&mut self, task: TaskRef, queries: Vec<Query>) {
        if self.querying.insert(task.clone()) {
            self.jobs.push_back(Job::RunQueries { task, queries });
        }
    }
}

impl OpenedProject {
    /// When the next poll is due, by the uptime.
    fn next_poll(&self) -> Duration {
        self.polled_at.map_or(Duration::ZERO, |at| at + self.poll_interval)
    }
}

/// What a command means for one project.
fn command_jobs(project: &ProjectId, waiting: &WaitingCommand) -> Vec<Job> {
    let by = || "the operator".to_owned();
    let event = match (&waiting.task, waiting.command) {
        (Some(task), command) => {
            let event = TaskEvent::CommandReceived { command, by: CommandSource::Operator };
            return vec![Job::Record(Record {
                task: task.clone(),
                input: Some(Input { event, settles: None }),
                purpose: RecordFor::Command,
            })];
        }
        (None, UserCommand::Pause) => ProjectEvent::Paused { by: by() },
        (None, UserCommand::Resume) => ProjectEvent::Resumed { by: by() },
        (None, UserCommand::Cancel | UserCommand::Retry | UserCommand::Why) => return Vec::new(),
    };
    let input = Some(ProjectInput { event, settles: None });
    vec![
        Job::RecordProject { project: project.clone(), input },
        Job::ReadTasks { project: project.clone(), reading: Reading::ToWake },
    ]
}
