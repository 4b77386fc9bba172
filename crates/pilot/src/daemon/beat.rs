//! The loop: what happened is heard, what is due is done, and then it waits. It never grows: a feature adds a variant to the
//! core, an arm of its step, and a call.

mod hear;
mod inherit;
mod obey;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pilot_core::budget::{self, Admission, reserve};
use pilot_core::config::Config;
use pilot_core::dispatch::{self, Candidate, Floor};
use pilot_core::fact::{Ending, Happened, ProjectHappened, TaskFacts};
use pilot_core::name::{Branch, IssueNumber, ProjectId, Sha, TaskKey};
use pilot_core::task::{Look, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Input, Intent, Left, LoadedProject, ProjectInput, turn};
use pilot_link::http::Moment;
use pilot_store::StoreError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::calls::Trouble;
use super::desk::{Desk, Subject, Told, follow, now};
use super::failpoint;
use super::hands::{Bench, Hands, Ran, Whisper};
use super::perform::{Looked, Performed, look, perform};
use super::poll::{Polled, poll};
use super::site::{Ground, Plot, Site};
use crate::calendar::Calendar;
use crate::clock::{self, Stopwatch};

/// The longest wait: another process may have written meanwhile.
const TICK: Duration = Duration::from_secs(1);

/// How many actions are taken up at once, and how many of a queue are considered.
const AT_ONCE: u32 = 16;
const CONSIDERED: u32 = 50;

/// How far back orders in comments are read at a start.
const ORDERS_SINCE: i64 = 7 * 86_400;

/// How long agents may go on when the daemon is asked to stop.
const DRAIN: Duration = Duration::from_secs(15);

/// How long a forge may fail to answer before a daemon that is to end by itself gives up.
const SILENCE: Duration = Duration::from_secs(120);

/// Something that ended.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Connected(Box<(Plot, Result<Arc<Site>, String>)>),
    Polled(Polled),
    Looked(Looked),
    Performed(Box<Performed>),
    Ran(Ran),
    /// Branches of tasks that are done are gone from the checkout; or some of this project are not, and why.
    Tidied(Option<(String, String)>),
}

/// How the daemon is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Somebody stops it.
    Stopped,
    /// Nothing is left to do.
    Quiet,
    /// The task of one issue came to rest. Nothing else is begun; what is under way goes on.
    Rest(IssueNumber),
}

/// How far stopping is.
#[derive(Clone, Copy, Debug)]
enum Stopping {
    No,
    /// Agents may finish until this much has passed.
    Draining(Stopwatch),
    /// Agents are asked to end.
    Now,
}

/// The daemon.
pub(crate) struct Daemon<'d> {
    pub(crate) desk: Desk,
    pub(crate) config: &'d Config,
    pub(crate) ground: Ground,
    pub(crate) bench: Bench,
    /// Where orders from other processes are.
    pub(crate) home: PathBuf,
    pub(crate) until: Until,
    whispers: mpsc::UnboundedReceiver<Whisper>,
    jobs: JoinSet<Event>,
    hands: Hands,
    /// Tasks that were run here and are not done yet: another instance may finish them, elsewhere.
    ran: BTreeSet<Subject>,
    /// Projects whose forge has not answered yet, and when to ask again.
    plots: Vec<(Plot, Timestamp)>,
    /// What was last said about each of them, so that it is said once.
    refusals: BTreeMap<String, String>,
    /// How many of them are being asked.
    connecting: usize,
    /// What instances that are gone left, until the projects it belongs to can be told.
    left: Left,
    /// Which projects obeyed an order that waits for others.
    obeyed: BTreeSet<(PathBuf, ProjectId)>,
    polls: BTreeMap<ProjectId, Pulse>,
    looking: BTreeSet<Subject>,
    /// Actions of projects whose forge has not answered yet.
    parked: Vec<Intent>,
    /// What was heard when the database could not be written.
    unheard: VecDeque<Event>,
    /// Whether it still cannot.
    stuck: bool,
    renewed: Stopwatch,
    version: u64,
    dirty: bool,
    stopping: Stopping,
    /// How often everything was polled without anything new.
    quiet: u32,
    /// Whether the one issue was read since the start.
    read: bool,
}

/// The polls of a project.
#[derive(Clone, Debug)]
struct Pulse {
    since: Moment,
    /// The issues of the last list; none before the first.
    listed: Option<BTreeSet<IssueNumber>>,
    last: Option<Stopwatch>,
    under_way: bool,
    failing: Option<Stopwatch>,
}

/// The branch of a task that is merged, and what was pushed of it.
fn merged(task: &TaskFacts, stage: &Stage) -> Option<(Branch, Sha)> {
    let Stage::Ended { ending: Ending::Done(_) } = stage else { return None };
    task.life.pushed.as_ref().map(|pushed| (pushed.branch.clone(), pushed.sha.clone()))
}

impl<'d> Daemon<'d> {
    pub(crate) fn new(
        desk: Desk,
        config: &'d Config,
        ground: Ground,
        (bench, whispers): (Bench, mpsc::UnboundedReceiver<Whisper>),
        (home, plots, until): (PathBuf, Vec<Plot>, Until),
    ) -> Daemon<'d> {
        Daemon {
            desk,
            config,
            ground,
            bench,
            home,
            until,
            whispers,
            jobs: JoinSet::new(),
            hands: Hands::new(),
            ran: BTreeSet::new(),
            plots: plots.into_iter().map(|plot| (plot, Timestamp(0))).collect(),
            refusals: BTreeMap::new(),
            connecting: 0,
            left: Left::default(),
            obeyed: BTreeSet::new(),
            polls: BTreeMap::new(),
            looking: BTreeSet::new(),
            parked: Vec::new(),
            unheard: VecDeque::new(),
            stuck: false,
            renewed: Stopwatch::start(),
            version: 0,
            dirty: true,
            stopping: Stopping::No,
            quiet: 0,
            read: false,
        }
    }

    /// Runs until it is stopped, or until there is nothing left to do. `stop` gives how: true for at once.
    pub(crate) async fn go(&mut self, stop: &mut mpsc::Receiver<bool>) -> anyhow::Result<()> {
        loop {
            if self.has_stopped() {
                return Ok(());
            }
            let step = self.step().await;
            let wait = match self.or_later(step)? {
                Some(Some(wait)) => wait,
                Some(None) => return Ok(()),
                None => TICK,
            };
            tokio::select! {
                Some(done) = self.jobs.join_next() => {
                    // A part of this program that broke: the next start takes over what it had in its hands.
                    self.unheard.push_back(done.context("carry something out")?);
                }
                Some(whisper) = self.whispers.recv() => self.overhear(whisper),
                Some(at_once) = stop.recv() => self.stop(at_once),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Hears what ended, does what is due, and says how long nothing is; none when it is all over.
    async fn step(&mut self) -> anyhow::Result<Option<Duration>> {
        while let Some(event) = self.unheard.front().cloned() {
            self.hear(event).await?;
            self.unheard.pop_front();
        }
        if self.stuck {
            self.recall().await?;
        }
        self.pump().await?;
        if std::mem::take(&mut self.stuck) {
            self.desk.log.info("pilot", "the database can be written again");
        }
        if self.is_quiet().await? {
            return Ok(None);
        }
        Ok(Some(self.wait().await?))
    }

    /// A database that another process holds or that has no room is tried again; that is said once.
    fn or_later<T>(&mut self, done: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
        let error = match done {
            Ok(done) => return Ok(Some(done)),
            Err(error) => error,
        };
        let passes = error.chain().any(|cause| {
            matches!(cause.downcast_ref(), Some(StoreError::Locked { .. } | StoreError::Full { .. }))
        });
        if !passes {
            return Err(error);
        }
        self.dirty = true;
        if !std::mem::replace(&mut self.stuck, true) {
            self.desk.log.error("pilot", &format!("{error:#}; tried again until it works"));
        }
        Ok(None)
    }

    /// What was to be looked at may have been forgotten on the way.
    async fn recall(&mut self) -> anyhow::Result<()> {
        let projects: Vec<ProjectId> = self.desk.sites.keys().cloned().collect();
        for project in projects {
            self.retell(&project).await?;
            self.desk.tell_project(&project, None).await?;
        }
        Ok(())
    }

    fn stop(&mut self, at_once: bool) {
        self.stopping = match (self.stopping, at_once) {
            (Stopping::No, false) => {
                if !self.hands.is_empty() {
                    let words =
                        format!("stopping; {} may finish within {}s", self.hands.len(), DRAIN.as_secs());
                    self.desk.log.info("pilot", &words);
                }
                Stopping::Draining(Stopwatch::start())
            }
            // Asked twice is asked urgently.
            (_, true) | (Stopping::Draining(_) | Stopping::Now, _) => Stopping::Now,
        };
    }

    /// Whether it was asked to stop and nothing is going on. What a database does not take is taken over by the next start.
    fn has_stopped(&self) -> bool {
        match self.stopping {
            Stopping::No => false,
            Stopping::Draining(_) | Stopping::Now => {
                let heard = self.unheard.is_empty() || self.stuck;
                (self.hands.is_empty() || self.stuck) && self.jobs.is_empty() && heard
            }
        }
    }

    /// Whether nothing is left to do.
    async fn is_quiet(&mut self) -> anyhow::Result<bool> {
        if !self.jobs.is_empty() || !self.hands.is_empty() {
            return Ok(false);
        }
        let rests = match self.until {
            Until::Stopped => false,
            Until::Quiet => self.quiet >= 2,
            Until::Rest(issue) => self.read && self.rests(issue).await?,
        };
        if !rests {
            return Ok(false);
        }
        let due = self.desk.store.next_due().await?;
        Ok(due.is_none_or(|due| due > now().after(TICK * 30)))
    }

    /// Whether a task does not go on by itself, nor a fix of it.
    async fn rests(&self, issue: IssueNumber) -> anyhow::Result<bool> {
        for project in self.desk.sites.keys() {
            if let Some((_, stage)) = follow(&self.desk.store, project, issue).await? {
                return Ok(matches!(stage, Stage::Held { .. } | Stage::Ended { .. }));
            }
        }
        Ok(false)
    }

    /// How long nothing is due.
    async fn wait(&mut self) -> anyhow::Result<Duration> {
        let now = now();
        let mut next = now.after(TICK);
        let wakes = self.desk.wakes.values().chain(self.desk.project_wakes.values());
        next = wakes.copied().chain([next]).min().unwrap_or(next);
        if let Some(due) = self.desk.store.next_due().await?.filter(|_| self.jobs.len() < AT_ONCE as usize) {
            next = next.min(due);
        }
        let polls = self.polls.iter().filter(|(_, pulse)| !pulse.under_way);
        let until_poll = polls.map(|(project, pulse)| {
            let interval = self.desk.sites.get(project).map_or(TICK, |site| site.policy.poll_interval);
            pulse.last.map_or(Duration::ZERO, |last| interval.saturating_sub(last.elapsed()))
        });
        let wait = next.since(now).min(until_poll.min().unwrap_or(TICK));
        // Something that is due and cannot be begun must not keep the machine busy.
        Ok(wait.max(Duration::from_millis(5)))
    }

    /// Does what is due.
    async fn pump(&mut self) -> anyhow::Result<()> {
        self.connect();
        self.leases().await?;
        self.take_over().await?;
        self.obey().await?;
        self.drain();
        let version = self.desk.store.version().await?;
        if version != self.version {
            self.version = version;
            self.dirty = true;
            self.quiet = 0;
        }
        self.poll();
        self.due_looks().await?;
        if std::mem::take(&mut self.dirty) && matches!(self.stopping, Stopping::No) {
            self.look_at_others().await?;
            self.dispatch().await?;
        }
        self.perform_due().await
    }

    /// Asks the forges that have not answered yet.
    fn connect(&mut self) {
        let now = now();
        let due = self.plots.iter().position(|(_, at)| *at <= now);
        let Some(place) = due else { return };
        let (plot, _) = self.plots.remove(place);
        self.connecting += 1;
        let (ground, config) = (self.ground.clone(), self.config.clone());
        self.jobs.spawn(async move {
            let site = plot.connect(&ground, &config).await;
            let site = site.map(Arc::new).map_err(|error| format!("{error:#}"));
            Event::Connected(Box::new((plot, site)))
        });
    }

    /// A site is there: what an earlier start had in its hands goes on from there.
    async fn open(&mut self, site: Arc<Site>) -> anyhow::Result<()> {
        let project = site.id.clone();
        self.refusals.remove(&site.name);
        self.desk.log.info(&site.name, &format!("working on {} as @{}", site.html_url, site.me));
        self.desk.sites.insert(project.clone(), site);
        let left = self.desk.store.begin_instance(&self.desk.home, &self.desk.me, now()).await?;
        self.left.add(left);
        self.take_over().await?;
        let rows = self.desk.store.tasks(&project).await?;
        self.tidy(&project, rows.iter().filter_map(|row| merged(&row.facts, &row.stage)).collect());
        for row in rows {
            self.tell(&project, row.facts.number, None).await?;
        }
        if let (Until::Rest(issue), Some(site)) = (self.until, self.desk.sites.get(&project).cloned()) {
            let facts = self.desk.store.load_task(&project, issue).await?.task;
            self.look(&site, facts, vec![Look::Issue]);
        }
        self.desk.tell_project(&project, None).await?;
        let since = Moment::from_seconds(Moment(clock::now().0).seconds() - ORDERS_SINCE);
        let pulse = Pulse { since, listed: None, last: None, under_way: false, failing: None };
        self.polls.insert(project, pulse);
        Ok(())
    }

    /// Tells every task that is not over that time passed.
    async fn retell(&mut self, project: &ProjectId) -> anyhow::Result<()> {
        for row in self.desk.store.tasks(project).await? {
            if !matches!(row.stage, Stage::Ended { .. }) {
                self.tell(project, row.facts.number, None).await?;
            }
        }
        Ok(())
    }

    /// Asks agents to end when their time is over.
    fn drain(&mut self) {
        match self.stopping {
            Stopping::No => return,
            Stopping::Draining(since) if since.elapsed() < DRAIN => return,
            Stopping::Draining(_) | Stopping::Now => {}
        }
        self.stopping = Stopping::Now;
        self.hands.values().for_each(super::hands::Hand::stop);
    }

    /// Asks each forge what is new.
    fn poll(&mut self) {
        if !matches!(self.stopping, Stopping::No) {
            return;
        }
        for (project, pulse) in &mut self.polls {
            let Some(site) = self.desk.sites.get(project) else { continue };
            let due = pulse.last.is_none_or(|last| last.elapsed() >= site.policy.poll_interval);
            if due && !pulse.under_way {
                pulse.under_way = true;
                pulse.last = Some(Stopwatch::start());
                let (site, since) = (Arc::clone(site), pulse.since);
                self.jobs.spawn(async move { Event::Polled(poll(site, since).await) });
            }
        }
    }

    /// Looks at the tasks that are due.
    async fn due_looks(&mut self) -> anyhow::Result<()> {
        let now = now();
        let projects: Vec<ProjectId> = {
            let wakes = self.desk.project_wakes.iter().filter(|(_, at)| **at <= now);
            wakes.map(|(project, _)| project.clone()).collect()
        };
        for project in projects {
            self.desk.project_wakes.remove(&project);
            self.desk.tell_project(&project, None).await?;
        }
        let due: Vec<Subject> = {
            let wakes = self.desk.wakes.iter().filter(|(_, at)| **at <= now);
            wakes.map(|(subject, _)| subject.clone()).collect()
        };
        for (project, issue) in due {
            self.desk.wakes.remove(&(project.clone(), issue));
            let Some(site) = self.desk.sites.get(&project).cloned() else { continue };
            let loaded = self.desk.store.load_task(&project, issue).await?;
            let looks = turn(&loaded, None, &site.policy, now).task.map_or_else(Vec::new, |task| task.looks);
            if looks.is_empty() {
                self.tell(&project, issue, None).await?;
            } else {
                self.look(&site, loaded.task, looks);
            }
        }
        Ok(())
    }

    fn look(&mut self, site: &Arc<Site>, task: TaskFacts, looks: Vec<Look>) {
        if self.looking.insert((site.id.clone(), task.number)) {
            let site = Arc::clone(site);
            self.jobs.spawn(async move { Event::Looked(look(site, task, looks).await) });
        }
    }

    /// Another process may have decided about a run of ours.
    async fn look_at_others(&mut self) -> anyhow::Result<()> {
        let running: Vec<(ProjectId, TaskKey)> = self.hands.keys().cloned().collect();
        for (project, task) in running {
            let loaded = self.desk.store.load_task(&project, task.number()).await?;
            if let Some(Stage::Stopping { generation, .. }) = loaded.stage {
                self.stop_run(&project, &task, generation);
            }
        }
        for (project, issue) in self.ran.clone() {
            let loaded = self.desk.store.load_task(&project, issue).await?;
            if let Some(done) = loaded.stage.as_ref().and_then(|stage| merged(&loaded.task, stage)) {
                self.ran.remove(&(project.clone(), issue));
                self.tidy(&project, vec![done]);
            }
        }
        Ok(())
    }

    /// Deletes branches of tasks that are done from the checkout. What could not be deleted is at the next start.
    fn tidy(&mut self, project: &ProjectId, branches: Vec<(Branch, Sha)>) {
        let Some(site) = self.desk.sites.get(project).cloned().filter(|_| !branches.is_empty()) else {
            return;
        };
        self.jobs.spawn(async move {
            let left = site.forget(branches).await.err();
            Event::Tidied(left.map(|Trouble(failure)| (site.name.clone(), failure.detail)))
        });
    }

    fn stop_run(&mut self, project: &ProjectId, task: &TaskKey, generation: pilot_core::name::Generation) {
        if let Some(hand) = self.hands.get(&(project.clone(), task.clone()))
            && hand.generation == generation
        {
            hand.stop();
        }
    }

    /// Gives the next task its turn, as long as there is room.
    async fn dispatch(&mut self) -> anyhow::Result<()> {
        let mut checked_budget = false;
        loop {
            let projects: Vec<ProjectId> = self.desk.sites.keys().cloned().collect();
            let mut loaded: Vec<LoadedProject> = Vec::new();
            let mut candidates: Vec<Candidate> = Vec::new();
            for project in &projects {
                loaded.push(self.desk.store.load_project(project).await?);
                let queued = self.desk.store.queued(project, CONSIDERED).await?;
                candidates.extend(queued.into_iter().filter(|next| self.may_begin(next)));
            }
            let floors: Vec<Floor<'_>> = loaded
                .iter()
                .filter_map(|project| {
                    let mode = self.desk.sites.get(&project.facts.id)?.policy.mode;
                    Some(Floor { project: &project.facts, mode })
                })
                .collect();
            let most = usize::try_from(self.config.orchestrator.max_concurrent).unwrap_or(1);
            let Some(next) = dispatch::next(&floors, &candidates, most, now()) else {
                return Ok(());
            };
            if !std::mem::replace(&mut checked_budget, true) && self.check_budget().await? {
                continue;
            }
            let (project, task) = (next.project.clone(), next.task.clone());
            if !self.claim(&project, &task).await? {
                return Ok(());
            }
        }
    }

    fn may_begin(&self, next: &Candidate) -> bool {
        match self.until {
            Until::Stopped | Until::Quiet => true,
            Until::Rest(issue) => next.root == issue,
        }
    }

    async fn claim(&mut self, project: &ProjectId, task: &TaskKey) -> anyhow::Result<bool> {
        let before = self.desk.store.load_task(project, task.number()).await?.task.generation;
        let (home, instance) = (self.desk.home.clone(), self.desk.me.clone());
        let happened = Happened::Claimed { generation: before.next(), home, instance };
        self.tell(project, task.number(), Some(&Input { happened, settles: None })).await?;
        failpoint::reach("claimed");
        Ok(self.desk.store.load_task(project, task.number()).await?.task.generation > before)
    }

    /// Tells the projects whether the budget lets anything begin; true when that is news.
    async fn check_budget(&mut self) -> anyhow::Result<bool> {
        let window = Calendar::of_this_machine().window(clock::now())?;
        let standing = self.desk.store.standing(&window, None).await?;
        let spent = match budget::admit(&self.config.budget, &standing, reserve::TRIVIAL) {
            Admission::Go { .. } => None,
            Admission::Hold { why } | Admission::Refuse { why } => Some(why),
        };
        let mut news = false;
        let projects: Vec<ProjectId> = self.desk.sites.keys().cloned().collect();
        for project in projects {
            let before = self.desk.store.load_project(&project).await?.facts.budget;
            let happened = match (&before, &spent) {
                (None, None) => continue,
                (Some(before), Some(now)) if before == now => continue,
                (_, Some(why)) => ProjectHappened::BudgetSpent { why: why.clone() },
                (Some(_), None) => ProjectHappened::BudgetFree,
            };
            news = true;
            self.desk.tell_project(&project, Some(&ProjectInput { happened, settles: None })).await?;
            self.retell(&project).await?;
        }
        Ok(news)
    }

    /// Takes what is due out of the outbox and sets about it.
    async fn perform_due(&mut self) -> anyhow::Result<()> {
        let room = AT_ONCE.saturating_sub(u32::try_from(self.jobs.len()).unwrap_or(AT_ONCE));
        if room == 0 || self.desk.sites.is_empty() || matches!(self.stopping, Stopping::Now) {
            return Ok(());
        }
        let mut due = self.desk.store.take_due(&self.desk.me, now(), room).await?;
        due.append(&mut self.parked);
        for intent in due {
            let Some(site) = self.desk.sites.get(&intent.project).cloned() else {
                self.parked.push(intent);
                continue;
            };
            self.jobs.spawn(async move { Event::Performed(Box::new(perform(site, intent).await)) });
        }
        Ok(())
    }

    /// Tells the desk, and does what follows outside of the store.
    pub(super) async fn tell(
        &mut self,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<&Input>,
    ) -> anyhow::Result<Told> {
        let told = self.desk.tell(project, issue, input).await?;
        if let Some((task, generation)) = &told.stop {
            self.stop_run(project, task, *generation);
        }
        Ok(told)
    }
}
