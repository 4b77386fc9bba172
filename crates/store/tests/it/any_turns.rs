//! A law: whatever the core decides, in whatever order things happen, is there again when it is loaded.
//!
//! A small world tells three tasks what would happen next, or something else; after each turn everything the store says is
//! compared with what the turns said, kept in maps.

use std::collections::BTreeMap;

use pilot_core::ci::Conclusion;
use pilot_core::dispatch::Candidate;
use pilot_core::fact::{By, Happened, Order, ProjectFacts, ProjectHappened, RunEnding, TaskFacts};
use pilot_core::name::{IssueNumber, PrNumber, TaskKey};
use pilot_core::outcome::Class;
use pilot_core::seen::{Failure, FailureKind, IssueState, PrState};
use pilot_core::task::{Key, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{
    Applied, Entry, Input, Intent, OpenIntent, OutboxChange, ProjectEntry, ProjectInput, Turn, project_turn,
    replay,
};
use pilot_store::{Store, TaskRow};
use proptest::prelude::*;

use crate::desk::{
    Desk, TOLD, completed, done, home, issue, moment, project, pull_request, queueing, reading, sha,
};
use crate::world::World;

/// How many tasks there are.
const TASKS: u64 = 3;

/// Something that goes on.
#[derive(Clone, Debug)]
enum Event {
    /// What the world would tell of a task next.
    Next(u64),
    /// Something else is told of it.
    Told(u64, u8),
    /// It is looked at because time has passed.
    Looked(u64),
    /// Something is told of the project.
    Project(u8),
    /// What is due is taken, and done or failed.
    Performed(bool),
    /// What is due is taken, and Pilot dies.
    Killed,
    /// A turn is written that was taken before the last one.
    Late(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let task = 1..=TASKS;
    prop_oneof![
        8 => task.clone().prop_map(Event::Next),
        2 => (task.clone(), 0..8_u8).prop_map(|(task, what)| Event::Told(task, what)),
        1 => task.clone().prop_map(Event::Looked),
        1 => (0..4_u8).prop_map(Event::Project),
        6 => prop_oneof![4 => Just(true), 1 => Just(false)].prop_map(Event::Performed),
        1 => Just(Event::Killed),
        1 => task.prop_map(Event::Late),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_turn_said_is_what_is_loaded(
        events in proptest::collection::vec((event(), 0..90_i64), 0..70),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect(TOLD);
        runtime.block_on(go_through(&events));
    }
}

/// The path every task should be able to go, with nothing in its way: so that the law is about whole lives.
#[tokio::test]
async fn a_whole_life_is_loaded_as_it_was_told() {
    let mut events = Vec::new();
    for _ in 0..20 {
        events.extend([(Event::Next(1), 31), (Event::Performed(true), 31)]);
    }
    let ends = go_through(&events).await;
    assert_eq!(ends, ["done"]);
}

/// Gives where the tasks stand in the end.
async fn go_through(events: &[(Event, i64)]) -> Vec<&'static str> {
    let world = World::new();
    let store = world.store().await;
    let mut play = Play { desk: Desk::new(&store, "i0"), said: Said::default(), now: moment(0), starts: 0 };
    for (event, seconds) in events {
        play.now = Timestamp(play.now.0 + seconds * 1_000_000);
        play.on(event).await;
        play.said.check(&store).await;
    }
    store.check().await.expect("the file is whole");
    play.said.tasks.values().map(|task| task.row.stage.as_str()).collect()
}

struct Play {
    desk: Desk,
    said: Said,
    now: Timestamp,
    starts: u32,
}

impl Play {
    async fn on(&mut self, event: &Event) {
        match event {
            Event::Next(number) => {
                let loaded = self.desk.store.load_task(&project(), IssueNumber(*number)).await.expect(TOLD);
                if let Some(happened) = self.next(&loaded.task, loaded.stage.as_ref()) {
                    self.tell(*number, happened).await;
                }
            }
            Event::Told(number, what) => self.tell(*number, other(*number, *what, self.now)).await,
            Event::Looked(number) => {
                let turn = self.desk.turn(*number, None, self.now).await;
                self.write(&turn).await;
            }
            Event::Project(what) => self.tell_project(of_project(*what), None).await,
            Event::Performed(well) => {
                for intent in self.take().await {
                    self.report(&intent, *well).await;
                }
            }
            Event::Killed => self.die().await,
            Event::Late(number) => {
                let late = self.desk.turn(*number, None, self.now).await;
                let turn = self.desk.turn(*number, None, self.now).await;
                self.write(&turn).await;
                assert_eq!(self.desk.apply(&late, self.now).await, Applied::Stale);
            }
        }
    }

    /// What the world would tell next.
    fn next(&self, task: &TaskFacts, stage: Option<&Stage>) -> Option<Happened> {
        let Some(stage) = stage else {
            return Some(Happened::IssueSeen { issue: issue(task.number) });
        };
        Some(match stage {
            Stage::Checking { .. } => {
                let [_, permission, branch] = queueing(task.number);
                if task.permission.is_none() { permission } else { branch }
            }
            Stage::Queued { .. } => {
                let (home, instance) = (self.desk.home.clone(), self.desk.me.clone());
                Happened::Claimed { generation: task.generation.next(), home, instance }
            }
            Stage::Running { generation } => {
                Happened::RunEnded { generation: *generation, ending: completed() }
            }
            Stage::Stopping { generation, .. } => {
                Happened::RunEnded { generation: *generation, ending: stopped() }
            }
            Stage::AwaitingCi { sha, .. } => Happened::CiRead { reading: reading(sha, Conclusion::Success) },
            Stage::Merging { ready } => {
                let state = PrState::Merged { commit: sha('d') };
                let pr = pull_request(ready.pr().0, &task.branch(), ready.sha(), state);
                Happened::PrSeen { pr }
            }
            Stage::Landing { commit, .. } => Happened::BaseLookedAt { commit: commit.clone(), on_base: true },
            Stage::Held { .. }
            | Stage::Waiting { .. }
            | Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Continued { .. }
            | Stage::Ended { .. } => return None,
        })
    }

    async fn tell(&mut self, number: u64, happened: Happened) {
        let turn = self.desk.turn(number, Some(&Input { happened, settles: None }), self.now).await;
        self.write(&turn).await;
    }

    async fn tell_project(&mut self, happened: ProjectHappened, settles: Option<Key>) {
        let loaded = self.desk.store.load_project(&project()).await.expect(TOLD);
        let input = ProjectInput { happened, settles };
        let turn = project_turn(&loaded, Some(&input), &self.desk.policy, self.now);
        self.write(&turn).await;
    }

    async fn write(&mut self, turn: &Turn) {
        assert_eq!(self.desk.apply(turn, self.now).await, Applied::Written);
        self.said.take_in(turn, self.now);
    }

    async fn take(&mut self) -> Vec<Intent> {
        let taken = self.desk.take(self.now).await;
        self.said.taken(&taken, self.now);
        taken
    }

    async fn report(&mut self, intent: &Intent, well: bool) {
        let settles = Some(intent.key.clone());
        let failure = Failure::new(FailureKind::Server, "500 \u{1f4a5}");
        match (&intent.task, done(&intent.action).filter(|_| well)) {
            (Some(task), happened) => {
                let key = intent.key.clone();
                let happened = happened.unwrap_or(Happened::Failed { key, failure });
                let input = Input { happened, settles };
                let turn = self.desk.turn(task.number().0, Some(&input), self.now).await;
                self.write(&turn).await;
            }
            (None, _) if well => {
                let happened = ProjectHappened::Tagged { tag: "v0.1.0".to_owned(), commit: sha('d') };
                self.tell_project(happened, settles).await;
            }
            (None, _) => {
                let key = intent.key.clone();
                self.tell_project(ProjectHappened::Failed { key, failure }, settles).await;
            }
        }
    }

    /// Takes what is due and dies; the next start finds all of it, and everything the dead one had claimed.
    async fn die(&mut self) {
        let store = self.desk.store.clone();
        self.take().await;
        self.starts += 1;
        let home = home("home-of-i0");
        self.desk = Desk { home: home.clone(), ..Desk::new(&store, &format!("i{}", self.starts)) };
        let left = store.begin_instance(&home, &self.desk.me, self.now).await.expect(TOLD);
        assert_eq!(left.intents, self.said.in_hand());
        for (_, task, key) in left.intents {
            let failure = Failure::new(FailureKind::Interrupted, "");
            match task {
                Some(task) => {
                    let happened = Happened::Failed { key: key.clone(), failure };
                    let input = Input { happened, settles: Some(key) };
                    let turn = self.desk.turn(task.number().0, Some(&input), self.now).await;
                    self.write(&turn).await;
                }
                None => {
                    let happened = ProjectHappened::Failed { key: key.clone(), failure };
                    self.tell_project(happened, Some(key)).await;
                }
            }
        }
        for (_, task, generation) in left.claims {
            self.tell(task.number().0, Happened::Abandoned { generation }).await;
        }
        let again = store.begin_instance(&home, &self.desk.me, self.now).await.expect(TOLD);
        assert_eq!(again, Default::default(), "all of it was seen to");
    }
}

fn stopped() -> RunEnding {
    RunEnding::Stopped { class: Class::Cancelled, reason: "told to".to_owned(), again_at: None }
}

/// What may happen at any time.
fn other(number: u64, what: u8, now: Timestamp) -> Happened {
    let ordered = |order| Happened::Ordered { order, by: By::Operator };
    let number = IssueNumber(number);
    match what {
        0 => Happened::IssueGone,
        1 => Happened::IssueSeen {
            issue: pilot_core::seen::Issue { state: IssueState::Closed, updated_at: now, ..issue(number) },
        },
        2 => Happened::IssueSeen { issue: pilot_core::seen::Issue { updated_at: now, ..issue(number) } },
        3 => ordered(Order::Cancel),
        4 => ordered(Order::Retry),
        5 => ordered(Order::Pause),
        6 => ordered(Order::Resume),
        _ => Happened::PrClosed { pr: PrNumber(100) },
    }
}

fn of_project(what: u8) -> ProjectHappened {
    let by = "ann".to_owned();
    match what {
        0 => ProjectHappened::Paused { by },
        1 => ProjectHappened::Resumed { by },
        2 => ProjectHappened::BudgetSpent { why: "all of it".to_owned() },
        _ => ProjectHappened::BudgetFree,
    }
}

/// What the turns said.
#[derive(Default)]
struct Said {
    project: Option<(ProjectFacts, u64, Option<Timestamp>)>,
    project_log: Vec<ProjectEntry>,
    tasks: BTreeMap<TaskKey, Task>,
    outbox: BTreeMap<(Option<TaskKey>, Key), OpenIntent>,
    turns: u64,
}

struct Task {
    row: TaskRow,
    version: u64,
    log: Vec<Entry>,
}

impl Said {
    fn take_in(&mut self, turn: &Turn, now: Timestamp) {
        self.turns += 1;
        let change = &turn.project;
        if change.changed {
            self.project = Some((change.facts.clone(), change.version + 1, change.wake));
        }
        self.project_log.extend(change.log.iter().cloned());
        self.change(None, &change.outbox);
        let Some(change) = &turn.task else { return };
        let key = change.facts.key.clone();
        self.change(Some(&key), &change.outbox);
        let log = self.tasks.remove(&key).map_or_else(Vec::new, |task| task.log);
        let (facts, stage) = (change.facts.clone(), change.stage.clone());
        let row = TaskRow { facts, stage, wake: change.wake, changed_at: now };
        let log = log.into_iter().chain(change.log.iter().cloned()).collect();
        self.tasks.insert(key, Task { row, version: change.version + 1, log });
    }

    fn change(&mut self, task: Option<&TaskKey>, changes: &[OutboxChange]) {
        for change in changes {
            match change {
                OutboxChange::Settle(key) => {
                    self.outbox.remove(&(task.cloned(), key.clone()));
                }
                OutboxChange::Withdraw(key) => {
                    let gone = self.outbox.remove(&(task.cloned(), key.clone()));
                    assert!(gone.is_some_and(|intent| !intent.taken), "nobody is at what is withdrawn");
                }
                OutboxChange::Release(key) => self.at(task, key).taken = false,
                OutboxChange::Reschedule(key, not_before) => self.at(task, key).not_before = *not_before,
                OutboxChange::Plan(planned) => {
                    let (key, not_before) = (planned.key.clone(), planned.not_before);
                    let intent = OpenIntent { key: key.clone(), not_before, taken: false };
                    self.outbox.insert((task.cloned(), key), intent);
                }
            }
        }
    }

    fn at(&mut self, task: Option<&TaskKey>, key: &Key) -> &mut OpenIntent {
        self.outbox.get_mut(&(task.cloned(), key.clone())).expect("it is in the outbox")
    }

    /// All that was due, and nothing else.
    fn taken(&mut self, taken: &[Intent], now: Timestamp) {
        let mut due = 0;
        for intent in self.outbox.values_mut().filter(|intent| !intent.taken && intent.not_before <= now) {
            intent.taken = true;
            due += 1;
        }
        assert_eq!(due, taken.len());
        for intent in taken {
            assert!(self.at(intent.task.as_ref(), &intent.key).taken);
            assert_eq!(intent.action.key(), intent.key);
            match &intent.task {
                Some(task) => self.tasks.get_mut(task).expect("it is known").version += 1,
                None => self.project.as_mut().expect("it is known").1 += 1,
            }
        }
    }

    fn in_hand(&self) -> Vec<(pilot_core::name::ProjectId, Option<TaskKey>, Key)> {
        let taken = self.outbox.iter().filter(|(_, intent)| intent.taken);
        taken.map(|((task, key), _)| (project(), task.clone(), key.clone())).collect()
    }

    fn open(&self, task: Option<&TaskKey>) -> Vec<OpenIntent> {
        let of = self.outbox.iter().filter(|((whose, _), _)| whose.as_ref() == task);
        of.map(|(_, intent)| intent.clone()).collect()
    }

    /// Everything the store says is what the turns said.
    async fn check(&self, store: &Store) {
        let loaded = store.load_project(&project()).await.expect(TOLD);
        if let Some((facts, version, wake)) = &self.project {
            assert_eq!((&loaded.facts, &loaded.version, &loaded.wake), (facts, version, wake));
        }
        assert_eq!(loaded.open, self.open(None));
        assert_eq!(store.project_log(&project(), 1000).await.expect(TOLD), self.project_log);
        for (key, task) in &self.tasks {
            let of_task = store.load_task(&project(), key.number()).await.expect(TOLD);
            assert_eq!((&of_task.task, of_task.task_version), (&task.row.facts, task.version));
            assert_eq!((of_task.stage.as_ref(), &of_task.project), (Some(&task.row.stage), &loaded));
            assert_eq!(of_task.open, self.open(Some(key)));
            let log = store.task_log(&project(), key).await.expect(TOLD);
            assert_eq!(log, task.log);
            let told = replay(TaskFacts::new(project(), key.number()), &log);
            assert_eq!(told, task.row.facts, "the log alone says the same");
        }
        self.check_lists(store).await;
    }

    async fn check_lists(&self, store: &Store) {
        let mut rows = store.tasks(&project()).await.expect(TOLD);
        rows.sort_by(|one, other| one.facts.key.cmp(&other.facts.key));
        assert!(rows.iter().eq(self.tasks.values().map(|task| &task.row)), "{rows:?}");
        let ranked = rows.iter().filter_map(|row| {
            let Stage::Queued { rank } = &row.stage else { return None };
            Some(Candidate::of(&row.facts, *rank))
        });
        let mut ranked: Vec<Candidate> = ranked.collect();
        ranked.sort_by(|one, other| (one.rank, &one.task).cmp(&(other.rank, &other.task)));
        assert_eq!(store.queued(&project(), 100).await.expect(TOLD), ranked);
        let waiting = self.outbox.values().filter(|intent| !intent.taken);
        let next = waiting.map(|intent| intent.not_before).min();
        assert_eq!(store.next_due().await.expect(TOLD), next);
        assert_eq!(store.version().await.expect(TOLD), self.turns);
    }
}
