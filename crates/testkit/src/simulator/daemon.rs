//! Pilot's loop, as small as the real one: load, take a turn, write, perform, look, dispatch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pilot_core::dispatch::{self, Candidate, Floor};
use pilot_core::fact::{Happened, ProjectHappened, RunEnding};
use pilot_core::intake::{Tracked, missing};
use pilot_core::name::{CommentId, Generation, HomeId, InstanceId, IssueNumber, ProjectId, TaskKey};
use pilot_core::outcome::Class;
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::task::{Look, RunOrder, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, Left, ProjectInput, Turn, project_turn, turn};

use super::agents::RunModel;
use super::forge::Listed;
use super::ledger::LEASE;
use super::mutant::Mutant;
use super::scene::Company;
use super::talk::Talk;
use super::world::{Ask, Dead, Event, World};

/// How long after the storm the polls keep their pace; later they come less often, to save everybody's time.
const BUSY_CALM: Duration = Duration::from_secs(40 * 60);
const SLOW_TICK: Duration = Duration::from_secs(300);

/// One Pilot: what it remembers of itself while it lives.
#[derive(Debug)]
pub(super) struct Daemon {
    /// Whose locks it holds.
    pub(super) home: HomeId,
    /// Whose claims it shows: its database's.
    pub(super) owner: HomeId,
    pub(super) instance: InstanceId,
    pub(super) ledger: usize,
    pub(super) alive: bool,
    pub(super) epoch: u64,
    pub(super) frozen_until: Timestamp,
    was_frozen: bool,
    pub(super) talks: BTreeMap<u64, Talk>,
    pub(super) last_talk: u64,
    pub(super) last_comment: BTreeMap<ProjectId, CommentId>,
    etags: BTreeMap<ProjectId, u64>,
    listed: BTreeMap<ProjectId, BTreeSet<IssueNumber>>,
    wakes: BTreeMap<(ProjectId, IssueNumber), Timestamp>,
    looking: BTreeSet<(ProjectId, IssueNumber)>,
    pub(super) pump_at: Option<Timestamp>,
    renewed: Timestamp,
}

impl Daemon {
    pub(super) fn new(number: usize, ledger: usize) -> Daemon {
        Daemon {
            home: HomeId::parse(&format!("home-{number}")).expect("a name"),
            owner: HomeId::parse(&format!("database-{ledger}")).expect("a name"),
            instance: InstanceId::parse(&format!("pilot-{number}-0")).expect("a name"),
            ledger,
            alive: false,
            epoch: 0,
            frozen_until: Timestamp(0),
            was_frozen: false,
            talks: BTreeMap::new(),
            last_talk: 0,
            last_comment: BTreeMap::new(),
            etags: BTreeMap::new(),
            listed: BTreeMap::new(),
            wakes: BTreeMap::new(),
            looking: BTreeSet::new(),
            pump_at: None,
            renewed: Timestamp(0),
        }
    }
}

impl World {
    /// Pilot starts: what it had in its hands when it died goes on from there.
    pub(super) fn start(&mut self, daemon: usize) {
        let pilot = &mut self.daemons[daemon];
        pilot.epoch += 1;
        pilot.alive = true;
        pilot.instance = InstanceId::parse(&format!("pilot-{daemon}-{}", pilot.epoch)).expect("a name");
        pilot.talks.clear();
        pilot.etags.clear();
        pilot.listed.clear();
        pilot.last_comment.clear();
        pilot.wakes.clear();
        pilot.looking.clear();
        pilot.pump_at = None;
        pilot.was_frozen = false;
        pilot.renewed = self.now;
        self.say(format_args!("pilot {daemon}: starts"));
        if let Err(Dead) = self.recover(daemon) {
            self.die(daemon);
        }
    }

    fn recover(&mut self, daemon: usize) -> Result<(), Dead> {
        let (home, me, ledger) = {
            let pilot = &self.daemons[daemon];
            (pilot.home.clone(), pilot.instance.clone(), pilot.ledger)
        };
        let now = self.now;
        let left = self.ledgers[ledger].begin(&home, &me, now);
        self.take_over(daemon, left)?;
        for project in self.projects() {
            for (task, _, _) in self.ledgers[ledger].tasks(&project) {
                self.tell(daemon, &project, task.number, None)?;
            }
            self.tell_project(daemon, &project, None)?;
        }
        let epoch = self.daemons[daemon].epoch;
        self.later(Duration::ZERO, Event::Tick { daemon, epoch });
        self.pump_soon(daemon, self.now);
        Ok(())
    }

    /// What a Pilot that is gone left: its runs are over, and its actions may have happened.
    fn take_over(&mut self, daemon: usize, left: Left) -> Result<(), Dead> {
        for (project, task, generation) in left.claims {
            let happened = if self.is(Mutant::DeathCounts) {
                let reason = "the process is gone".to_owned();
                let ending = RunEnding::Stopped { class: Class::Unknown, reason, again_at: None };
                Happened::RunEnded { generation, ending }
            } else {
                Happened::Abandoned { generation }
            };
            self.tell(daemon, &project, task.number(), Some(Input { happened, settles: None }))?;
        }
        for (project, task, key) in left.intents {
            let failure = Failure::new(FailureKind::Interrupted, "Pilot stopped meanwhile");
            match task {
                Some(task) => {
                    let happened = Happened::Failed { key: key.clone(), failure };
                    self.tell(daemon, &project, task.number(), Some(Input { happened, settles: Some(key) }))?;
                }
                None => {
                    let happened = ProjectHappened::Failed { key: key.clone(), failure };
                    self.tell_project(
                        daemon,
                        &project,
                        Some(&ProjectInput { happened, settles: Some(key) }),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Pilot dies, and everything it runs with it.
    pub(super) fn die(&mut self, daemon: usize) {
        self.story.crashes += 1;
        self.say(format_args!("pilot {daemon}: dies"));
        let pilot = &mut self.daemons[daemon];
        pilot.alive = false;
        pilot.frozen_until = self.now;
        pilot.talks.clear();
        self.runs.retain(|_, run| run.daemon != daemon);
        let wait = Duration::from_secs(self.random.between(1, 240));
        self.later(wait, Event::Start { daemon });
    }

    /// A place where Pilot may die.
    pub(super) fn may_die(&mut self) -> Result<(), Dead> {
        if !self.calm && self.random.permille(self.scene.weather.crashes) { Err(Dead) } else { Ok(()) }
    }

    pub(super) fn freeze(&mut self, daemon: usize) {
        if !self.daemons[daemon].alive {
            return;
        }
        let until = self.now.after(Duration::from_secs(self.random.between(70, 900)));
        self.say(format_args!("pilot {daemon}: is frozen"));
        let pilot = &mut self.daemons[daemon];
        pilot.frozen_until = until.max(pilot.frozen_until);
        pilot.was_frozen = true;
    }

    /// Whether it is frozen, or has not found out yet that it was.
    pub(super) fn is_frozen(&self, daemon: usize) -> bool {
        let pilot = &self.daemons[daemon];
        pilot.frozen_until > self.now || pilot.was_frozen
    }

    /// Pilot polls.
    pub(super) fn tick(&mut self, daemon: usize) -> Result<(), Dead> {
        for project in self.projects() {
            let etag = self.daemons[daemon].etags.get(&project).copied().unwrap_or(0);
            let list = Talk::List { project: project.clone() };
            self.ask(daemon, &project, list, Ask::Labelled { etag }, None)?;
            let last = self.daemons[daemon].last_comment.get(&project).copied().unwrap_or(CommentId(0));
            let comments = Talk::Comments { project: project.clone() };
            self.ask(daemon, &project, comments, Ask::CommentsBehind(last), None)?;
        }
        for project in self.projects() {
            self.tell_project(daemon, &project, None)?;
        }
        let calm_for = self.now.since(super::world::START.after(self.scene.storm));
        let slow = self.calm && calm_for > BUSY_CALM;
        let poll = self.scene.projects.first().map_or(SLOW_TICK, |(_, policy)| policy.poll_interval);
        let epoch = self.daemons[daemon].epoch;
        self.later(if slow { SLOW_TICK } else { poll }, Event::Tick { daemon, epoch });
        self.pump(daemon)
    }

    /// What a Pilot does first after it was frozen: one that missed its lease ends what it runs and starts anew.
    /// Says whether it did.
    pub(super) fn thaw(&mut self, daemon: usize) -> bool {
        let pilot = &mut self.daemons[daemon];
        if !std::mem::take(&mut pilot.was_frozen) || self.is(Mutant::NoFencing) {
            return false;
        }
        self.runs.retain(|_, run| run.daemon != daemon);
        self.start(daemon);
        true
    }

    /// Does what is due: leases, looks, turns in the queue, actions.
    pub(super) fn pump(&mut self, daemon: usize) -> Result<(), Dead> {
        self.daemons[daemon].pump_at = None;
        self.leases(daemon)?;
        self.due_looks(daemon)?;
        self.dispatch(daemon)?;
        let (ledger, me, now) = (self.daemons[daemon].ledger, self.instance(daemon), self.now);
        for intent in self.ledgers[ledger].take(&me, now) {
            self.perform(daemon, intent)?;
        }
        let wake = self.daemons[daemon].wakes.values().min().copied();
        let due = self.ledgers[ledger].next_due();
        let next = [wake, due].into_iter().flatten().min();
        if let Some(next) = next {
            self.pump_soon(daemon, next.max(self.now.after(Duration::from_millis(100))));
        }
        Ok(())
    }

    /// Signs of life, and what others without them left.
    fn leases(&mut self, daemon: usize) -> Result<(), Dead> {
        if self.scene.company != Company::OneDatabase {
            return Ok(());
        }
        let (ledger, me, now) = (self.daemons[daemon].ledger, self.instance(daemon), self.now);
        if now.since(self.daemons[daemon].renewed) >= LEASE / 3 {
            self.daemons[daemon].renewed = now;
            self.ledgers[ledger].renew(&me, now);
            self.obey(daemon);
        }
        // The next sign of life must not wait for something to do.
        self.pump_soon(daemon, self.now.after(LEASE / 3));
        let left = self.ledgers[ledger].lapsed(&me, now);
        self.take_over(daemon, left)
    }

    /// With every sign of life it looks whether another instance decided that a run of its own shall stop.
    fn obey(&mut self, daemon: usize) {
        let runs: Vec<RunModel> = self.runs.values().filter(|run| run.daemon == daemon).cloned().collect();
        for run in runs {
            let stage = self.ledgers[self.daemons[daemon].ledger].load(&run.project, run.order.issue).stage;
            if let Some(Stage::Stopping { generation, .. }) = stage {
                self.stop_run(daemon, &run.project, &run.order.task, generation);
            }
        }
    }

    /// Tells the runner to stop, if it is this instance's run.
    fn stop_run(&mut self, daemon: usize, project: &ProjectId, task: &TaskKey, generation: Generation) {
        let found = self.runs.iter_mut().find(|(_, run)| {
            let order = &run.order;
            run.daemon == daemon
                && run.project == *project
                && order.task == *task
                && order.generation == generation
        });
        if let Some((number, run)) = found.filter(|(_, run)| !run.stopping) {
            run.stopping = true;
            let number = *number;
            self.later(Duration::from_secs(2), Event::RunEnds { run: number });
        }
    }

    fn due_looks(&mut self, daemon: usize) -> Result<(), Dead> {
        let now = self.now;
        let due: Vec<(ProjectId, IssueNumber)> = {
            let wakes = self.daemons[daemon].wakes.iter();
            wakes.filter(|(_, at)| **at <= now).map(|(task, _)| task.clone()).collect()
        };
        for (project, issue) in due {
            self.daemons[daemon].wakes.remove(&(project.clone(), issue));
            if !self.daemons[daemon].looking.insert((project.clone(), issue)) {
                continue;
            }
            let ledger = self.daemons[daemon].ledger;
            let loaded = self.ledgers[ledger].load(&project, issue);
            let policy = self.policy(&project);
            let decided = turn(&loaded, None, policy, now);
            let looks = decided.task.map_or_else(Vec::new, |task| task.looks);
            self.look(daemon, &project, issue, looks.into(), false)?;
        }
        Ok(())
    }

    /// Everything was looked at; what failed is looked at again after a while.
    pub(super) fn looked_at_everything(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        failed: bool,
    ) -> Result<(), Dead> {
        self.daemons[daemon].looking.remove(&(project.clone(), issue));
        self.tell(daemon, project, issue, None)?;
        if failed {
            let later = self.now.after(self.policy(project).poll_interval);
            if let Some(wake) = self.daemons[daemon].wakes.get_mut(&(project.clone(), issue)) {
                *wake = later.max(*wake);
            }
        }
        Ok(())
    }

    /// Gives the next task its turn, as long as there is room.
    fn dispatch(&mut self, daemon: usize) -> Result<(), Dead> {
        loop {
            let ledger = self.daemons[daemon].ledger;
            let candidates: Vec<Candidate> =
                self.projects().iter().flat_map(|project| self.ledgers[ledger].queued(project)).collect();
            if candidates.is_empty() {
                return Ok(());
            }
            let loaded: Vec<_> =
                self.projects().iter().map(|project| self.ledgers[ledger].load_project(project)).collect();
            let floors: Vec<Floor<'_>> = loaded
                .iter()
                .map(|project| Floor { project: &project.facts, mode: self.policy(&project.facts.id).mode })
                .collect();
            let Some(next) = dispatch::next(&floors, &candidates, self.scene.max_concurrent, self.now) else {
                return Ok(());
            };
            let (project, task) = (next.project.clone(), next.task.clone());
            if !self.claim(daemon, &project, &task)? {
                return Ok(());
            }
        }
    }

    fn claim(&mut self, daemon: usize, project: &ProjectId, task: &TaskKey) -> Result<bool, Dead> {
        let pilot = &self.daemons[daemon];
        let loaded = self.ledgers[pilot.ledger].load(project, task.number());
        let happened = Happened::Claimed {
            generation: loaded.task.generation.next(),
            home: pilot.home.clone(),
            instance: pilot.instance.clone(),
        };
        let before = loaded.task.generation;
        self.say(format_args!("pilot {daemon}: {project} {task} has its turn"));
        self.tell_now(daemon, project, task.number(), Some(&Input { happened, settles: None }))?;
        let ledger = self.daemons[daemon].ledger;
        Ok(self.ledgers[ledger].load(project, task.number()).task.generation > before)
    }

    /// Something happened to a task, or time passed.
    pub(super) fn tell(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<Input>,
    ) -> Result<(), Dead> {
        // With others on the same database, somebody may write between the decision and its writing.
        if self.scene.company == Company::OneDatabase && !self.calm && self.random.percent(20) {
            let ledger = self.daemons[daemon].ledger;
            let loaded = self.ledgers[ledger].load(project, issue);
            let decided = turn(&loaded, input.as_ref(), self.policy(project), self.now);
            let epoch = self.daemons[daemon].epoch;
            let wait = self.latency();
            let (project, turn) = (project.clone(), Box::new(decided));
            self.later(wait, Event::Write { daemon, epoch, project, issue, input, turn });
            return Ok(());
        }
        self.tell_now(daemon, project, issue, input.as_ref()).map(|_| ())
    }

    /// A turn that was decided a moment ago: if somebody wrote since, it is taken again.
    pub(super) fn write_later(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<&Input>,
        decided: &Turn,
    ) -> Result<(), Dead> {
        match self.write(daemon, project, issue, input, decided)? {
            Applied::Stale => self.tell_now(daemon, project, issue, input).map(|_| ()),
            Applied::Written | Applied::Fenced | Applied::Taken => Ok(()),
        }
    }

    pub(super) fn tell_now(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<&Input>,
    ) -> Result<Applied, Dead> {
        let ledger = self.daemons[daemon].ledger;
        let loaded = self.ledgers[ledger].load(project, issue);
        if loaded.task_version == 0 && input.is_none() {
            return Ok(Applied::Written);
        }
        let twisted = self.twisted_input(&loaded, input);
        let decided = turn(&loaded, twisted.as_ref().or(input), self.policy(project), self.now);
        self.write(daemon, project, issue, input, &decided)
    }

    fn write(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<&Input>,
        decided: &Turn,
    ) -> Result<Applied, Dead> {
        let Some(change) = &decided.task else { return Ok(Applied::Written) };
        if decided.writes() {
            self.may_die()?;
            let (ledger, now) = (self.daemons[daemon].ledger, self.now);
            let before = self.ledgers[ledger].load(project, issue);
            let me = self.twisted_instance(daemon, &before);
            let applied = self.ledgers[ledger].apply(decided, &me, now);
            if applied != Applied::Written {
                self.say(format_args!("pilot {daemon}: {project} {issue} refused: {applied:?}"));
                return Ok(applied);
            }
            for entry in &change.log {
                let happened = entry.happened.as_ref().map_or_else(String::new, pilot_core::words::happened);
                let stage = entry.stage.as_ref().map_or("", |stage| stage.as_str());
                self.say(format_args!("pilot {daemon}: {project} {issue} {happened} -> {stage}"));
            }
            self.judge_turn(daemon, &before, decided, input);
            self.may_die()?;
        }
        let task = (project.clone(), issue);
        match change.wake {
            Some(wake) => self.daemons[daemon].wakes.insert(task, wake),
            None => self.daemons[daemon].wakes.remove(&task),
        };
        if let Some(order) = &change.run {
            self.begin_run(daemon, project, order);
        }
        if let Stage::Stopping { generation, .. } = &change.stage {
            self.stop_run(daemon, project, &change.facts.key, *generation);
        }
        if let Some(due) = change.wake {
            self.pump_soon(daemon, due);
        }
        if decided.writes() {
            self.last_change = self.now;
            self.pump_soon(daemon, self.now.after(Duration::from_millis(100)));
        }
        self.mutate_after(daemon, project, change);
        Ok(Applied::Written)
    }

    /// Something happened to a project, or time passed.
    pub(super) fn tell_project(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        input: Option<&ProjectInput>,
    ) -> Result<(), Dead> {
        let (ledger, me, now) = (self.daemons[daemon].ledger, self.instance(daemon), self.now);
        let loaded = self.ledgers[ledger].load_project(project);
        let decided = project_turn(&loaded, input, self.policy(project), now);
        if decided.writes() {
            self.may_die()?;
            self.ledgers[ledger].apply(&decided, &me, now);
            self.last_change = now;
            self.may_die()?;
            self.pump_soon(daemon, now.after(Duration::from_millis(100)));
        }
        if let Some(wake) = decided.project.wake {
            self.pump_soon(daemon, wake);
        }
        Ok(())
    }

    pub(super) fn pump_soon(&mut self, daemon: usize, at: Timestamp) {
        let pilot = &mut self.daemons[daemon];
        if pilot.pump_at.is_none_or(|planned| planned > at) {
            let at = at.max(self.now);
            pilot.pump_at = Some(at);
            let epoch = pilot.epoch;
            self.at(at, Event::Pump { daemon, epoch });
        }
    }

    fn begin_run(&mut self, daemon: usize, project: &ProjectId, order: &RunOrder) {
        self.judge_start(daemon, project, order);
        self.story.runs += 1;
        self.last_run += 1;
        let number = self.last_run;
        let run = RunModel { daemon, project: project.clone(), order: order.clone(), stopping: false };
        self.runs.insert(number, run);
        let time = self.run_time();
        self.later(time, Event::RunEnds { run: number });
    }

    pub(super) fn run_ends(&mut self, number: u64) {
        let Some(run) = self.runs.get(&number) else { return };
        let frozen = self.daemons[run.daemon].frozen_until;
        if frozen > self.now {
            self.at(frozen, Event::RunEnds { run: number });
            return;
        }
        let daemon = run.daemon;
        self.thaw(daemon);
        let Some(run) = self.runs.remove(&number) else { return };
        let ending = self.run_ending(&run);
        self.laws.ended(&run, &ending);
        let happened = Happened::RunEnded { generation: run.order.generation, ending };
        let input = Input { happened, settles: None };
        if let Err(Dead) = self.tell(daemon, &run.project, run.order.issue, Some(input)) {
            self.die(daemon);
        }
    }

    /// The labelled issues were read.
    pub(super) fn listed(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        listed: Result<Listed, Failure>,
    ) -> Result<(), Dead> {
        let Ok(changed) = listed else { return Ok(()) };
        if let Some((issues, etag)) = changed {
            self.daemons[daemon].etags.insert(project.clone(), etag);
            let numbers = issues.iter().map(|issue| issue.number).collect();
            self.daemons[daemon].listed.insert(project.clone(), numbers);
            for issue in issues {
                let number = issue.number;
                let input = Input { happened: Happened::IssueSeen { issue }, settles: None };
                self.tell(daemon, project, number, Some(input))?;
            }
        }
        // Also when the list is the same: what was read of one that is not in it may have been stale.
        let Some(numbers) = self.daemons[daemon].listed.get(project).cloned() else { return Ok(()) };
        let ledger = self.daemons[daemon].ledger;
        let tasks = self.ledgers[ledger].tasks(project);
        let tracked = tasks.iter().map(|(task, stage, _)| Tracked { issue: task.number, stage });
        for issue in missing(&numbers, tracked) {
            if self.daemons[daemon].looking.insert((project.clone(), issue)) {
                self.look(daemon, project, issue, [Look::Issue].into(), false)?;
            }
        }
        Ok(())
    }

    /// A hint that an issue changed: it is read.
    pub(super) fn webhook(&mut self, daemon: usize, project: &ProjectId, issue: IssueNumber) {
        let pilot = &self.daemons[daemon];
        if !pilot.alive || self.is_frozen(daemon) {
            return;
        }
        if self.daemons[daemon].looking.insert((project.clone(), issue))
            && let Err(Dead) = self.look(daemon, project, issue, [Look::Issue].into(), false)
        {
            self.die(daemon);
        }
    }
}
