//! A law: whatever the core decides, in whatever order things happen, is loaded again as it was written.
//!
//! Events happen to three tasks, likely ones or any other; after each turn everything the store returns is compared with
//! what the turns wrote, kept in maps.

use std::collections::BTreeMap;

use pilot_core::ci::CheckState;
use pilot_core::dispatch::Candidate;
use pilot_core::fact::{
    CommandSource, ProjectEvent, ProjectFacts, RunEnding, TaskEvent, TaskFacts, UserCommand,
};
use pilot_core::id::{InstanceId, PrNumber, Sha, TaskKey};
use pilot_core::observed::{Failure, FailureKind, PrState, TicketState};
use pilot_core::outcome::Class;
use pilot_core::task::{Key, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{
    Applied, Entry, Input, OpenEntry, OutboxChange, OutboxEntry, ProjectEntry, ProjectInput, Turn,
    project_turn, replay,
};
use pilot_store::{Store, TaskRow};
use proptest::prelude::*;

use crate::instance::{
    Instance, completed, event_of, gh, home, number_of, project, pull_request, queueing_events, reading, sha,
    ticket,
};
use crate::world::{WORKS, World, at};

/// How many tasks there are.
const TASKS: u64 = 3;

#[derive(Clone, Debug)]
enum Event {
    /// The next event in the life of a task.
    Next(u64),
    /// Another event of a task.
    Other(u64, u8),
    /// Time passes for a task.
    Tick(u64),
    /// An event of the project.
    Project(u8),
    /// Due actions are taken, and done or failed.
    Performed(bool),
    /// Due actions are taken, and Pilot dies.
    Killed,
    /// A turn is written that was decided before the last one.
    Late(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let task = 1..=TASKS;
    prop_oneof![
        8 => task.clone().prop_map(Event::Next),
        2 => (task.clone(), 0..8_u8).prop_map(|(task, what)| Event::Other(task, what)),
        1 => task.clone().prop_map(Event::Tick),
        1 => (0..4_u8).prop_map(Event::Project),
        6 => prop_oneof![4 => Just(true), 1 => Just(false)].prop_map(Event::Performed),
        1 => Just(Event::Killed),
        1 => task.prop_map(Event::Late),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_turn_wrote_is_what_is_loaded(
        events in proptest::collection::vec((event(), 0..90_i64), 0..70),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect(WORKS);
        runtime.block_on(apply_all(&events));
    }
}

/// One task from its label to its end, so that the law is about whole lives.
#[tokio::test]
async fn a_whole_life_is_loaded_as_it_was_written() {
    let mut events = Vec::new();
    for _ in 0..20 {
        events.extend([(Event::Next(1), 31), (Event::Performed(true), 31)]);
    }
    let ends = apply_all(&events).await;
    assert_eq!(ends, ["done"]);
}

/// Returns the stages of the tasks in the end.
async fn apply_all(events: &[(Event, i64)]) -> Vec<&'static str> {
    let world = World::new();
    let store = world.store().await;
    let mut scenario = Scenario {
        instance: Instance::new(&store, "i0"),
        expected: Expected::default(),
        now: at(0),
        starts: 0,
    };
    for (event, seconds) in events {
        scenario.now = Timestamp(scenario.now.0 + seconds * 1_000_000);
        scenario.on(event).await;
        scenario.expected.check(&store, &scenario.instance.me).await;
    }
    store.check().await.expect("the file is whole");
    scenario.expected.tasks.values().map(|task| task.row.stage.as_str()).collect()
}

struct Scenario {
    instance: Instance,
    expected: Expected,
    now: Timestamp,
    starts: u32,
}

impl Scenario {
    async fn on(&mut self, event: &Event) {
        match event {
            Event::Next(number) => {
                let loaded = self.instance.store.load_task(&project(), &gh(*number)).await.expect(WORKS);
                if let Some(event) = self.next(&loaded.task, loaded.stage.as_ref()) {
                    self.record(*number, event).await;
                }
            }
            Event::Other(number, what) => self.record(*number, other(*number, *what, self.now)).await,
            Event::Tick(number) => {
                let turn = self.instance.decide(*number, None, self.now).await;
                self.write(&turn).await;
            }
            Event::Project(what) => self.record_project(of_project(*what), None).await,
            Event::Performed(well) => {
                for entry in self.take().await {
                    self.report(&entry, *well).await;
                }
            }
            Event::Killed => self.die().await,
            Event::Late(number) => {
                let late = self.instance.decide(*number, None, self.now).await;
                let turn = self.instance.decide(*number, None, self.now).await;
                self.write(&turn).await;
                assert_eq!(self.instance.apply(&late, self.now).await, Applied::Stale);
            }
        }
    }

    /// The next event in the life of a task.
    fn next(&self, task: &TaskFacts, stage: Option<&Stage>) -> Option<TaskEvent> {
        let Some(stage) = stage else {
            return Some(TaskEvent::TicketRead { ticket: ticket(task.key.clone()) });
        };
        Some(match stage {
            Stage::Checking { .. } => {
                let [_, trust, branch] = queueing_events(task.key.clone());
                if task.trust.is_none() { trust } else { branch }
            }
            Stage::Queued { .. } => {
                let (home, instance) = (self.instance.home.clone(), self.instance.me.clone());
                TaskEvent::Claimed { generation: task.generation.next(), home, instance }
            }
            Stage::Running { generation } => {
                TaskEvent::RunEnded { generation: *generation, ending: completed() }
            }
            Stage::Stopping { generation, .. } => {
                TaskEvent::RunEnded { generation: *generation, ending: stopped() }
            }
            Stage::AwaitingCi { sha, .. } => TaskEvent::CiRead { reading: reading(sha, CheckState::Passed) },
            Stage::Merging { ready } => {
                let state = PrState::Merged { commit: sha('d') };
                let pr = pull_request(ready.pr().0, &task.branch(), ready.sha(), state);
                TaskEvent::PrRead { pr }
            }
            Stage::Landing { commit, .. } => TaskEvent::BaseChecked { commit: commit.clone(), on_base: true },
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

    async fn record(&mut self, number: u64, event: TaskEvent) {
        let turn = self.instance.decide(number, Some(&Input { event, settles: None }), self.now).await;
        self.write(&turn).await;
    }

    async fn record_project(&mut self, event: ProjectEvent, settles: Option<Key>) {
        let loaded = self.instance.store.load_project(&project()).await.expect(WORKS);
        let input = ProjectInput { event, settles };
        let turn = project_turn(&loaded, Some(&input), &self.instance.policy, self.now);
        self.write(&turn).await;
    }

    async fn write(&mut self, turn: &Turn) {
        assert_eq!(self.instance.apply(turn, self.now).await, Applied::Written);
        self.expected.add_turn(turn, self.now);
    }

    async fn take(&mut self) -> Vec<OutboxEntry> {
        let taken = self.instance.take(self.now).await;
        self.expected.taken(&taken, self.now);
        taken
    }

    async fn report(&mut self, entry: &OutboxEntry, well: bool) {
        let settles = Some(entry.key.clone());
        let failure = Failure::new(FailureKind::Server, "500 \u{1f4a5}");
        match (&entry.task, event_of(&entry.action).filter(|_| well)) {
            (Some(task), event) => {
                let key = entry.key.clone();
                let event = event.unwrap_or(TaskEvent::Failed { key, failure });
                let input = Input { event, settles };
                let turn = self.instance.decide(number_of(task), Some(&input), self.now).await;
                self.write(&turn).await;
            }
            (None, _) if well => {
                let event = ProjectEvent::Tagged { tag: "v0.1.0".to_owned(), commit: sha('d') };
                self.record_project(event, settles).await;
            }
            (None, _) => {
                let key = entry.key.clone();
                self.record_project(ProjectEvent::Failed { key, failure }, settles).await;
            }
        }
    }

    /// Takes due actions and dies; the next start finds all of them, and every claim of the dead instance.
    async fn die(&mut self) {
        let store = self.instance.store.clone();
        self.take().await;
        self.starts += 1;
        let home = home("home-of-i0");
        self.instance =
            Instance { home: home.clone(), ..Instance::new(&store, &format!("i{}", self.starts)) };
        let left = store.begin_instance(&home, &self.instance.me, self.now).await.expect(WORKS);
        assert_eq!(left.intents, self.expected.taken_entries());
        for (_, task, key) in left.intents {
            let failure = Failure::new(FailureKind::Interrupted, "");
            match task {
                Some(task) => {
                    let event = TaskEvent::Failed { key: key.clone(), failure };
                    let input = Input { event, settles: Some(key) };
                    let turn = self.instance.decide(number_of(&task), Some(&input), self.now).await;
                    self.write(&turn).await;
                }
                None => {
                    let event = ProjectEvent::Failed { key: key.clone(), failure };
                    self.record_project(event, Some(key)).await;
                }
            }
        }
        for (_, task, generation) in left.claims {
            self.record(number_of(&task), TaskEvent::Abandoned { generation }).await;
        }
        let again = store.begin_instance(&home, &self.instance.me, self.now).await.expect(WORKS);
        assert_eq!(again, Default::default(), "nothing is left");
    }
}

fn stopped() -> RunEnding {
    RunEnding::Stopped { class: Class::Cancelled, reason: "cancelled".to_owned(), again_at: None }
}

/// An event that may happen at any time.
fn other(number: u64, what: u8, now: Timestamp) -> TaskEvent {
    let ordered = |command| TaskEvent::CommandReceived { command, by: CommandSource::Operator };
    let number = gh(number);
    match what {
        0 => TaskEvent::TicketGone,
        1 => TaskEvent::TicketRead {
            ticket: pilot_core::observed::Ticket {
                state: TicketState::Closed,
                updated_at: now,
                ..ticket(number)
            },
        },
        2 => TaskEvent::TicketRead {
            ticket: pilot_core::observed::Ticket { updated_at: now, ..ticket(number) },
        },
        3 => ordered(UserCommand::Cancel),
        4 => ordered(UserCommand::Retry),
        5 => ordered(UserCommand::Pause),
        6 => ordered(UserCommand::Resume),
        _ => TaskEvent::PrClosed { pr: PrNumber(100) },
    }
}

fn of_project(what: u8) -> ProjectEvent {
    let by = "ann".to_owned();
    match what {
        0 => ProjectEvent::Paused { by },
        1 => ProjectEvent::Resumed { by },
        _ => ProjectEvent::Tagged {
            tag: "v0.1.0".to_owned(),
            commit: Sha::parse(&"7".repeat(40)).expect("a commit"),
        },
    }
}

/// What the turns wrote.
#[derive(Default)]
struct Expected {
    project: Option<(ProjectFacts, u64, Option<Timestamp>)>,
    project_log: Vec<ProjectEntry>,
    tasks: BTreeMap<TaskKey, Task>,
    outbox: BTreeMap<(Option<TaskKey>, Key), OpenEntry>,
    turns: u64,
}

struct Task {
    row: TaskRow,
    version: u64,
    log: Vec<Entry>,
}

impl Expected {
    fn add_turn(&mut self, turn: &Turn, now: Timestamp) {
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
                    assert!(gone.is_some_and(|entry| !entry.taken), "a taken action is not withdrawn");
                }
                OutboxChange::Release(key) => self.at(task, key).taken = false,
                OutboxChange::Reschedule(key, not_before) => self.at(task, key).not_before = *not_before,
                OutboxChange::Plan(planned) => {
                    let (key, not_before) = (planned.key.clone(), planned.not_before);
                    let entry = OpenEntry { key: key.clone(), not_before, taken: false };
                    self.outbox.insert((task.cloned(), key), entry);
                }
            }
        }
    }

    fn at(&mut self, task: Option<&TaskKey>, key: &Key) -> &mut OpenEntry {
        self.outbox.get_mut(&(task.cloned(), key.clone())).expect("it is in the outbox")
    }

    /// Expects all due actions to be taken, and no other.
    fn taken(&mut self, taken: &[OutboxEntry], now: Timestamp) {
        let mut due = 0;
        for entry in self.outbox.values_mut().filter(|entry| !entry.taken && entry.not_before <= now) {
            entry.taken = true;
            due += 1;
        }
        assert_eq!(due, taken.len());
        for entry in taken {
            assert!(self.at(entry.task.as_ref(), &entry.key).taken);
            assert_eq!(entry.action.key(), entry.key);
            match &entry.task {
                Some(task) => self.tasks.get_mut(task).expect("it is known").version += 1,
                None => self.project.as_mut().expect("it is known").1 += 1,
            }
        }
    }

    fn taken_entries(&self) -> Vec<(pilot_core::id::ProjectId, Option<TaskKey>, Key)> {
        let taken = self.outbox.iter().filter(|(_, entry)| entry.taken);
        taken.map(|((task, key), _)| (project(), task.clone(), key.clone())).collect()
    }

    fn open(&self, task: Option<&TaskKey>) -> Vec<OpenEntry> {
        let of = self.outbox.iter().filter(|((whose, _), _)| whose.as_ref() == task);
        of.map(|(_, entry)| entry.clone()).collect()
    }

    /// Everything the store returns is what the turns wrote.
    async fn check(&self, store: &Store, me: &InstanceId) {
        let loaded = store.load_project(&project()).await.expect(WORKS);
        if let Some((facts, version, wake)) = &self.project {
            assert_eq!((&loaded.facts, &loaded.version, &loaded.wake), (facts, version, wake));
        }
        assert_eq!(loaded.open, self.open(None));
        assert_eq!(store.project_log(&project(), 1000).await.expect(WORKS), self.project_log);
        for (key, task) in &self.tasks {
            let of_task = store.load_task(&project(), key).await.expect(WORKS);
            assert_eq!((&of_task.task, of_task.task_version), (&task.row.facts, task.version));
            assert_eq!((of_task.stage.as_ref(), &of_task.project), (Some(&task.row.stage), &loaded));
            assert_eq!(of_task.open, self.open(Some(key)));
            let log = store.task_log(&project(), key).await.expect(WORKS);
            assert_eq!(log, task.log);
            let replayed = replay(TaskFacts::new(project(), key.clone()), &log);
            assert_eq!(replayed, task.row.facts, "the log alone gives the same");
        }
        self.check_lists(store, me).await;
    }

    async fn check_lists(&self, store: &Store, me: &InstanceId) {
        let mut rows = store.tasks(&project()).await.expect(WORKS);
        rows.sort_by(|one, other| one.facts.key.cmp(&other.facts.key));
        assert!(rows.iter().eq(self.tasks.values().map(|task| &task.row)), "{rows:?}");
        let ranked = rows.iter().filter_map(|row| {
            let Stage::Queued { rank } = &row.stage else { return None };
            Some(Candidate::of(&row.facts, *rank))
        });
        let mut ranked: Vec<Candidate> = ranked.collect();
        ranked.sort_by(|one, other| (one.rank, &one.task).cmp(&(other.rank, &other.task)));
        assert_eq!(store.queued(&project(), 100).await.expect(WORKS), ranked);
        let waiting = self.outbox.values().filter(|entry| !entry.taken);
        let next = waiting.map(|entry| entry.not_before).min();
        assert_eq!(store.next_due(me).await.expect(WORKS), next);
        assert_eq!(store.version().await.expect(WORKS), self.turns);
    }
}
