//! Databases that daemons of earlier versions wrote, most of them killed in the middle of their work: all of it is still
//! read, and each task's log still gives its facts.

use std::collections::BTreeSet;

use pilot_core::fact::TaskFacts;
use pilot_core::id::{HomeId, InstanceId};
use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use pilot_core::turn::replay;
use pilot_store::Store;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::world::{WORKS, World};

/// The schema of version 4.
const SCHEMA_4: [&str; 4] = [
    include_str!("../../migrations/sqlite/0001_executions.sql"),
    include_str!("../../migrations/sqlite/0002_ledger.sql"),
    include_str!("../../migrations/sqlite/0003_pipelines.sql"),
    include_str!("../../migrations/sqlite/0004_durable.sql"),
];

macro_rules! written_by_4 {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../samples/real-v4-", $name, ".sql")))),*] };
}

/// What event until each was killed is in its name and in its log.
const WRITTEN_BY_4: [(&str, &str); 10] = written_by_4![
    "merged",
    "fix-adopted",
    "ci",
    "held",
    "budget",
    "opening",
    "landing",
    "closing",
    "stopping",
    "pair",
];

/// What must be the same before and after.
#[derive(Debug, PartialEq)]
struct Counts {
    tasks: i64,
    entries: i64,
    actions: i64,
    claims: i64,
}

async fn count(connection: &mut SqliteConnection) -> Counts {
    let row: (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM task_queue), (SELECT count(*) FROM task_log), \
         (SELECT count(*) FROM outbox), (SELECT count(*) FROM claims WHERE ended_at IS NULL)",
    )
    .fetch_one(connection)
    .await
    .expect(WORKS);
    Counts { tasks: row.0, entries: row.1, actions: row.2, claims: row.3 }
}

#[tokio::test]
async fn every_log_gives_the_stored_facts() {
    for (name, data) in WRITTEN_BY_4 {
        let world = World::new();
        let (before, instances) = write_older(&world, data).await;
        let store = Store::open(&world.path(), Secrets::none()).await.unwrap();
        let (mut tasks, mut entries) = (0, 0);
        for project in store.project_ids().await.unwrap() {
            store.load_project(&project).await.unwrap();
            store.project_log(&project, 1000).await.unwrap();
            for row in store.tasks(&project).await.unwrap() {
                let loaded = store.load_task(&project, &row.facts.key).await.unwrap();
                assert_eq!((&loaded.task, loaded.stage.as_ref()), (&row.facts, Some(&row.stage)), "{name}");
                let log = store.task_log(&project, &row.facts.key).await.unwrap();
                let replayed = replay(TaskFacts::new(project.clone(), row.facts.key.clone()), &log);
                assert_eq!(replayed, row.facts, "{name}: {}", row.facts.key);
                let last = log.iter().rev().find_map(|entry| entry.stage.as_ref());
                assert_eq!(last, Some(&row.stage), "{name}: {}", row.facts.key);
                (tasks, entries) = (tasks + 1, entries + i64::try_from(log.len()).unwrap());
            }
        }
        assert_eq!((tasks, entries), (before.tasks, before.entries), "{name}");
        check_left(name, &store, &instances, &before).await;
    }
}

/// The next instance takes over every claim and every action, and all of them can be read. While a dead instance's claim is
/// in force, the actions of its task are its own.
async fn check_left(name: &str, store: &Store, instances: &[(String, String)], before: &Counts) {
    let (me, now) = (InstanceId::parse("next").expect(WORKS), Timestamp(i64::MAX / 2));
    let (mut claims, mut actions) = (0, 0);
    let homes: BTreeSet<&String> = instances.iter().map(|(_, home)| home).collect();
    for home in homes {
        let left = store.begin_instance(&HomeId::parse(home).expect(WORKS), &me, now).await.expect(WORKS);
        (claims, actions) = (claims + left.claims.len(), actions + left.intents.len());
    }
    let mut due = store.take_due(&me, now, 1000).await.expect(WORKS);
    for (instance, _) in instances {
        let instance = InstanceId::parse(instance).expect(WORKS);
        due.extend(store.take_due(&instance, now, 1000).await.expect(WORKS));
    }
    assert!(due.iter().all(|entry| entry.action.key() == entry.key), "{name}: {due:?}");
    assert_eq!(i64::try_from(claims), Ok(before.claims), "{name}");
    assert_eq!(i64::try_from(actions + due.len()), Ok(before.actions), "{name}");
}

/// Writes the database, and returns what is in it and its instances with their homes.
async fn write_older(world: &World, data: &'static str) -> (Counts, Vec<(String, String)>) {
    std::fs::create_dir_all(world.path().parent().expect(WORKS)).expect(WORKS);
    let options = SqliteConnectOptions::new().filename(world.path()).create_if_missing(true);
    let mut connection = options.connect().await.expect(WORKS);
    for sql in SCHEMA_4.into_iter().chain([data]) {
        sqlx::raw_sql(sql).execute(&mut connection).await.expect(WORKS);
    }
    let instances = sqlx::query_as("SELECT id, home FROM instances");
    let instances = instances.fetch_all(&mut connection).await.expect(WORKS);
    let counts = count(&mut connection).await;
    connection.close().await.expect(WORKS);
    (counts, instances)
}
