//! The world: the clock, what is in it, and which event comes next.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pilot_core::id::{InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use pilot_core::observed::{ReviewDecision, Trust};
use pilot_core::policy::Policy;
use pilot_core::schedule::Record;
use pilot_core::time::Timestamp;
use pilot_core::turn::Turn;

use super::Options;
use super::agents::{CommitModel, RunModel};
use super::daemon::Daemon;
use super::fault::{CallCounts, SingleFault};
use super::forge::Forge;
use super::laws::Laws;
use super::mutant::Mutant;
use super::request::{Request, Response};
use super::setup::{Setup, Topology};
use super::store::{MemoryStore, TaskStore};
use super::trace::{Outcome, Totals, Trace, Violation};
use crate::random::Random;

/// 13 November 2025, about noon: when every simulation begins.
pub(super) const START: Timestamp = Timestamp(1_763_035_200_000_000);

/// How long it may take, after the last fault, until every task has come to rest: fix after fix, one at a time.
const RECOVERY: Duration = Duration::from_secs(10 * 3600);

/// No task continues by itself after nothing happened for longer than this.
const REST: Duration = Duration::from_secs(65 * 60);

/// More events than this are a loop without end.
const MOST_EVENTS: u64 = 60_000;

/// A Pilot crashed in the middle of something.
#[derive(Debug)]
pub(super) struct Crashed;

/// Something that happens at a moment.
#[derive(Debug)]
pub(super) enum Event {
    /// A Pilot does what is due.
    RunDue {
        daemon: usize,
        epoch: u64,
    },
    /// A request reaches the other side, also when its sender crashed since.
    Request(Request),
    Reply {
        daemon: usize,
        epoch: u64,
        id: u64,
        response: Response,
    },
    /// A turn that was decided a moment ago is written.
    Write {
        daemon: usize,
        epoch: u64,
        record: Record,
        turn: Box<Turn>,
    },
    RunEnds {
        run: u64,
    },
    /// A person does something.
    Intervention,
    Start {
        daemon: usize,
    },
    Webhook {
        daemon: usize,
        project: ProjectId,
        ticket: TaskKey,
    },
    /// A Pilot is frozen for a while, with everything it runs.
    Freeze {
        daemon: usize,
    },
    /// A Pilot that is not part of the model releases its claim of a task.
    OtherReleases {
        project: ProjectId,
        task: TaskKey,
    },
    /// A user who requested changes approves.
    Approval {
        project: ProjectId,
        pr: PrNumber,
        login: &'static str,
    },
    /// From now on nothing fails.
    FaultsEnd,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) random: Random,
    pub(super) now: Timestamp,
    events: BTreeMap<(Timestamp, u64), Box<Event>>,
    last_event: u64,
    pub(super) setup: Setup,
    pub(super) mutant: Option<Mutant>,
    /// The only fault, where the world is scripted.
    pub(super) single_fault: Option<SingleFault>,
    pub(super) counts: CallCounts,
    pub(super) are_faults_over: bool,
    forges: BTreeMap<ProjectId, Forge>,
    pub(super) daemons: Vec<Daemon>,
    pub(super) stores: Vec<Box<dyn TaskStore>>,
    /// How often each store was written.
    pub(super) store_versions: Vec<u64>,
    pub(super) runs: BTreeMap<u64, RunModel>,
    pub(super) last_run: u64,
    pub(super) commits: BTreeMap<Sha, CommitModel>,
    pub(super) laws: Laws,
    pub(super) trace: Trace,
    pub(super) totals: Totals,
    pub(super) violation: Option<Violation>,
    /// When a Pilot last wrote to a tracker, a forge or a repository.
    pub(super) last_write: Timestamp,
    /// When a Pilot last wrote to its store.
    pub(super) last_change: Timestamp,
}

impl World {
    pub(super) fn new(seed: u64, options: Options, store: &dyn Fn() -> Box<dyn TaskStore>) -> World {
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5deece66d);
        let setup = Setup::new(&mut random, options.mutant);
        World::with_setup(seed, random, setup, options, store)
    }

    /// A world in which nothing goes wrong but one fault at most.
    pub(super) fn scripted(single_fault: Option<SingleFault>, options: Options) -> World {
        let store = || -> Box<dyn TaskStore> { Box::new(MemoryStore::default()) };
        let world = World::with_setup(0, Random::new(1), Setup::scripted(), options, &store);
        World { single_fault, ..world }
    }

    fn with_setup(
        seed: u64,
        random: Random,
        setup: Setup,
        options: Options,
        store: &dyn Fn() -> Box<dyn TaskStore>,
    ) -> World {
        let forges = setup.projects.iter().zip(1..).map(|((project, policy), number)| {
            let first = Sha::parse(&"1".repeat(40)).expect("forty digits");
            let mut forge = Forge::new(first, &policy.references);
            // No two projects have the same commit.
            forge.shas = number * 1_000_000;
            (project.clone(), forge)
        });
        let (daemons, stores) = match setup.topology {
            Topology::One => (1, 1),
            Topology::SharedStore => (2, 1),
            Topology::SeparateStores => (2, 2),
        };
        World {
            seed,
            now: START,
            events: BTreeMap::new(),
            last_event: 0,
            mutant: options.mutant,
            single_fault: None,
            counts: CallCounts::default(),
            are_faults_over: false,
            forges: forges.collect(),
            daemons: (0..daemons).map(|number| Daemon::new(number, number.min(stores - 1))).collect(),
            stores: (0..stores).map(|_| store()).collect(),
            store_versions: vec![0; stores],
            runs: BTreeMap::new(),
            last_run: 0,
            commits: BTreeMap::new(),
            laws: Laws::default(),
            trace: Trace::new(options.keep_trace),
            totals: Totals::default(),
            violation: None,
            last_write: START,
            last_change: START,
            setup,
            random,
        }
    }

    /// Runs to the end, or to the first law that is broken.
    pub(super) fn run(mut self) -> Outcome {
        self.prepare();
        let end = START.after(self.setup.fault_period).after(RECOVERY);
        let mut count = 0;
        while self.violation.is_none() && !self.is_at_rest() {
            let Some(((at, _), event)) = self.events.pop_first().filter(|((at, _), _)| *at <= end) else {
                break;
            };
            self.now = at;
            count += 1;
            self.handle(*event);
            self.judge_runs();
            if count > MOST_EVENTS {
                self.violated("comes to rest", "there is no end to the events".to_owned());
            }
        }
        if self.violation.is_none() {
            self.judge_end();
        }
        Outcome {
            seed: self.seed,
            hash: self.trace.hash,
            events: count,
            counts: self.counts,
            totals: self.totals,
            violation: self.violation,
            lines: self.trace.lines,
        }
    }

    /// Whether nothing has happened for so long that nothing will.
    fn is_at_rest(&self) -> bool {
        let busy = self.last_write.max(self.last_change).max(START.after(self.setup.fault_period));
        self.are_faults_over && self.runs.is_empty() && self.now.since(busy) > REST
    }

    fn prepare(&mut self) {
        for project in self.projects() {
            let has_required = self.random.percent(30);
            let forge = self.forge(&project);
            forge.people = [
                ("ann".to_owned(), Trust::Trusted),
                ("bob".to_owned(), Trust::Trusted),
                ("dan".to_owned(), Trust::Unknown),
                ("eve".to_owned(), Trust::Untrusted),
            ]
            .into();
            if has_required {
                forge.required.insert("build".to_owned());
            }
        }
        if self.setup.is_scripted {
            self.write_script();
        }
        for _ in 0..self.setup.tickets {
            self.write_ticket();
        }
        let period = self.setup.fault_period;
        for _ in 0..self.setup.interventions {
            let at = self.moment_within(period);
            self.at(at, Event::Intervention);
        }
        for daemon in 0..self.daemons.len() {
            let at = START.after(Duration::from_secs(self.random.between(1, 60)));
            self.at(at, Event::Start { daemon });
            if self.setup.topology == Topology::SharedStore && self.random.percent(80) {
                for _ in 0..self.random.between(1, 4) {
                    let at = self.moment_within(period);
                    self.at(at, Event::Freeze { daemon });
                }
            }
        }
        self.at(START.after(period), Event::FaultsEnd);
    }

    fn moment_within(&mut self, span: Duration) -> Timestamp {
        START.after(Duration::from_millis(self.random.between(0, span.as_millis() as u64)))
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::RunDue { daemon, epoch }
            | Event::Reply { daemon, epoch, .. }
            | Event::Write { daemon, epoch, .. } => self.handle_if_alive(daemon, epoch, event),
            Event::Request(request) => self.serve(&request),
            Event::RunEnds { run } => self.end_run(run),
            Event::Intervention => self.intervene(),
            Event::Start { daemon } => self.start(daemon),
            Event::Webhook { daemon, project, ticket } => self.webhook(daemon, &project, &ticket),
            Event::Freeze { daemon } => self.freeze(daemon),
            Event::OtherReleases { project, task } => self.release_other_claim(&project, &task),
            Event::Approval { project, pr, login } => {
                self.review(&project, pr, login, ReviewDecision::Approve);
            }
            Event::FaultsEnd => self.end_faults(),
        }
    }

    /// An event of a Pilot that crashed since is dropped; one that is frozen gets it later.
    fn handle_if_alive(&mut self, daemon: usize, epoch: u64, event: Event) {
        let target = &self.daemons[daemon];
        if !target.is_alive || target.epoch != epoch {
            return;
        }
        let is_run_due = matches!(event, Event::RunDue { .. });
        if is_run_due && target.run_due_at != Some(self.now) {
            return;
        }
        if target.frozen_until > self.now {
            let until = target.frozen_until;
            if is_run_due {
                self.daemons[daemon].run_due_at = Some(until);
            }
            self.at(until, event);
            return;
        }
        if self.restart_after_freeze(daemon) {
            return;
        }
        let done = match event {
            Event::RunDue { .. } => self.run_round(daemon),
            Event::Reply { id, response, .. } => {
                self.receive(daemon, id, response).and_then(|()| self.run_round(daemon))
            }
            Event::Write { record, turn, .. } => {
                self.write_decided(daemon, &record, &turn).and_then(|()| self.run_round(daemon))
            }
            Event::Request(_)
            | Event::RunEnds { .. }
            | Event::Intervention
            | Event::Start { .. }
            | Event::Webhook { .. }
            | Event::Freeze { .. }
            | Event::OtherReleases { .. }
            | Event::Approval { .. }
            | Event::FaultsEnd => Ok(()),
        };
        if let Err(Crashed) = done {
            self.crash(daemon);
        }
    }

    /// Schedules an event.
    pub(super) fn at(&mut self, at: Timestamp, event: Event) {
        self.last_event += 1;
        self.events.insert((at.max(self.now), self.last_event), Box::new(event));
    }

    /// Schedules an event after a wait.
    pub(super) fn later(&mut self, wait: Duration, event: Event) {
        self.at(self.now.after(wait), event);
    }

    /// How long a request or a reply takes.
    pub(super) fn latency(&mut self) -> Duration {
        Duration::from_millis(self.random.between(20, 900))
    }

    pub(super) fn forge(&mut self, project: &ProjectId) -> &mut Forge {
        self.forges.get_mut(project).expect("every project has its forge")
    }

    pub(super) fn forge_of(&self, project: &ProjectId) -> &Forge {
        self.forges.get(project).expect("every project has its forge")
    }

    pub(super) fn policy(&self, project: &ProjectId) -> &Policy {
        let found = self.setup.projects.iter().find(|(id, _)| id == project);
        found.map(|(_, policy)| policy).expect("every project has its policy")
    }

    pub(super) fn projects(&self) -> Vec<ProjectId> {
        self.setup.projects.iter().map(|(project, _)| project.clone()).collect()
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn trace_line(&mut self, line: impl fmt::Display) {
        let line = line.to_string();
        self.trace.add_line(self.now, START, &line);
    }

    /// A law is broken; the first one counts.
    pub(super) fn violated(&mut self, law: &'static str, how: String) {
        if self.violation.is_none() {
            self.trace_line(format_args!("BROKEN {law}: {how}"));
            self.violation = Some(Violation { law, how, at: self.now.since(START).as_secs() });
        }
    }

    /// From now on nothing fails, and people leave things alone.
    fn end_faults(&mut self) {
        self.trace_line("from now on nothing fails");
        self.are_faults_over = true;
        for project in self.projects() {
            self.resume_all(&project);
        }
    }

    pub(super) fn instance(&self, daemon: usize) -> InstanceId {
        self.daemons[daemon].instance.clone()
    }

    pub(super) fn tickets(&self, project: &ProjectId) -> Vec<TaskKey> {
        self.forge_of(project).now.tickets.keys().cloned().collect()
    }
}
