//! Several instances with the same queue: every task is claimed once, every action taken once.

use std::collections::BTreeSet;

use pilot_core::id::TaskKey;
use pilot_core::turn::Applied;
use pilot_store::Store;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::instance::{Instance, number_of, project};
use crate::program;
use crate::world::{WORKS, World, at};

const TASKS: u64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_that_race_for_tasks_claim_each_once() {
    let world = World::new();
    let (one, two) = (world.store().await, world.store().await);
    fill(&one).await;
    let (ann, bob) = (Instance::new(&one, "ann"), Instance::new(&two, "bob"));
    let (of_ann, of_bob) = tokio::join!(claim_all(&ann), claim_all(&bob));
    assert_eq!(of_ann.len() + of_bob.len(), usize::try_from(TASKS).unwrap());
    let both: BTreeSet<&TaskKey> = of_ann.iter().chain(&of_bob).collect();
    assert_eq!(both.len(), usize::try_from(TASKS).unwrap(), "each once");
    for (instance, claimed) in [(&ann, &of_ann), (&bob, &of_bob)] {
        for task in claimed {
            let loaded = one.load_task(&project(), task).await.unwrap();
            assert_eq!(loaded.task.life.claim.unwrap().instance, instance.me);
        }
    }

    let due = one.load_project(&project()).await.unwrap();
    assert!(due.facts.active.len() == usize::try_from(TASKS).unwrap());
    let (of_ann, of_bob) = tokio::join!(take_all(&ann), take_all(&bob));
    let both: BTreeSet<&String> = of_ann.iter().chain(&of_bob).collect();
    assert_eq!(both.len(), of_ann.len() + of_bob.len(), "each action once");
    for instance in [&ann, &bob] {
        assert_eq!(one.next_due(&instance.me).await.unwrap(), None, "and all of them");
    }
}

#[tokio::test]
async fn processes_that_race_for_tasks_claim_each_once() {
    let world = World::new();
    let store = world.store().await;
    fill(&store).await;
    // The processes wait for this transaction, and continue at the same moment.
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
        let output: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(child.wait().unwrap().success(), "{output:?}");
        claimed.extend(output.iter().filter_map(|line| line.strip_prefix("claimed ").map(str::to_owned)));
    }
    let once: BTreeSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), once.len()), (usize::try_from(TASKS).unwrap(), claimed.len()));
    store.check().await.unwrap();
}

/// Runs in the processes above; in the test run itself it does nothing.
#[tokio::test]
async fn a_process_that_claims() {
    let Some(database) = program::database() else { return };
    let store = Store::open(&database, pilot_core::redact::Secrets::none()).await.unwrap();
    let instance = Instance::new(&store, &format!("p{}", std::process::id()));
    // The harness has written the test's name, and no end of the line.
    println!("\nready");
    for task in claim_all(&instance).await {
        println!("claimed {task}");
    }
}

async fn fill(store: &Store) {
    let instance = Instance::new(store, "filler");
    for number in 1..=TASKS {
        instance.enqueue(number, at(0)).await;
    }
}

/// Claims the first of the queue until there is none.
async fn claim_all(instance: &Instance) -> Vec<TaskKey> {
    let mut claimed = Vec::new();
    loop {
        let queued = instance.store.queued(&project(), 1).await.expect(WORKS);
        let Some(first) = queued.into_iter().next() else { return claimed };
        let turn = instance.decide_claim(number_of(&first.task), at(1)).await;
        let claims = turn.task.as_ref().is_some_and(|task| task.claim.is_some());
        match instance.apply(&turn, at(1)).await {
            Applied::Written if claims => claimed.push(first.task),
            Applied::Written | Applied::Stale | Applied::Taken => {}
            Applied::Fenced => panic!("nothing is reported on"),
        }
    }
}

async fn take_all(instance: &Instance) -> Vec<String> {
    let mut taken = Vec::new();
    loop {
        let some = instance.store.take_due(&instance.me, at(100), 3).await.expect(WORKS);
        if some.is_empty() && instance.store.next_due(&instance.me).await.expect(WORKS).is_none() {
            return taken;
        }
        taken.extend(some.into_iter().map(|entry| format!("{:?} {}", entry.task, entry.key)));
    }
}
