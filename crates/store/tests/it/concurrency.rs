//! Several handles and several processes on one database.

use pilot_core::outcome::RunStatus;
use pilot_store::{Finish, Store, StoreError};

use crate::program;
use crate::world::{WORKS, World, at, run_of};

/// How many runs each process writes.
const RUNS: i64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn two_handles_that_open_a_new_file_at_once_see_each_other() {
    let world = World::new();
    let (one, two) = tokio::join!(world.store(), world.store());
    tokio::join!(write_runs(&one, "GH-1"), write_runs(&two, "GH-2"));
    for store in [&one, &two] {
        assert_eq!(store.recent(1000).await.unwrap().len(), usize::try_from(2 * RUNS).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_ends_at_once_one_counts() {
    let world = World::new();
    let (one, two) = (world.store().await, world.store().await);
    for second in 0..10 {
        let run = one.begin_execution(&run_of("GH-1", at(second))).await.unwrap();
        let (failed, completed) =
            (Finish::new(RunStatus::Failed, at(60)), Finish::new(RunStatus::Completed, at(60)));
        let ends =
            tokio::join!(one.finish_execution(&run.id, &failed), two.finish_execution(&run.id, &completed));
        let (winner, loser) = match ends {
            (Ok(winner), Err(loser)) | (Err(loser), Ok(winner)) => (winner, loser),
            other => panic!("one end counts: {other:?}"),
        };
        assert!(matches!(loser, StoreError::AlreadyEnded { .. }), "{loser}");
        assert_eq!(one.execution(&run.id).await.unwrap(), Some(winner));
    }
}

#[tokio::test]
async fn processes_share_a_database_none_of_them_had_made() {
    let world = World::new();
    let children: Vec<_> =
        (0..3).map(|_| program::start("concurrency::a_process_that_writes_runs", &world.path())).collect();
    for (mut child, lines) in children {
        let output: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(child.wait().unwrap().success(), "{output:?}");
    }
    let store = world.store().await;
    let runs = store.recent(1000).await.unwrap();
    assert_eq!(runs.len(), usize::try_from(3 * RUNS).unwrap());
    assert!(runs.iter().all(|run| run.completed_at.is_some()));
    store.check().await.unwrap();
}

/// Runs in the processes above; in the test run itself it does nothing.
#[tokio::test]
async fn a_process_that_writes_runs() {
    let Some(database) = program::database() else { return };
    let store = Store::open(&database, pilot_core::redact::Secrets::none()).await.unwrap();
    write_runs(&store, "GH-9").await;
}

async fn write_runs(store: &Store, task: &str) {
    for second in 0..RUNS {
        let run = store.begin_execution(&run_of(task, at(second))).await.expect(WORKS);
        store
            .finish_execution(&run.id, &Finish::new(RunStatus::Completed, at(second + 1)))
            .await
            .expect(WORKS);
    }
}
