//! Several at the same queue: every task once, every action once.

use std::collections::BTreeSet;

use pilot_core::name::TaskKey;
use pilot_core::turn::Applied;
use pilot_store::Store;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::desk::{Desk, moment, project};
use crate::program;
use crate::world::World;

const TASKS: u64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn two_that_race_for_the_same_tasks_get_each_once() {
    let world = World::new();
    let (one, two) = (world.store().await, world.store().await);
    fill(&one).await;
    let (ann, bob) = (Desk::new(&one, "ann"), Desk::new(&two, "bob"));
    let (of_ann, of_bob) = tokio::join!(claim_all(&ann), claim_all(&bob));
    assert_eq!(of_ann.len() + of_bob.len(), usize::try_from(TASKS).unwrap());
    let both: BTreeSet<&TaskKey> = of_ann.iter().chain(&of_bob).collect();
    assert_eq!(both.len(), usize::try_from(TASKS).unwrap(), "each once");
    for (desk, claimed) in [(&ann, &of_ann), (&bob, &of_bob)] {
        for task in claimed {
            let loaded = one.load_task(&project(), task.number()).await.unwrap();
            assert_eq!(loaded.task.life.claim.unwrap().instance, desk.me);
        }
    }

    let due = one.load_project(&project()).await.unwrap();
    assert!(due.facts.active.len() == usize::try_from(TASKS).unwrap());
    let (of_ann, of_bob) = tokio::join!(take_all(&ann), take_all(&bob));
    let both: BTreeSet<&String> = of_ann.iter().chain(&of_bob).collect();
    assert_eq!(both.len(), of_ann.len() + of_bob.len(), "each action once");
    assert_eq!(one.next_due().await.unwrap(), None, "and all of them");
}

#[tokio::test]
async fn processes_that_race_for_the_same_tasks_get_each_once() {
    let world = World::new();
    let store = world.store().await;
    fill(&store).await;
    // They all wait for this one, and go on together.
    let options = SqliteConnectOptions::new().filename(world.path());
    let mut first = options.connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut first).await.unwrap();
    let mut children: Vec<_> =
        (0..3).map(|_| program::start("claims::a_process_that_claims", &world.path())).collect();
    for (_, lines) in &mut children {
        assert!(lines.any(|line| line.unwrap() == "ready"));
    }
    first.close().await.unwrap();
    let mut claimed = Vec::new();
    for (mut child, lines) in children {
        let said: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(child.wait().unwrap().success(), "{said:?}");
        claimed.extend(said.iter().filter_map(|line| line.strip_prefix("claimed ").map(str::to_owned)));
    }
    let once: BTreeSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), once.len()), (usize::try_from(TASKS).unwrap(), claimed.len()));
    store.check().await.unwrap();
}

/// What the processes above do; in the test run itself it does nothing.
#[tokio::test]
async fn a_process_that_claims() {
    let Some(database) = program::database() else { return };
    let store = Store::open(&database, pilot_core::redact::Secrets::none()).await.unwrap();
    let desk = Desk::new(&store, &format!("p{}", std::process::id()));
    // The harness has written the test's name, and no end of the line.
    println!("\nready");
    for task in claim_all(&desk).await {
        println!("claimed {task}");
    }
}

async fn fill(store: &Store) {
    let desk = Desk::new(store, "filler");
    for number in 1..=TASKS {
        desk.enqueue(number, moment(0)).await;
    }
}

/// Claims the first of the queue until there is none.
async fn claim_all(desk: &Desk) -> Vec<TaskKey> {
    let mut claimed = Vec::new();
    loop {
        let queued = desk.store.queued(&project(), 1).await.expect("it does as it is told");
        let Some(first) = queued.into_iter().next() else { return claimed };
        let turn = desk.claiming(first.task.number().0, moment(1)).await;
        let claims = turn.task.as_ref().is_some_and(|task| task.claim.is_some());
        match desk.apply(&turn, moment(1)).await {
            Applied::Written if claims => claimed.push(first.task),
            Applied::Written | Applied::Stale | Applied::Taken => {}
            Applied::Fenced => panic!("nothing is reported on"),
        }
    }
}

async fn take_all(desk: &Desk) -> Vec<String> {
    let mut taken = Vec::new();
    loop {
        let some = desk.store.take_due(&desk.me, moment(100), 3).await.expect("it does as it is told");
        if some.is_empty() && desk.store.next_due().await.expect("it does as it is told").is_none() {
            return taken;
        }
        taken.extend(some.into_iter().map(|intent| format!("{:?} {}", intent.task, intent.key)));
    }
}
