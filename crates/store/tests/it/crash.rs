//! A process that is killed in the middle of writing.

use pilot_core::config::LogLevel;
use pilot_core::fact::TaskFacts;
use pilot_core::outcome::RunStatus;
use pilot_core::redact::Secrets;
use pilot_core::turn::replay;
use pilot_store::{Cap, ExecutionStatus, Finish, LogLine, RunId, Store, StreamRecorder};

use crate::instance::{Instance, gh, project};
use crate::program;
use crate::world::{World, at, run_of};

/// Lines that are logged together.
const LINES: usize = 5;

#[tokio::test]
async fn what_was_answered_is_stored_and_nothing_is_incomplete() {
    for rounds in [1, 3, 10, 25] {
        let world = World::new();
        let (mut child, mut lines) = program::start("crash::a_process_that_is_killed", &world.path());
        let mut answered: Vec<RunId> = Vec::new();
        while answered.len() < rounds {
            let line = lines.next().expect("the child still writes").unwrap();
            answered.extend(line.strip_prefix("ended ").and_then(|id| id.parse().ok()));
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let store = world.store().await;
        store.check().await.unwrap();
        for id in &answered {
            let run = store.execution(id).await.unwrap().expect("an answered run is stored");
            assert_eq!(run.status, ExecutionStatus::Ended(RunStatus::Completed));
            assert_eq!(store.stream(id).await.unwrap().len(), 2);
        }
        for run in store.recent(10_000).await.unwrap() {
            let logged = store.logs(&run.id).await.unwrap().len();
            assert!(logged == 0 || logged == LINES, "{logged} of {LINES} lines");
            assert!(run.status == ExecutionStatus::Running || logged == LINES);
        }
        let left = store.abandoned(|_| false).await.unwrap();
        assert!(left.len() <= 1, "it worked on one run at a time");
        for run in left {
            store.mark_abandoned(&run.id, "Pilot was killed", at(9)).await.unwrap();
        }
        assert!(store.abandoned(|_| false).await.unwrap().is_empty());
    }
}

/// Runs in the process above until it is killed; in the test run itself it does nothing.
#[tokio::test]
async fn a_process_that_is_killed() {
    let Some(database) = program::database() else { return };
    let store = Store::open(&database, Secrets::none()).await.unwrap();
    loop {
        let run = store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
        let mut recorder = StreamRecorder::new(&store, run.id.clone(), Cap::default());
        recorder.stdout(1, &[b'.'; 50_000]);
        recorder.stderr(2, &[b','; 50_000]);
        recorder.finish(&store, 3).await.unwrap();
        let lines: Vec<LogLine> =
            (0..LINES).map(|_| LogLine::new(at(1), LogLevel::Info, "runner", "line")).collect();
        store.append_logs(&run.id, &lines).await.unwrap();
        store.finish_execution(&run.id, &Finish::new(RunStatus::Completed, at(2))).await.unwrap();
        // The harness buffers nothing with --nocapture; a line is out when this returns.
        println!("ended {}", run.id);
    }
}

#[tokio::test]
async fn a_turn_is_written_whole_or_not_at_all() {
    for turns in [1, 4, 15] {
        let world = World::new();
        let (mut child, mut lines) =
            program::start("crash::a_process_that_is_killed_in_a_turn", &world.path());
        let mut answered = 0;
        while answered < turns {
            let line = lines.next().expect("the child still writes").unwrap();
            answered = line.strip_prefix("claimed ").map_or(answered, |number| number.parse().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let store = world.store().await;
        store.check().await.unwrap();
        let rows = store.tasks(&project()).await.unwrap();
        let active = store.load_project(&project()).await.unwrap().facts.active;
        for number in 1..=answered {
            assert!(active.contains_key(&gh(number)), "{number} was answered");
        }
        for row in &rows {
            let log = store.task_log(&project(), &row.facts.key).await.unwrap();
            assert_eq!(replay(TaskFacts::new(project(), row.facts.key.clone()), &log), row.facts);
            let claimed = row.facts.life.claim.is_some();
            assert_eq!(active.contains_key(&row.facts.key), claimed, "the task and its project agree");
        }
        let next = Instance { home: Instance::new(&store, "killed").home, ..Instance::new(&store, "next") };
        let left = store.begin_instance(&next.home, &next.me, at(1)).await.unwrap();
        assert_eq!(left.claims.len(), active.len());
    }
}

/// Runs in the process above until it is killed; in the test run itself it does nothing.
#[tokio::test]
async fn a_process_that_is_killed_in_a_turn() {
    let Some(database) = program::database() else { return };
    let store = Store::open(&database, Secrets::none()).await.unwrap();
    let instance = Instance::new(&store, "killed");
    println!();
    for number in 1.. {
        instance.enqueue(number, at(0)).await;
        instance.claim(number, at(0)).await;
        println!("claimed {number}");
    }
}
