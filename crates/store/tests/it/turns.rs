//! What a turn needs to be written, and what is there when it was.

use pilot_core::fact::{Happened, ProjectHappened};
use pilot_core::name::{Generation, IssueNumber, TaskKey};
use pilot_core::seen::{Failure, FailureKind, Permission};
use pilot_core::task::{Planned, Stage};
use pilot_core::turn::{Applied, ClaimChange, Input, OpenIntent, OutboxChange, Turn};
use pilot_store::{LEASE, Store};

use crate::desk::{Desk, completed, done, home, instance, moment, project};
use crate::world::World;

fn key(number: u64) -> TaskKey {
    TaskKey::of_issue(IssueNumber(number))
}

async fn open(store: &Store, number: u64) -> Vec<(String, bool)> {
    let loaded = store.load_task(&project(), IssueNumber(number)).await.expect("it does as it is told");
    loaded.open.into_iter().map(|intent| (intent.key.to_string(), intent.taken)).collect()
}

fn lanes(open: &[(String, bool)]) -> Vec<&str> {
    open.iter().filter_map(|(key, _)| key.split(':').next()).collect()
}

/// A turn about a task with only this in its outbox.
async fn with_outbox(desk: &Desk, number: u64, changes: Vec<OutboxChange>) -> Turn {
    let mut turn = desk.turn(number, None, moment(50)).await;
    turn.task.as_mut().expect("it is about a task").outbox = changes;
    turn
}

#[tokio::test]
async fn nothing_is_known_of_what_nobody_wrote() {
    let world = World::new();
    let store = world.store().await;
    let loaded = store.load_task(&project(), IssueNumber(1)).await.unwrap();
    assert_eq!((loaded.task_version, loaded.stage, loaded.project.version), (0, None, 0));
    assert!(loaded.open.is_empty() && loaded.project.open.is_empty());
    assert!(store.project_ids().await.unwrap().is_empty());
    assert!(store.tasks(&project()).await.unwrap().is_empty());
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.version().await.unwrap(), 0);
}

#[tokio::test]
async fn of_two_turns_from_the_same_facts_one_is_written() {
    let world = World::new();
    let (one, two) = (world.store().await, world.store().await);
    let (ann, bob) = (Desk::new(&one, "ann"), Desk::new(&two, "bob"));
    ann.enqueue(1, moment(0)).await;
    let (first, second) = (ann.claiming(1, moment(1)).await, bob.claiming(1, moment(1)).await);
    assert_eq!(ann.apply(&first, moment(1)).await, Applied::Written);
    let seen = two.version().await.unwrap();
    assert_eq!(bob.apply(&second, moment(1)).await, Applied::Stale);
    assert_eq!(ann.apply(&first, moment(1)).await, Applied::Stale);
    assert_eq!(two.version().await.unwrap(), seen, "nothing was written");
    let loaded = two.load_task(&project(), IssueNumber(1)).await.unwrap();
    assert_eq!(loaded.task.life.claim.unwrap().instance, instance("ann"));
}

#[tokio::test]
async fn a_project_that_changed_makes_every_turn_of_it_stale() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    ann.enqueue(2, moment(0)).await;
    let claims = ann.claiming(2, moment(1)).await;
    let login = "ann".to_owned();
    let happened = Happened::PermissionSeen { login, permission: Permission::Admin };
    let looks = ann.turn(1, Some(&Input { happened, settles: None }), moment(1)).await;
    assert!(claims.project.changed && !looks.project.changed);
    let by = "bob".to_owned();
    assert_eq!(ann.tell_project(ProjectHappened::Paused { by }, moment(1)).await, Applied::Written);
    for before in [claims, looks] {
        assert_eq!(ann.apply(&before, moment(1)).await, Applied::Stale);
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
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    assert_eq!(ann.claim(1, moment(1)).await, Applied::Written);
    let abandoned = Happened::Abandoned { generation: Generation(1) };
    assert_eq!(ann.tell(1, abandoned, moment(2)).await, Applied::Written);
    let mut again = ann.claiming(1, moment(3)).await;
    let task = again.task.as_mut().unwrap();
    let (home, instance) = (home("h"), instance("bob"));
    task.claim = Some(ClaimChange::Take { generation: Generation(1), home, instance });
    assert_eq!(ann.apply(&again, moment(3)).await, Applied::Taken);
    assert_eq!(ann.claim(1, moment(3)).await, Applied::Written);
}

/// Bob read the queue before Ann claimed, and the task after it.
#[tokio::test]
async fn what_is_claimed_is_not_claimed_over() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Desk::new(&store, "ann"), Desk::new(&store, "bob"));
    ann.enqueue(1, moment(0)).await;
    assert_eq!(ann.claim(1, moment(1)).await, Applied::Written);
    let before = store.load_task(&project(), IssueNumber(1)).await.unwrap();
    let late = bob.claiming(1, moment(1)).await;
    assert_eq!(late.task.as_ref().unwrap().claim, None);
    assert_eq!(bob.apply(&late, moment(1)).await, Applied::Written);
    assert_eq!(store.load_task(&project(), IssueNumber(1)).await.unwrap().task, before.task);
}

#[tokio::test]
async fn who_lost_the_claim_writes_nothing_more() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Desk::new(&store, "ann"), Desk::new(&store, "bob"));
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(1)).await;
    let place = ann.take_one("claim", moment(1)).await;
    ann.settle(1, &place.key, done(&place.action).unwrap(), moment(2)).await;
    let start = ann.take_one("run", moment(2)).await;
    ann.settle(1, &start.key, done(&start.action).unwrap(), moment(2)).await;
    let ended = || Happened::RunEnded { generation: Generation(1), ending: completed() };

    assert_eq!(bob.tell(1, ended(), moment(3)).await, Applied::Fenced, "it is not his claim");
    let abandoned = Happened::Abandoned { generation: Generation(1) };
    let mut late = ann.turn(1, None, moment(3)).await;
    assert_eq!(bob.tell(1, abandoned, moment(3)).await, Applied::Written);
    let now = store.load_task(&project(), IssueNumber(1)).await.unwrap();
    late.project.version = now.project.version;
    let task = late.task.as_mut().unwrap();
    (task.version, task.fence) = (now.task_version, Some(Generation(1)));
    assert_eq!(ann.apply(&late, moment(3)).await, Applied::Fenced, "her claim has ended");
    assert_eq!(store.load_task(&project(), IssueNumber(1)).await.unwrap(), now);
}

#[tokio::test]
async fn an_action_is_taken_by_one_and_settled_by_its_holder() {
    let world = World::new();
    let store = world.store().await;
    let (ann, bob) = (Desk::new(&store, "ann"), Desk::new(&store, "bob"));
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(1)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(moment(1)));
    let before = ann.turn(1, None, moment(1)).await;
    let place = ann.take_one("claim", moment(1)).await;
    assert_eq!(ann.apply(&before, moment(1)).await, Applied::Stale, "what is under way is part of the facts");
    assert!(bob.take(moment(1)).await.is_empty());
    let taken = |who: &Desk| {
        let (store, me, key) = (store.clone(), who.me.clone(), place.key.clone());
        async move { store.has_taken(&project(), Some(&TaskKey::parse("GH-1").unwrap()), &key, &me).await }
    };
    assert!(taken(&ann).await.unwrap() && !taken(&bob).await.unwrap());
    let placed = || Happened::ClaimPlaced { generation: Generation(1) };
    let failed = || Happened::Failed { key: place.key.clone(), failure: Failure::new(FailureKind::Lost, "") };
    for happened in [placed(), failed()] {
        assert_eq!(bob.settle(1, &place.key, happened, moment(2)).await, Applied::Fenced);
    }
    assert!(taken(&ann).await.unwrap());
    assert_eq!(ann.settle(1, &place.key, placed(), moment(2)).await, Applied::Written);
    assert!(!taken(&ann).await.unwrap());
    assert_eq!(ann.settle(1, &place.key, placed(), moment(2)).await, Applied::Fenced, "it is settled");
}

#[tokio::test]
async fn what_failed_is_given_back_and_waits() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(1)).await;
    let place = ann.take_one("claim", moment(1)).await;
    let failure = Failure::new(FailureKind::NotSent, "no way");
    let failed = Happened::Failed { key: place.key.clone(), failure };
    assert_eq!(ann.settle(1, &place.key, failed, moment(2)).await, Applied::Written);
    assert!(open(&store, 1).await.contains(&(place.key.to_string(), false)));
    let due = store.next_due().await.unwrap().unwrap();
    assert!(due > moment(2), "released and rescheduled");
    assert!(ann.take(moment(2)).await.is_empty());
    assert_eq!(ann.take_one("claim", due).await, place);
}

#[tokio::test]
async fn the_outbox_takes_every_change() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(1)).await;
    let taken = ann.take(moment(1)).await;
    let place = taken.iter().find(|intent| intent.key.lane() == "claim").unwrap().clone();
    let changes = taken.iter().map(|intent| OutboxChange::Settle(intent.key.clone())).collect();
    let turn = with_outbox(&ann, 1, changes).await;
    assert_eq!(ann.apply(&turn, moment(2)).await, Applied::Written);
    assert!(open(&store, 1).await.is_empty());

    let plan = |seconds| {
        let (key, action) = (place.key.clone(), place.action.clone());
        OutboxChange::Plan(Planned { key, action, not_before: moment(seconds) })
    };
    let turn = with_outbox(&ann, 1, vec![plan(100)]).await;
    assert_eq!(ann.apply(&turn, moment(3)).await, Applied::Written);
    let turn = with_outbox(&ann, 1, vec![plan(90)]).await;
    assert_eq!(ann.apply(&turn, moment(3)).await, Applied::Written, "planned again is planned anew");
    assert_eq!(store.next_due().await.unwrap(), Some(moment(90)));
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Reschedule(place.key.clone(), moment(80))]).await;
    assert_eq!(ann.apply(&turn, moment(3)).await, Applied::Written);
    let loaded = store.load_task(&project(), IssueNumber(1)).await.unwrap();
    let planned = OpenIntent { key: place.key.clone(), not_before: moment(80), taken: false };
    assert_eq!(loaded.open, [planned]);
    assert!(ann.take(moment(79)).await.is_empty());

    assert_eq!(ann.take(moment(80)).await, std::slice::from_ref(&place));
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Withdraw(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, moment(81)).await, Applied::Written);
    assert_eq!(lanes(&open(&store, 1).await), ["claim"], "somebody is at it");
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Release(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, moment(81)).await, Applied::Written);
    let turn = with_outbox(&ann, 1, vec![OutboxChange::Withdraw(place.key.clone())]).await;
    assert_eq!(ann.apply(&turn, moment(81)).await, Applied::Written);
    assert!(open(&store, 1).await.is_empty());
    assert_eq!(store.next_due().await.unwrap(), None);
}

#[tokio::test]
async fn a_refused_turn_leaves_nothing_behind() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(1)).await;
    let place = ann.take_one("claim", moment(1)).await;
    let before = store.load_task(&project(), IssueNumber(1)).await.unwrap();
    let log = store.task_log(&project(), &key(1)).await.unwrap();
    let plan = Planned { key: place.key.clone(), action: place.action.clone(), not_before: moment(9) };
    let mut turn = ann.turn(1, Some(&stopped(1)), moment(2)).await;
    let task = turn.task.as_mut().unwrap();
    task.outbox = vec![OutboxChange::Plan(plan), OutboxChange::Settle(place.key.clone())];
    // Planned anew, nobody holds it: the last change of a long turn is refused.
    assert_eq!(ann.apply(&turn, moment(2)).await, Applied::Fenced);
    assert_eq!(store.load_task(&project(), IssueNumber(1)).await.unwrap(), before);
    assert_eq!(store.task_log(&project(), &key(1)).await.unwrap(), log);
}

fn stopped(generation: u32) -> Input {
    let happened = Happened::Abandoned { generation: Generation(generation) };
    Input { happened, settles: None }
}

#[tokio::test]
async fn a_restart_takes_over_what_its_home_had_in_hand() {
    let world = World::new();
    let store = world.store().await;
    let (dead, other) = (Desk::new(&store, "dead"), Desk::new(&store, "other"));
    assert_eq!(store.begin_instance(&dead.home, &dead.me, moment(0)).await.unwrap(), Default::default());
    assert_eq!(store.begin_instance(&other.home, &other.me, moment(0)).await.unwrap(), Default::default());
    for number in [1, 2, 3] {
        dead.enqueue(number, moment(0)).await;
    }
    dead.claim(1, moment(1)).await;
    let place = dead.take_one("claim", moment(1)).await;
    other.claim(2, moment(1)).await;
    other.take_one("claim", moment(1)).await;

    let next = Desk { home: dead.home.clone(), ..Desk::new(&store, "next") };
    let left = store.begin_instance(&next.home, &next.me, moment(2)).await.unwrap();
    assert_eq!(left.claims, [(project(), key(1), Generation(1))]);
    assert!(left.intents.contains(&(project(), Some(key(1)), place.key.clone())));
    assert!(left.intents.iter().all(|(_, task, _)| *task == Some(key(1))), "{left:?}");
    assert!(store.has_taken(&project(), Some(&key(1)), &place.key, &next.me).await.unwrap());
    let placed = || Happened::ClaimPlaced { generation: Generation(1) };
    assert_eq!(
        dead.settle(1, &place.key, placed(), moment(3)).await,
        Applied::Fenced,
        "it is not dead after all"
    );

    // Killed again before anything was done about it: the same is left.
    let third = Desk { home: dead.home.clone(), ..Desk::new(&store, "third") };
    let again = store.begin_instance(&third.home, &third.me, moment(4)).await.unwrap();
    assert_eq!(again, left);
    let failure = Failure::new(FailureKind::Interrupted, "");
    for (_, _, intent) in &left.intents {
        let failed = Happened::Failed { key: intent.clone(), failure: failure.clone() };
        assert_eq!(third.settle(1, intent, failed, moment(5)).await, Applied::Written);
    }
    assert_eq!(third.tell(1, stopped(1).happened, moment(5)).await, Applied::Written);
    assert_eq!(
        store.begin_instance(&dead.home, &instance("fourth"), moment(6)).await.unwrap(),
        Default::default()
    );
}

#[tokio::test]
async fn who_gives_no_sign_of_life_loses_what_it_holds() {
    let world = World::new();
    let store = world.store().await;
    let (silent, alive, heir) =
        (Desk::new(&store, "silent"), Desk::new(&store, "alive"), Desk::new(&store, "heir"));
    for (number, desk) in [(1, &silent), (2, &alive)] {
        desk.enqueue(number, moment(0)).await;
        desk.claim(number, moment(0)).await;
        desk.take_one("claim", moment(0)).await;
    }
    let end = moment(0).after(LEASE);
    assert_eq!(store.lapsed(&heir.me, end).await.unwrap(), Default::default(), "not yet");
    store.renew(&alive.me, moment(30)).await.unwrap();
    let later = moment(1).after(LEASE);
    assert_eq!(
        store.lapsed(&silent.me, later).await.unwrap(),
        Default::default(),
        "one does not lapse itself"
    );
    let left = store.lapsed(&heir.me, later).await.unwrap();
    assert_eq!(left.claims, [(project(), key(1), Generation(1))]);
    assert!(!left.intents.is_empty() && left.intents.iter().all(|(_, task, _)| *task == Some(key(1))));
    let next = store.lapsed(&heir.me, later).await.unwrap();
    assert!(next.intents.is_empty(), "they are the heir's now");
    assert_eq!(next.claims, left.claims, "until somebody ends it");
    assert_eq!(heir.tell(1, stopped(1).happened, later).await, Applied::Written);
    assert!(store.lapsed(&heir.me, later).await.unwrap().claims.is_empty());
}

#[tokio::test]
async fn the_queue_is_in_order_and_as_short_as_asked() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    for number in [3, 1, 12, 2] {
        ann.enqueue(number, moment(0)).await;
    }
    let queued = |limit| {
        let store = store.clone();
        async move {
            let queued = store.queued(&project(), limit).await.unwrap();
            queued.into_iter().map(|candidate| candidate.task.number().0).collect::<Vec<u64>>()
        }
    };
    assert_eq!(queued(10).await, [1, 2, 3, 12], "the oldest first");
    assert_eq!(queued(2).await, [1, 2]);
    assert_eq!(ann.claim(1, moment(1)).await, Applied::Written);
    assert_eq!(queued(10).await, [2, 3, 12]);
    let rows = store.tasks(&project()).await.unwrap();
    let stages: Vec<&str> = rows.iter().map(|row| row.stage.as_str()).collect();
    assert_eq!(stages, ["claiming", "queued", "queued", "queued"]);
    assert_eq!((rows[0].changed_at, &rows[0].facts.key), (moment(1), &key(1)));
    let of_another = pilot_core::name::ProjectId::parse("github:acme/other").unwrap();
    assert!(store.queued(&of_another, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn of_tasks_that_are_over_the_last_are_listed() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    let cancel = || {
        let (order, by) = (pilot_core::fact::Order::Cancel, pilot_core::fact::By::Operator);
        Happened::Ordered { order, by }
    };
    for number in 2..=104 {
        let seconds = i64::try_from(number).unwrap();
        assert_eq!(ann.tell(number, cancel(), moment(seconds)).await, Applied::Written);
    }
    let rows = store.tasks(&project()).await.unwrap();
    assert_eq!(rows.len(), 101);
    assert!(matches!(rows[0].stage, Stage::Queued { .. }));
    assert_eq!(rows[1].facts.number, IssueNumber(104));
    assert_eq!(rows[100].facts.number, IssueNumber(5));
}

/// The table people look at with their own tools.
#[tokio::test]
async fn the_queue_has_the_columns_that_were_promised() {
    let world = World::new();
    let store = world.store().await;
    let ann = Desk::new(&store, "ann");
    ann.enqueue(1, moment(0)).await;
    ann.claim(1, moment(5)).await;
    let cancel =
        Happened::Ordered { order: pilot_core::fact::Order::Cancel, by: pilot_core::fact::By::Operator };
    ann.tell(1, cancel, moment(9)).await;
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
    assert_eq!([created, started, completed], [moment(0).0, moment(5).0, moment(9).0]);
}
