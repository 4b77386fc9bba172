//! A Pilot of the simulation: it executes the jobs of the schedule as the daemon does, on a store in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use pilot_core::dispatch::{Candidate, ProjectLoad};
use pilot_core::fact::{RunEnding, TaskEvent};
use pilot_core::id::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::outcome::Class;
use pilot_core::perform::RunInput;
use pilot_core::schedule::{
    Clock, Job, Reading, Record, RecordFor, Recorded, RunUntil, Schedule, ScheduleConfig, TaskRef,
    TrackedTask,
};
use pilot_core::task::RunRequest;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, Left, ProjectInput, Turn, project_turn, turn};
use pilot_core::words;

use super::agents::RunModel;
use super::mutant::Mutant;
use super::request::{Pending, TaskQueries};
use super::setup::Topology;
use super::store::LEASE;
use super::world::{Crashed, Event, START, World};

/// How long after the last fault polls keep their interval; later they are rare, to save time.
const FAST_POLLS: Duration = Duration::from_secs(40 * 60);
const SLOW_POLL: Duration = Duration::from_secs(300);

/// How often a Pilot renews its lease when no other one could take over, to save time.
const RARE_RENEWAL: Duration = Duration::from_secs(3600);

/// One Pilot: what it knows of itself while it lives.
#[derive(Debug)]
pub(super) struct Daemon {
    /// The home whose lock it holds.
    pub(super) home: HomeId,
    /// The owner its claims name: its database.
    pub(super) owner: HomeId,
    pub(super) instance: InstanceId,
    pub(super) store: usize,
    pub(super) is_alive: bool,
    /// How often it was started.
    pub(super) epoch: u64,
    pub(super) frozen_until: Timestamp,
    was_frozen: bool,
    pub(super) schedule: Schedule,
    pub(super) pending: BTreeMap<u64, Pending>,
    pub(super) last_request: u64,
    /// The adapter's cache: the ETag of the last answer to a call.
    pub(super) etags: BTreeMap<(ProjectId, String), u64>,
    /// What was read for a run that is about to start.
    pub(super) run_inputs: BTreeMap<TaskRef, RunInput>,
    pub(super) run_due_at: Option<Timestamp>,
}

impl Daemon {
    pub(super) fn new(number: usize, store: usize) -> Daemon {
        let config = ScheduleConfig {
            until: RunUntil::Stopped,
            max_concurrent: 1,
            renew_every: RARE_RENEWAL,
            reconnect_after: SLOW_POLL,
        };
        Daemon {
            home: HomeId::parse(&format!("home-{number}")).expect("a name"),
            owner: HomeId::parse(&format!("database-{store}")).expect("a name"),
            instance: InstanceId::parse(&format!("pilot-{number}-0")).expect("a name"),
            store,
            is_alive: false,
            epoch: 0,
            frozen_until: Timestamp(0),
            was_frozen: false,
            schedule: Schedule::new(config, [], Clock { now: START, uptime: Duration::ZERO }),
            pending: BTreeMap::new(),
            last_request: 0,
            etags: BTreeMap::new(),
            run_inputs: BTreeMap::new(),
            run_due_at: None,
        }
    }

    /// The same Pilot after a start: what was only in memory is gone.
    fn restart(&mut self, number: usize, schedule: Schedule) {
        let epoch = self.epoch + 1;
        *self = Daemon {
            epoch,
            is_alive: true,
            instance: InstanceId::parse(&format!("pilot-{number}-{epoch}")).expect("a name"),
            frozen_until: self.frozen_until,
            last_request: self.last_request,
            schedule,
            ..Daemon::new(number, self.store)
        };
    }
}

impl World {
    /// Pilot starts, and continues with what its last instance left.
    pub(super) fn start(&mut self, daemon: usize) {
        let clock = self.clock();
        let is_shared = self.setup.topology == Topology::SharedStore;
        let config = ScheduleConfig {
            until: RunUntil::Stopped,
            max_concurrent: self.setup.max_concurrent,
            renew_every: if is_shared { LEASE / 3 } else { RARE_RENEWAL },
            reconnect_after: SLOW_POLL,
        };
        let mut schedule = Schedule::new(config, [], clock);
        for (project, policy) in &self.setup.projects {
            schedule.open_project(project.clone(), policy.poll_interval, clock);
        }
        self.daemons[daemon].restart(daemon, schedule);
        self.trace_line(format_args!("pilot {daemon}: starts"));
        self.run_round_or_crash(daemon);
    }

    pub(super) fn clock(&self) -> Clock {
        Clock { now: self.now, uptime: self.now.since(START) }
    }

    pub(super) fn run_round_or_crash(&mut self, daemon: usize) {
        if let Err(Crashed) = self.run_round(daemon) {
            self.crash(daemon);
        }
    }

    /// Pilot crashes, and every agent it runs ends with it.
    pub(super) fn crash(&mut self, daemon: usize) {
        self.totals.crashes += 1;
        self.trace_line(format_args!("pilot {daemon}: crashes"));
        let now = self.now;
        let crashed = &mut self.daemons[daemon];
        crashed.is_alive = false;
        crashed.frozen_until = now;
        crashed.pending.clear();
        self.runs.retain(|_, run| run.daemon != daemon);
        let wait = Duration::from_secs(self.random.between(1, 240));
        self.later(wait, Event::Start { daemon });
    }

    /// A point where Pilot may crash.
    pub(super) fn may_crash(&mut self) -> Result<(), Crashed> {
        let crashes = !self.are_faults_over && self.random.permille(self.setup.rates.crashes);
        if crashes { Err(Crashed) } else { Ok(()) }
    }

    pub(super) fn freeze(&mut self, daemon: usize) {
        if !self.daemons[daemon].is_alive {
            return;
        }
        let until = self.now.after(Duration::from_secs(self.random.between(70, 900)));
        self.trace_line(format_args!("pilot {daemon}: freezes"));
        let frozen = &mut self.daemons[daemon];
        frozen.frozen_until = until.max(frozen.frozen_until);
        frozen.was_frozen = true;
    }

    /// Whether it is frozen, or has not found out yet that it was.
    pub(super) fn is_frozen(&self, daemon: usize) -> bool {
        let daemon = &self.daemons[daemon];
        daemon.frozen_until > self.now || daemon.was_frozen
    }

    /// A Pilot that was frozen has missed its lease: it ends what it runs and starts again. Returns whether it did.
    pub(super) fn restart_after_freeze(&mut self, daemon: usize) -> bool {
        if !std::mem::take(&mut self.daemons[daemon].was_frozen) || self.is(Mutant::NoFencing) {
            return false;
        }
        self.runs.retain(|_, run| run.daemon != daemon);
        self.start(daemon);
        true
    }

    /// Executes everything that is due, and plans the next round.
    pub(super) fn run_round(&mut self, daemon: usize) -> Result<(), Crashed> {
        let (clock, store) = (self.clock(), self.daemons[daemon].store);
        self.daemons[daemon].run_due_at = None;
        self.slow_polls(daemon);
        let version = self.store_versions[store];
        self.daemons[daemon].schedule.store_read(version);
        self.daemons[daemon].schedule.plan_round(clock);
        self.run_jobs(daemon)?;
        let next_action = self.stores[store].next_due(&self.instance(daemon));
        let wait = self.daemons[daemon].schedule.next_due(clock, next_action);
        self.run_round_at(daemon, self.now.after(wait));
        Ok(())
    }

    /// Long after the last fault polls are rare, to save time.
    fn slow_polls(&mut self, daemon: usize) {
        let without_faults = self.now.since(START.after(self.setup.fault_period));
        if self.are_faults_over && without_faults > FAST_POLLS {
            for project in self.projects() {
                self.daemons[daemon].schedule.set_poll_interval(&project, SLOW_POLL);
            }
        }
    }

    pub(super) fn run_jobs(&mut self, daemon: usize) -> Result<(), Crashed> {
        while let Some(job) = self.daemons[daemon].schedule.next_job() {
            if !self.drops_job(&job) {
                self.execute(daemon, job)?;
            }
        }
        Ok(())
    }

    pub(super) fn run_round_at(&mut self, daemon: usize, at: Timestamp) {
        let waiting = &mut self.daemons[daemon];
        if waiting.run_due_at.is_none_or(|planned| planned > at) {
            waiting.run_due_at = Some(at);
            let epoch = waiting.epoch;
            self.at(at, Event::RunDue { daemon, epoch });
        }
    }

    fn execute(&mut self, daemon: usize, job: Job) -> Result<(), Crashed> {
        let (store, me, now) = (self.daemons[daemon].store, self.instance(daemon), self.now);
        match job {
            Job::RenewLease => {
                self.stores[store].renew_leases(&me, now);
                let left = self.stores[store].take_expired(&me, now);
                self.take_over(daemon, left);
            }
            Job::BeginInstance => {
                let home = self.daemons[daemon].home.clone();
                let left = self.stores[store].begin_instance(&home, &me, now);
                self.take_over(daemon, left);
            }
            Job::Record(record) => self.record(daemon, record)?,
            Job::RecordProject { project, input } => self.record_project(daemon, &project, input.as_ref())?,
            Job::ReadTasks { project, reading } => self.read_tasks(daemon, &project, reading),
            Job::LookAt { task } => {
                let loaded = self.stores[store].load(&task.0, &task.1);
                let decided = turn(&loaded, None, self.policy(&task.0), now);
                let queries = decided.task.map_or_else(Vec::new, |task| task.queries);
                self.daemons[daemon].schedule.looked(task, queries);
            }
            Job::RunQueries { task, queries } => {
                self.run_queries(daemon, TaskQueries { task, rest: queries.into(), has_failed: false })?;
            }
            Job::CheckTask { task } => {
                let loaded = self.stores[store].load(&task.0, &task.1);
                if let Some(stage) = &loaded.stage {
                    let tracked = TrackedTask { facts: &loaded.task, stage };
                    self.daemons[daemon].schedule.task_checked(&task, &tracked);
                }
            }
            Job::Dispatch { is_budget_checked } => self.dispatch(daemon, is_budget_checked),
            Job::Poll { project, since } => self.next_poll_step(daemon, project, since, Vec::new())?,
            Job::TakeActions { room } => {
                let entries = self.stores[store].take_due(&me, now, room);
                self.daemons[daemon].schedule.actions_taken(entries);
            }
            Job::Perform { entry } => self.perform(daemon, *entry)?,
            Job::StopRun { task, generation } => self.stop_run(daemon, &task, generation),
            Job::ForgetBranches { .. } => self.daemons[daemon].schedule.call_ended(),
            Job::Connect { .. } | Job::CountActive | Job::CommandDone { .. } | Job::CommandRefused { .. } => {
            }
        }
        Ok(())
    }

    fn take_over(&mut self, daemon: usize, left: Left) {
        if !self.is(Mutant::NoTakeover) {
            self.daemons[daemon].schedule.take_over(left);
        }
    }

    fn read_tasks(&mut self, daemon: usize, project: &ProjectId, reading: Reading) {
        let rows = self.stores[self.daemons[daemon].store].tasks(project);
        let tasks: Vec<TrackedTask<'_>> =
            rows.iter().map(|(facts, stage, _)| TrackedTask { facts, stage }).collect();
        self.daemons[daemon].schedule.tasks_read(project, reading, &tasks);
    }

    /// Stops a run, if it is this instance's.
    fn stop_run(&mut self, daemon: usize, task: &TaskRef, generation: Generation) {
        let found = self.runs.iter_mut().find(|(_, run)| {
            let request = &run.request;
            run.daemon == daemon
                && run.project == task.0
                && request.task == task.1
                && request.generation == generation
        });
        if let Some((number, run)) = found.filter(|(_, run)| !run.is_stopping) {
            run.is_stopping = true;
            let number = *number;
            self.later(Duration::from_secs(2), Event::RunEnds { run: number });
        }
    }

    /// Claims the next task of the queue, if there is room.
    fn dispatch(&mut self, daemon: usize, is_budget_checked: bool) {
        let store = self.daemons[daemon].store;
        let freed = if is_budget_checked { Vec::new() } else { self.funded(store) };
        if self.daemons[daemon].schedule.budget_freed(freed) {
            return;
        }
        let candidates: Vec<Candidate> =
            self.projects().iter().flat_map(|project| self.stores[store].queued(project)).collect();
        if candidates.is_empty() {
            return;
        }
        let mut loaded: Vec<_> =
            self.projects().iter().map(|project| self.stores[store].load_project(project)).collect();
        if self.is(Mutant::HeldFreesTurn) {
            loaded.iter_mut().for_each(|project| project.facts.held.clear());
        }
        let loads = loaded.iter().map(|project| ProjectLoad {
            project: &project.facts,
            mode: self.policy(&project.facts.id).mode,
        });
        let loads: Vec<ProjectLoad<'_>> = loads.collect();
        let Some(task) = self.daemons[daemon].schedule.choose(&loads, &candidates, self.now) else { return };
        self.trace_line(format_args!("pilot {daemon}: {} {} is dispatched", task.0, task.1));
        let before = self.stores[store].load(&task.0, &task.1).task.generation;
        let claimant = &mut self.daemons[daemon];
        let (home, instance) = (claimant.home.clone(), claimant.instance.clone());
        claimant.schedule.claim(task, before, home, instance);
    }

    /// The tasks whose budget is there again.
    fn funded(&self, store: usize) -> Vec<TaskRef> {
        let mut funded = Vec::new();
        for project in self.projects() {
            let facts = self.stores[store].load_project(&project).facts;
            let due = facts.unfunded.iter().filter(|(_, unfunded)| unfunded.shortage.until <= self.now);
            funded.extend(due.map(|(task, _)| (project.clone(), task.clone())));
        }
        funded
    }

    /// Decides and writes what follows from an event of a task, or from time having passed.
    fn record(&mut self, daemon: usize, record: Record) -> Result<(), Crashed> {
        let record = self.mutate_record(record);
        let event = record.input.as_ref().map(|input| &input.event);
        // A message is recorded before it counts as sent.
        let may_wait = !matches!(event, Some(TaskEvent::MessageReceived { .. }))
            && matches!(record.purpose, RecordFor::Event | RecordFor::RunEnded | RecordFor::Queries { .. });
        let store = self.daemons[daemon].store;
        let (project, task) = &record.task;
        let is_known = self.stores[store].load(project, task).task_version > 0;
        // With another instance on the same database, that one may write between the decision and its writing.
        let is_shared = self.setup.topology == Topology::SharedStore && !self.are_faults_over;
        if is_shared && may_wait && is_known && self.random.percent(20) {
            let loaded = self.stores[store].load(project, task);
            let decided = turn(&loaded, record.input.as_ref(), self.policy(project), self.now);
            let epoch = self.daemons[daemon].epoch;
            let wait = self.latency();
            self.later(wait, Event::Write { daemon, epoch, record, turn: Box::new(decided) });
            return Ok(());
        }
        self.record_now(daemon, &record)
    }

    /// A run of a dead instance, or one that the budget did not admit, that counts as a failure.
    fn mutate_record(&self, record: Record) -> Record {
        let (generation, class, again_at) = match record.input.as_ref().map(|input| &input.event) {
            Some(TaskEvent::Abandoned { generation }) if self.is(Mutant::CrashCounts) => {
                (*generation, Class::Unknown, None)
            }
            Some(TaskEvent::RunEnded { generation, ending: RunEnding::OverBudget { shortage } })
                if self.is(Mutant::RefusalCounts) =>
            {
                (*generation, Class::BudgetExceeded, Some(shortage.until))
            }
            Some(_) | None => return record,
        };
        let ending = RunEnding::Stopped { class, reason: "it is gone".to_owned(), again_at };
        let event = TaskEvent::RunEnded { generation, ending };
        Record { input: Some(Input { event, settles: None }), ..record }
    }

    pub(super) fn record_now(&mut self, daemon: usize, record: &Record) -> Result<(), Crashed> {
        let (project, task) = &record.task;
        let loaded = self.stores[self.daemons[daemon].store].load(project, task);
        if loaded.task_version == 0 && record.needs_task() {
            self.recorded(daemon, record, &Recorded::unknown());
            return Ok(());
        }
        let mutated = self.mutate_input(&loaded, record.input.as_ref());
        let input = mutated.as_ref().or(record.input.as_ref());
        let decided = turn(&loaded, input, self.policy(project), self.now);
        self.write_decided(daemon, record, &decided)
    }

    /// Writes a turn. If another instance wrote since it was decided, it is decided again.
    pub(super) fn write_decided(
        &mut self,
        daemon: usize,
        record: &Record,
        decided: &Turn,
    ) -> Result<(), Crashed> {
        let applied = self.write(daemon, record, decided)?;
        if applied == Applied::Stale {
            return self.record_now(daemon, record);
        }
        let recorded = Recorded::new(decided, applied);
        self.recorded(daemon, record, &recorded);
        if let Some(request) = &recorded.run {
            self.begin_run(daemon, &record.task.0, request);
        }
        if let Some(change) = decided.task.as_ref().filter(|_| applied == Applied::Written) {
            self.mutate_world(daemon, &record.task.0, change);
        }
        Ok(())
    }

    fn recorded(&mut self, daemon: usize, record: &Record, recorded: &Recorded) {
        let clock = self.clock();
        self.daemons[daemon].schedule.recorded(record, recorded, clock);
    }

    fn write(&mut self, daemon: usize, record: &Record, decided: &Turn) -> Result<Applied, Crashed> {
        let (Some(change), true) = (&decided.task, decided.writes()) else { return Ok(Applied::Written) };
        self.may_crash()?;
        let (project, task) = &record.task;
        let (store, now) = (self.daemons[daemon].store, self.now);
        let before = self.stores[store].load(project, task);
        let me = self.mutate_instance(daemon, &before);
        let applied = self.stores[store].apply(decided, &me, now);
        if applied != Applied::Written {
            self.trace_line(format_args!("pilot {daemon}: {project} {task} refused: {applied:?}"));
            return Ok(applied);
        }
        self.store_versions[store] += 1;
        self.last_change = now;
        for entry in &change.log {
            let references = &self.policy(project).references;
            let event = entry.event.as_ref().map_or_else(String::new, |e| words::task_event(e, references));
            let stage = entry.stage.as_ref().map_or("", |stage| stage.as_str());
            self.trace_line(format_args!("pilot {daemon}: {project} {task} {event} -> {stage}"));
        }
        self.judge_turn(daemon, &before, decided, record.input.as_ref());
        self.may_crash()?;
        Ok(Applied::Written)
    }

    /// Decides and writes what follows from an event of a project, or from time having passed.
    pub(super) fn record_project(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        input: Option<&ProjectInput>,
    ) -> Result<(), Crashed> {
        let (store, me, now) = (self.daemons[daemon].store, self.instance(daemon), self.now);
        let loaded = self.stores[store].load_project(project);
        let decided = project_turn(&loaded, input, self.policy(project), now);
        if decided.writes() {
            self.may_crash()?;
            self.stores[store].apply(&decided, &me, now);
            self.store_versions[store] += 1;
            self.last_change = now;
            self.may_crash()?;
        }
        self.daemons[daemon].schedule.project_recorded(project, decided.project.wake);
        Ok(())
    }

    fn begin_run(&mut self, daemon: usize, project: &ProjectId, request: &RunRequest) {
        let input = self.daemons[daemon].run_inputs.remove(&(project.clone(), request.task.clone()));
        let Some(input) = input else {
            self.violated("a run has its input", format!("{} starts without one", request.task));
            return;
        };
        let task = (project.clone(), request.task.clone());
        self.daemons[daemon].schedule.run_started(task, request.generation);
        self.judge_start(daemon, project, request, &input);
        self.totals.runs += 1;
        self.last_run += 1;
        let number = self.last_run;
        let (project, request, base) = (project.clone(), request.clone(), input.base);
        self.runs.insert(number, RunModel { daemon, project, request, base, is_stopping: false });
        let time = self.run_time();
        self.later(time, Event::RunEnds { run: number });
    }

    pub(super) fn end_run(&mut self, number: u64) {
        let Some(run) = self.runs.get(&number) else { return };
        let frozen = self.daemons[run.daemon].frozen_until;
        if frozen > self.now {
            self.at(frozen, Event::RunEnds { run: number });
            return;
        }
        let daemon = run.daemon;
        self.restart_after_freeze(daemon);
        let Some(run) = self.runs.remove(&number) else { return };
        self.judge_stop(&run);
        let ending = self.run_ending(&run);
        self.laws.remember_ending(&run, &ending);
        let (task, generation) = ((run.project, run.request.task), run.request.generation);
        self.daemons[daemon].schedule.run_ended(task, generation, ending);
        self.run_round_or_crash(daemon);
    }

    /// A hint that a ticket changed: it is read.
    pub(super) fn webhook(&mut self, daemon: usize, project: &ProjectId, ticket: &TaskKey) {
        if !self.daemons[daemon].is_alive || self.is_frozen(daemon) {
            return;
        }
        self.daemons[daemon].schedule.hint((project.clone(), ticket.clone()));
        self.run_round_or_crash(daemon);
    }
}
