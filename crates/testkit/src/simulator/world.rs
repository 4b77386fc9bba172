//! The world: the clock, everybody in it, and what happens next.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pilot_core::name::{CommentId, HomeId, InstanceId, IssueNumber, ProjectId, Sha, TaskKey};
use pilot_core::perform::Call;
use pilot_core::policy::Policy;
use pilot_core::seen::Permission;
use pilot_core::task::Key;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Input, Turn};

use super::Options;
use super::agents::{CommitModel, RunModel};
use super::daemon::Daemon;
use super::fault::{Cell, Made};
use super::forge::{CommentModel, Forge};
use super::laws::Laws;
use super::ledger::{Ledger, Memory};
use super::mutant::Mutant;
use super::scene::{Company, Scene};
use super::talk::{Heard, Talk};
use super::trace::{Outcome, Story, Trace, Violation};
use crate::random::Random;

/// 13 November 2025, about noon: when every simulation begins.
pub(super) const START: Timestamp = Timestamp(1_763_035_200_000_000);

/// How long it may take, after the storm, until everything has come to rest: fix after fix, one at a time.
const CALM: Duration = Duration::from_secs(10 * 3600);

/// Nothing goes on by itself after a longer time than this in which nothing happened.
const REST: Duration = Duration::from_secs(65 * 60);

/// More events than this are a loop without end.
const MOST_EVENTS: u64 = 60_000;

/// A Pilot that died in the middle of something.
#[derive(Debug)]
pub(super) struct Dead;

/// Something that happens at a moment.
#[derive(Debug)]
pub(super) enum Event {
    /// A Pilot polls.
    Tick { daemon: usize, epoch: u64 },
    /// A Pilot looks at what is due.
    Pump { daemon: usize, epoch: u64 },
    /// A request reaches the forge, whatever became of who sent it.
    Arrive {
        daemon: usize,
        epoch: u64,
        home: HomeId,
        talk: u64,
        project: ProjectId,
        ask: Ask,
        key: Option<Key>,
    },
    /// A reply reaches who asked.
    Reply { daemon: usize, epoch: u64, talk: u64, heard: Heard },
    /// A turn that was decided a moment ago is written.
    Write {
        daemon: usize,
        epoch: u64,
        project: ProjectId,
        issue: IssueNumber,
        input: Option<Input>,
        turn: Box<Turn>,
    },
    /// A run ends.
    RunEnds { run: u64 },
    /// Somebody does something.
    Person,
    /// A Pilot starts.
    Start { daemon: usize },
    /// A webhook is delivered.
    Webhook { daemon: usize, project: ProjectId, issue: IssueNumber },
    /// A Pilot is frozen for a while, with everything it runs.
    Freeze { daemon: usize },
    /// The other Pilot, of which nothing else is known, lets go of a task.
    LetGo { project: ProjectId, task: TaskKey },
    /// The storm is over.
    Calm,
}

/// What is asked of a forge.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// A call of the core's.
    Call(Call),
    /// Every open issue with the label, if anything changed since.
    Labelled { etag: u64 },
    /// Every comment behind this one.
    CommentsBehind(CommentId),
}

/// The answer to the last two.
#[derive(Clone, Debug)]
pub(super) struct CommentHeard {
    pub(super) id: CommentId,
    pub(super) issue: IssueNumber,
    pub(super) comment: CommentModel,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) random: Random,
    pub(super) now: Timestamp,
    events: BTreeMap<(Timestamp, u64), Box<Event>>,
    seq: u64,
    pub(super) scene: Scene,
    pub(super) mutant: Option<Mutant>,
    /// The one fault there is, in a scene where everybody does their part.
    pub(super) cell: Option<Cell>,
    /// How often each kind of request was made.
    pub(super) made: Made,
    pub(super) calm: bool,
    forges: BTreeMap<ProjectId, Forge>,
    pub(super) daemons: Vec<Daemon>,
    pub(super) ledgers: Vec<Box<dyn Ledger>>,
    pub(super) runs: BTreeMap<u64, RunModel>,
    pub(super) last_run: u64,
    pub(super) commits: BTreeMap<Sha, CommitModel>,
    pub(super) laws: Laws,
    pub(super) trace: Trace,
    pub(super) story: Story,
    pub(super) violation: Option<Violation>,
    /// When anything was last written to a forge by a Pilot.
    pub(super) last_write: Timestamp,
    /// When a Pilot last wrote anything down.
    pub(super) last_change: Timestamp,
}

impl World {
    pub(super) fn new(seed: u64, options: Options, ledger: &dyn Fn() -> Box<dyn Ledger>) -> World {
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5deece66d);
        let scene = Scene::new(&mut random, options.mutant);
        World::in_scene(seed, random, scene, options, ledger)
    }

    /// A world in which everybody does their part, but for one fault at most.
    pub(super) fn scripted(cell: Option<Cell>, options: Options) -> World {
        let ledger = || -> Box<dyn Ledger> { Box::new(Memory::default()) };
        let world = World::in_scene(0, Random::new(1), Scene::scripted(), options, &ledger);
        World { cell, ..world }
    }

    fn in_scene(
        seed: u64,
        random: Random,
        scene: Scene,
        options: Options,
        ledger: &dyn Fn() -> Box<dyn Ledger>,
    ) -> World {
        let forges = scene.projects.iter().map(|(project, _)| {
            let first = Sha::parse(&"1".repeat(40)).expect("forty digits");
            (project.clone(), Forge::new(first))
        });
        let (daemons, ledgers) = match scene.company {
            Company::Alone => (1, 1),
            Company::OneDatabase => (2, 1),
            Company::TwoDatabases => (2, 2),
        };
        World {
            seed,
            now: START,
            events: BTreeMap::new(),
            seq: 0,
            mutant: options.mutant,
            cell: None,
            made: Made::default(),
            calm: false,
            forges: forges.collect(),
            daemons: (0..daemons).map(|number| Daemon::new(number, number.min(ledgers - 1))).collect(),
            ledgers: (0..ledgers).map(|_| ledger()).collect(),
            runs: BTreeMap::new(),
            last_run: 0,
            commits: BTreeMap::new(),
            laws: Laws::default(),
            trace: Trace::new(options.keep_trace),
            story: Story::default(),
            violation: None,
            last_write: START,
            last_change: START,
            scene,
            random,
        }
    }

    /// Runs to the end, or to the first law that breaks.
    pub(super) fn run(mut self) -> Outcome {
        self.set_the_scene();
        let end = START.after(self.scene.storm).after(CALM);
        let mut count = 0;
        while self.violation.is_none() && !self.rests() {
            let Some(((at, _), event)) = self.events.pop_first().filter(|((at, _), _)| *at <= end) else {
                break;
            };
            self.now = at;
            count += 1;
            self.happen(*event);
            self.judge_runs();
            if count > MOST_EVENTS {
                self.broken("comes to rest", "there is no end to the events".to_owned());
            }
        }
        if self.violation.is_none() {
            self.judge_the_end();
        }
        Outcome {
            seed: self.seed,
            hash: self.trace.hash,
            events: count,
            made: self.made,
            story: self.story,
            violation: self.violation,
            lines: self.trace.lines,
        }
    }

    /// Whether nothing has happened for so long that nothing will.
    fn rests(&self) -> bool {
        let busy = self.last_write.max(self.last_change).max(START.after(self.scene.storm));
        self.calm && self.runs.is_empty() && self.now.since(busy) > REST
    }

    fn set_the_scene(&mut self) {
        let projects: Vec<ProjectId> =
            self.scene.projects.iter().map(|(project, _)| project.clone()).collect();
        for project in &projects {
            let required = self.random.percent(30);
            let forge = self.forge(project);
            forge.people = [
                ("ann".to_owned(), Permission::Admin),
                ("bob".to_owned(), Permission::Write),
                ("eve".to_owned(), Permission::Read),
            ]
            .into();
            if required {
                forge.required.insert("build".to_owned());
            }
        }
        if self.scene.scripted {
            self.set_the_script();
        }
        for _ in 0..self.scene.issues {
            self.new_issue();
        }
        let storm = self.scene.storm;
        for _ in 0..self.scene.acts {
            let at = self.some_time_in(storm);
            self.at(at, Event::Person);
        }
        for daemon in 0..self.daemons.len() {
            let at = START.after(Duration::from_secs(self.random.between(1, 60)));
            self.at(at, Event::Start { daemon });
            if self.scene.company == Company::OneDatabase && self.random.percent(80) {
                for _ in 0..self.random.between(1, 4) {
                    let at = self.some_time_in(storm);
                    self.at(at, Event::Freeze { daemon });
                }
            }
        }
        self.at(START.after(storm), Event::Calm);
    }

    fn some_time_in(&mut self, span: Duration) -> Timestamp {
        START.after(Duration::from_millis(self.random.between(0, span.as_millis() as u64)))
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tick { daemon, epoch } => self.if_alive(daemon, epoch, Event::Tick { daemon, epoch }),
            Event::Pump { daemon, epoch } => self.if_alive(daemon, epoch, Event::Pump { daemon, epoch }),
            Event::Reply { daemon, epoch, talk, heard } => {
                self.if_alive(daemon, epoch, Event::Reply { daemon, epoch, talk, heard });
            }
            Event::Write { daemon, epoch, project, issue, input, turn } => {
                self.if_alive(daemon, epoch, Event::Write { daemon, epoch, project, issue, input, turn });
            }
            Event::Arrive { daemon, epoch, home, talk, project, ask, key } => {
                self.arrive(daemon, epoch, &home, talk, &project, &ask, key.as_ref());
            }
            Event::RunEnds { run } => self.run_ends(run),
            Event::Person => self.somebody_acts(),
            Event::Start { daemon } => self.start(daemon),
            Event::Webhook { daemon, project, issue } => self.webhook(daemon, &project, issue),
            Event::Freeze { daemon } => self.freeze(daemon),
            Event::LetGo { project, task } => self.let_go(&project, &task),
            Event::Calm => self.calm_down(),
        }
    }

    /// What concerns a Pilot that is dead by now concerns nobody; one that is frozen learns of it later.
    fn if_alive(&mut self, daemon: usize, epoch: u64, event: Event) {
        let pilot = &self.daemons[daemon];
        if !pilot.alive || pilot.epoch != epoch {
            return;
        }
        let is_pump = matches!(event, Event::Pump { .. });
        if is_pump && pilot.pump_at != Some(self.now) {
            return;
        }
        if pilot.frozen_until > self.now {
            let until = pilot.frozen_until;
            if is_pump {
                self.daemons[daemon].pump_at = Some(until);
            }
            self.at(until, event);
            return;
        }
        if self.thaw(daemon) {
            return;
        }
        let done = match event {
            Event::Tick { .. } => self.tick(daemon),
            Event::Pump { .. } => self.pump(daemon),
            Event::Reply { talk, heard, .. } => self.hear(daemon, talk, heard),
            Event::Write { project, issue, input, turn, .. } => {
                self.write_later(daemon, &project, issue, input.as_ref(), &turn)
            }
            Event::Arrive { .. }
            | Event::RunEnds { .. }
            | Event::Person
            | Event::Start { .. }
            | Event::Webhook { .. }
            | Event::Freeze { .. }
            | Event::LetGo { .. }
            | Event::Calm => Ok(()),
        };
        if let Err(Dead) = done {
            self.die(daemon);
        }
    }

    /// Something will happen then.
    pub(super) fn at(&mut self, at: Timestamp, event: Event) {
        self.seq += 1;
        self.events.insert((at.max(self.now), self.seq), Box::new(event));
    }

    /// Something will happen so much later.
    pub(super) fn later(&mut self, wait: Duration, event: Event) {
        self.at(self.now.after(wait), event);
    }

    /// A moment on the wire.
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
        let found = self.scene.projects.iter().find(|(id, _)| id == project);
        found.map(|(_, policy)| policy).expect("every project has its policy")
    }

    pub(super) fn projects(&self) -> Vec<ProjectId> {
        self.scene.projects.iter().map(|(project, _)| project.clone()).collect()
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn say(&mut self, line: impl fmt::Display) {
        let line = line.to_string();
        self.trace.say(self.now, START, &line);
    }

    /// A law is broken; the first one counts.
    pub(super) fn broken(&mut self, law: &'static str, how: String) {
        if self.violation.is_none() {
            self.say(format_args!("BROKEN {law}: {how}"));
            self.violation = Some(Violation { law, how, at: self.now.since(START).as_secs() });
        }
    }

    /// The storm is over: nothing fails any more, and people leave things alone.
    fn calm_down(&mut self) {
        self.say("the storm is over");
        self.calm = true;
        for project in self.projects() {
            self.resume_everything(&project);
        }
    }

    pub(super) fn instance(&self, daemon: usize) -> InstanceId {
        self.daemons[daemon].instance.clone()
    }

    pub(super) fn talk_of(&mut self, daemon: usize, talk: u64) -> Option<Talk> {
        self.daemons[daemon].talks.remove(&talk)
    }

    pub(super) fn issues(&self, project: &ProjectId) -> Vec<IssueNumber> {
        self.forge_of(project).now.issues.keys().copied().collect()
    }
}
