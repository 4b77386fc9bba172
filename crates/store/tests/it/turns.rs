//! When a turn is written, and what is stored then.

use pilot_core::fact::{ProjectEvent, TaskEvent};
use pilot_core::id::{Generation, TaskKey};
use pilot_core::observed::{Failure, FailureKind, Trust};
use pilot_core::task::{Planned, Stage};
use pilot_core::turn::{Applied, ClaimChange, Input, OpenEntry, OutboxChange, Turn};
use pilot_store::{LEASE, Store};

use crate::instance::{Instance, completed, event_of, gh, home, instance, number_of, project};
use crate::world::{WORKS, World, at};

fn key(number: u64) -> TaskKey {
    gh(number)
}

async fn open(store: &Store, number: u64) -> Vec<(String, bool)> {
    let loaded = store.load_task(&project(), &gh(number)).await.expect(WORKS);
    loaded.open.into_iter().map(|entry| (entry.key.to_string(), entry.taken)).collect()
}

fn lanes(open: &[(String, bool)]) -> Vec<&str> {
    open.iter().filter_map(|(key, _)| key.split(':').next()).collect()
}

/// A turn of a task that changes only its outbox.
async fn with_outbox(instance: &Instance, number: u64, changes: Vec<OutboxChange>) -> Turn {
    let mut turn = instance.decide(number, None, at(50)).await;
    turn.task.as_mut().expect("it is about a task").outbox = changes;
    turn
}

#[tokio::test]
async fn an_empty_store_knows_nothing() {
    let world = World::new();
    let store = world.store().await;
    let loaded = store.load_task(&project(), &gh(1)).await.unwrap();
    assert_eq!((loaded.task_version, loaded.stage, loaded.project.version), (0, None, 0));
    assert!(loaded.open.is_empty() && loaded.project.open.is_empty());
    assert!(store.project_ids().await.unwrap().is_empty());
    assert!(store.tasks(&project()).await.unwrap().is_empty());
    assert_eq!(store.next_due(&instance("ann")).await.unwrap(), None);
    assert_eq!(store.version().await.unwrap(), 0);
}

#[tokio::test]
async fn of_two_turns_from_the_same_facts_one_is_written() {
    let world = World::new();
    let (one, two) = (world.store().await, world.store().await);
    let (ann, bob) = (Instance::new(&one, "ann"), Instance::new(&two, "bob"));
    ann.enqueue(1, at(0)).await;
    let (first, second) = (ann.decide_claim(1, at(1)).await, bob.decide_claim(1, at(1)).await);
    assert_eq!(ann.apply(&first, at(1)).await, Applied::Written);
    let seen = two.version().await.unwrap();
    assert_eq!(bob.apply(&second, at(1)).await, Applied::Stale);
    assert_eq!(ann.apply(&first, at(1)).await, Applied::Stale);
    assert_eq!(two.version().await.unwrap(), seen, "nothing was written");
    let loaded = two.load_task(&project(), &gh(1)).await.unwrap();
    assert_eq!(loaded.task.life.claim.unwrap().instance, instance("ann"));
}

#[tokio::test]
async fn a_project_that_changed_makes_every_turn_of_it_stale() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    ann.enqueue(2, at(0)).await;
    let claims = ann.decide_claim(2, at(1)).await;
    let login = "ann".to_owned();
    let event = TaskEvent::TrustRead { login, trust: Trust::Trusted };
    let looks = ann.decide(1, Some(&Input { event, settles: None }), at(1)).await;
    assert!(claims.project.changed && !looks.project.changed);
    let by = "bob".to_owned();
    assert_eq!(ann.record_project(ProjectEvent::Paused { by }, at(1)).await, Applied::Written);
    for before in [claims, looks] {
        assert_eq!(ann.apply(&before, at(1)).await, Applied::Stale);
    }
    let log = store.project_log(&project(), 10).await.unwrap();
    assert_eq!(log.len(), 1);
    assert!(store.project_log(&project(), 0).await.unwrap().is_empty());
    assert_eq!(store.project_ids().await.unwrap(), [project()]);
}

#[tokio::test]
async fn a_claim_is_taken_once_and_its_number_never_again() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    assert_eq!(ann.claim(1, at(1)).await, Applied::Written);
    let abandoned = TaskEvent::Abandoned { generation: Generation(1) };
    assert_eq!(ann.record(1, abandoned, at(2)).await, Applied::Written);
    let mut again = ann.decide_claim(1, at(3)).await;
    let task = again.task.as_mut().unwrap();
    let (home, instance) = (home("h"), instance("bob"));
    task.claim = Some(ClaimChange::Take { generation: Generation(1), home, instance });
    assert_eq!(ann.apply(&again, at(3)).await, Applied::Taken);
    assert_eq!(ann.claim(1, at(3)).await, Applied::Written);
}

/// Bob read the queue before Ann claimed, and the task after it.
#[tokio::test]
async fn a_claimed_task_is_not_claimed_again() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Instance::new(&store, "ann"), Instance::new(&store, "bob"));
    ann.enqueue(1, at(0)).await;
    assert_eq!(ann.claim(1, at(1)).await, Applied::Written);
    let before = store.load_task(&project(), &gh(1)).await.unwrap();
    let late = bob.decide_claim(1, at(1)).await;
    assert_eq!(late.task.as_ref().unwrap().claim, None);
    assert_eq!(bob.apply(&late, at(1)).await, Applied::Written);
    assert_eq!(store.load_task(&project(), &gh(1)).await.unwrap().task, before.task);
}

#[tokio::test]
async fn an_instance_that_lost_its_claim_writes_nothing() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Instance::new(&store, "ann"), Instance::new(&store, "bob"));
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(1)).await;
    let place = ann.take_action("claim", at(1)).await;
    ann.settle(1, &place.key, event_of(&place.action).unwrap(), at(2)).await;
    let start = ann.take_action("run", at(2)).await;
    ann.settle(1, &start.key, event_of(&start.action).unwrap(), at(2)).await;
    let ended = || TaskEvent::RunEnded { generation: Generation(1), ending: completed() };

    assert_eq!(bob.record(1, ended(), at(3)).await, Applied::Fenced, "it is the claim of another instance");
    let abandoned = TaskEvent::Abandoned { generation: Generation(1) };
    let mut late = ann.decide(1, None, at(3)).await;
    assert_eq!(bob.record(1, abandoned, at(3)).await, Applied::Written);
    let now = store.load_task(&project(), &gh(1)).await.unwrap();
    late.project.version = now.project.version;
    let task = late.task.as_mut().unwrap();
    (task.version, task.fence) = (now.task_version, Some(Generation(1)));
    assert_eq!(ann.apply(&late, at(3)).await, Applied::Fenced, "the claim has ended");
    assert_eq!(store.load_task(&project(), &gh(1)).await.unwrap(), now);
}

#[tokio::test]
async fn an_action_is_taken_by_one_instance_and_settled_by_it() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Instance::new(&store, "ann"), Instance::new(&store, "bob"));
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(1)).await;
    assert_eq!(store.next_due(&ann.me).await.unwrap(), Some(at(1)));
    assert_eq!(store.next_due(&bob.me).await.unwrap(), None, "the task is claimed by another instance");
    assert!(bob.take(at(1)).await.is_empty(), "so its actions are left to that one");
    let before = ann.decide(1, None, at(1)).await;
    let place = ann.take_action("claim", at(1)).await;
    assert_eq!(
        ann.apply(&before, at(1)).await,
        Applied::Stale,
        "which actions are taken is part of the facts"
    );
    assert!(bob.take(at(1)).await.is_empty());
    let taken = |holder: &Instance| {
        let (store, me, key) = (store.clone(), holder.me.clone(), place.key.clone());
        async move { store.has_taken(&project(), Some(&TaskKey::parse("GH-1").unwrap()), &key, &me).await }
    };
    assert!(taken(&ann).await.unwrap() && !taken(&bob).await.unwrap());
    let placed = || TaskEvent::ClaimPlaced { generation: Generation(1) };
    let failed =
        || TaskEvent::Failed { key: place.key.clone(), failure: Failure::new(FailureKind::Lost, "") };
    for event in [placed(), failed()] {
        assert_eq!(bob.settle(1, &place.key, event, at(2)).await, Applied::Fenced);
    }
    assert!(taken(&ann).await.unwrap());
    assert_eq!(ann.settle(1, &place.key, placed(), at(2)).await, Applied::Written);
    assert!(!taken(&ann).await.unwrap());
    assert_eq!(ann.settle(1, &place.key, placed(), at(2)).await, Applied::Fenced, "it is settled");
}

#[tokio::test]
async fn a_failed_action_is_released_and_rescheduled() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(1)).await;
    let place = ann.take_action("claim", at(1)).await;
    let failure = Failure::new(FailureKind::NotSent, "no way");
    let failed = TaskEvent::Failed { key: place.key.clone(), failure };
    assert_eq!(ann.settle(1, &place.key, failed, at(2)).await, Applied::Written);
    assert!(open(&store, 1).await.contains(&(place.key.to_string(), false)));
    let due = store.next_due(&ann.me).await.unwrap().unwrap();
    assert!(due > at(2), "released and rescheduled");
    assert!(ann.take(at(2)).await.is_empty());
    assert_eq!(ann.take_action("claim", due).await, place);
}

#[tokio::test]
async fn the_outbox_takes_every_change() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(1)).await;
    let taken = ann.take(at(1)).await;
    let place = taken.iter().find(|entry| entry.key.lane().as_str() == "claim").unwrap().clone();
    let changes = taken.iter().map(|entry| OutboxChange::Settle(entry.key.clone())).collect();
    let turn = with_outbox(&ann, 1, changes).await;
    assert_eq!(ann.apply(&turn, at(2)).await, Applied::Written);
    assert!(open(&store, 1).await.is_empty());

    let plan = |seconds| {
        let (key, action) = (place.key.clone(), place.action.clone());
        OutboxChange::Plan(Planned { key, action, not_before: at(seconds) })
    };
    let turn = with_outbox(&ann, 1, vec![plan(100)]).await;
    assert_eq!(ann.apply(&turn, at(3)).await, Applied::Written);
    let turn = with_outbox(&ann, 1, vec![plan(90)]).await;
    assert_eq!(ann.apply(&turn, at(3)).await, Applied::Written, "the later plan replaces the earlier");
    assert_eq!(store.next_due(&ann.me).await.unwrap(), Some(at(90)));
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Reschedule(place.key.clone(), at(80))]).await;
    assert_eq!(ann.apply(&turn, at(3)).await, Applied::Written);
    let loaded = store.load_task(&project(), &gh(1)).await.unwrap();
    let planned = OpenEntry { key: place.key.clone(), not_before: at(80), taken: false };
    assert_eq!(loaded.open, [planned]);
    assert!(ann.take(at(79)).await.is_empty());

    assert_eq!(ann.take(at(80)).await, std::slice::from_ref(&place));
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Withdraw(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, at(81)).await, Applied::Written);
    assert_eq!(lanes(&open(&store, 1).await), ["claim"], "a taken action is not withdrawn");
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Release(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, at(81)).await, Applied::Written);
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Withdraw(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, at(81)).await, Applied::Written);
    assert!(open(&store, 1).await.is_empty());
    assert_eq!(store.next_due(&ann.me).await.unwrap(), None);
}

#[tokio::test]
async fn a_refused_turn_writes_nothing() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(1)).await;
    let place = ann.take_action("claim", at(1)).await;
    let before = store.load_task(&project(), &gh(1)).await.unwrap();
    let log = store.task_log(&project(), &key(1)).await.unwrap();
    let plan = Planned { key: place.key.clone(), action: place.action.clone(), not_before: at(9) };
    let mut turn = ann.decide(1, Some(&stopped(1)), at(2)).await;
    let task = turn.task.as_mut().unwrap();
    task.outbox = vec![OutboxChange::Plan(plan), OutboxChange::Settle(place.key.clone())];
    // The new plan has no holder, so the last change of the turn is refused.
    assert_eq!(ann.apply(&turn, at(2)).await, Applied::Fenced);
    assert_eq!(store.load_task(&project(), &gh(1)).await.unwrap(), before);
    assert_eq!(store.task_log(&project(), &key(1)).await.unwrap(), log);
}

fn stopped(generation: u32) -> Input {
    let event = TaskEvent::Abandoned { generation: Generation(generation) };
    Input { event, settles: None }
}

#[tokio::test]
async fn a_restart_takes_over_the_claims_and_actions_of_its_home() {
    let world = World::new();
    let store = world.store().await;
    let (dead, other) = (Instance::new(&store, "dead"), Instance::new(&store, "other"));
    assert_eq!(store.begin_instance(&dead.home, &dead.me, at(0)).await.unwrap(), Default::default());
    assert_eq!(store.begin_instance(&other.home, &other.me, at(0)).await.unwrap(), Default::default());
    for number in [1, 2, 3] {
        dead.enqueue(number, at(0)).await;
    }
    dead.claim(1, at(1)).await;
    let place = dead.take_action("claim", at(1)).await;
    other.claim(2, at(1)).await;
    other.take_action("claim", at(1)).await;

    let next = Instance { home: dead.home.clone(), ..Instance::new(&store, "next") };
    let left = store.begin_instance(&next.home, &next.me, at(2)).await.unwrap();
    assert_eq!(left.claims, [(project(), key(1), Generation(1))]);
    assert!(left.intents.contains(&(project(), Some(key(1)), place.key.clone())));
    assert!(left.intents.iter().all(|(_, task, _)| *task == Some(key(1))), "{left:?}");
    assert!(store.has_taken(&project(), Some(&key(1)), &place.key, &next.me).await.unwrap());
    let placed = || TaskEvent::ClaimPlaced { generation: Generation(1) };
    assert_eq!(
        dead.settle(1, &place.key, placed(), at(3)).await,
        Applied::Fenced,
        "another instance has taken it over"
    );

    // Killed again before it recorded anything: the same is left.
    let third = Instance { home: dead.home.clone(), ..Instance::new(&store, "third") };
    let again = store.begin_instance(&third.home, &third.me, at(4)).await.unwrap();
    assert_eq!(again, left);
    let failure = Failure::new(FailureKind::Interrupted, "");
    for (_, _, entry) in &left.intents {
        let failed = TaskEvent::Failed { key: entry.clone(), failure: failure.clone() };
        assert_eq!(third.settle(1, entry, failed, at(5)).await, Applied::Written);
    }
    assert_eq!(third.record(1, stopped(1).event, at(5)).await, Applied::Written);
    assert_eq!(
        store.begin_instance(&dead.home, &instance("fourth"), at(6)).await.unwrap(),
        Default::default()
    );
}

#[tokio::test]
async fn an_instance_that_does_not_renew_its_lease_loses_what_it_holds() {
    let world = World::new();
    let store = world.store().await;
    let (without_comments, alive, heir) = (
        Instance::new(&store, "without_comments"),
        Instance::new(&store, "alive"),
        Instance::new(&store, "heir"),
    );
    for (number, instance) in [(1, &without_comments), (2, &alive)] {
        instance.enqueue(number, at(0)).await;
        instance.claim(number, at(0)).await;
        instance.take_action("claim", at(0)).await;
    }
    let end = at(0).after(LEASE);
    assert_eq!(store.lapsed(&heir.me, end).await.unwrap(), Default::default(), "not yet");
    store.renew(&alive.me, at(30)).await.unwrap();
    let later = at(1).after(LEASE);
    assert_eq!(
        store.lapsed(&without_comments.me, later).await.unwrap(),
        Default::default(),
        "an instance does not take over its own"
    );
    let left = store.lapsed(&heir.me, later).await.unwrap();
    assert_eq!(left.claims, [(project(), key(1), Generation(1))]);
    assert!(!left.intents.is_empty() && left.intents.iter().all(|(_, task, _)| *task == Some(key(1))));
    let next = store.lapsed(&heir.me, later).await.unwrap();
    assert!(next.intents.is_empty(), "they belong to the heir now");
    assert_eq!(next.claims, left.claims, "until the claim is ended");
    assert_eq!(heir.record(1, stopped(1).event, later).await, Applied::Written);
    assert!(store.lapsed(&heir.me, later).await.unwrap().claims.is_empty());
}

#[tokio::test]
async fn the_queue_is_in_order_and_as_short_as_asked() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    for number in [3, 1, 12, 2] {
        ann.enqueue(number, at(0)).await;
    }
    let queued = |limit| {
        let store = store.clone();
        async move {
            let queued = store.queued(&project(), limit).await.unwrap();
            queued.into_iter().map(|candidate| number_of(&candidate.task)).collect::<Vec<u64>>()
        }
    };
    assert_eq!(queued(10).await, [1, 2, 3, 12], "the oldest first");
    assert_eq!(queued(2).await, [1, 2]);
    assert_eq!(ann.claim(1, at(1)).await, Applied::Written);
    assert_eq!(queued(10).await, [2, 3, 12]);
    let rows = store.tasks(&project()).await.unwrap();
    let stages: Vec<&str> = rows.iter().map(|row| row.stage.as_str()).collect();
    assert_eq!(stages, ["claiming", "queued", "queued", "queued"]);
    assert_eq!((rows[0].changed_at, &rows[0].facts.key), (at(1), &key(1)));
    let of_another = pilot_core::id::ProjectId::parse("github:acme/other").unwrap();
    assert!(store.queued(&of_another, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_last_ended_tasks_are_listed() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    let cancel = || {
        let (command, by) =
            (pilot_core::fact::UserCommand::Cancel, pilot_core::fact::CommandSource::Operator);
        TaskEvent::CommandReceived { command, by }
    };
    for number in 2..=104 {
        let seconds = i64::try_from(number).unwrap();
        assert_eq!(ann.record(number, cancel(), at(seconds)).await, Applied::Written);
    }
    let rows = store.tasks(&project()).await.unwrap();
    assert_eq!(rows.len(), 101);
    assert!(matches!(rows[0].stage, Stage::Queued { .. }));
    assert_eq!(rows[1].facts.key, gh(104));
    assert_eq!(rows[100].facts.key, gh(5));
    let found = store.find_tasks(&gh(2)).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| (&row.facts.project, &row.facts.key)).collect();
    assert_eq!(found, [(&project(), &gh(2))], "a task is found by its key though it is not listed any more");
    assert!(store.find_tasks(&gh(105)).await.unwrap().is_empty());
}

/// Users read this table with their own tools.
#[tokio::test]
async fn the_queue_has_its_documented_columns() {
    let world = World::new();
    let store = world.store().await;
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    ann.claim(1, at(5)).await;
    let cancel = TaskEvent::CommandReceived {
        command: pilot_core::fact::UserCommand::Cancel,
        by: pilot_core::fact::CommandSource::Operator,
    };
    ann.record(1, cancel, at(9)).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(world.path());
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let row: (String, String, String, String, i64, i64, i64) = sqlx::query_as(
        "SELECT id, project_path, task_json, status, created_at, started_at, completed_at FROM task_queue",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    let (id, path, json, status, created, started, completed) = row;
    assert_eq!((id.as_str(), path.as_str()), ("github:acme/app/GH-1", "github:acme/app"));
    assert!(json.contains("\"key\":\"GH-1\""), "{json}");
    assert_eq!(status, "cancelled");
    assert_eq!([created, started, completed], [at(0).0, at(5).0, at(9).0]);
}
