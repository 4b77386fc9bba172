//! The feed, and how far each run is.

use pilot_core::feed::{FeedEntry, FeedEvent};
use pilot_core::id::Generation;
use pilot_core::progress::ShownPhase;
use pilot_core::run::RunProgress;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::instance::{Instance, gh, project};
use crate::world::{SECRET, World, at};

fn progress(percent: u8, message: &str) -> RunProgress {
    let phase = ShownPhase::Finishing;
    RunProgress { phase, percent, last_message: message.to_owned(), cost_usd: Some(0.5) }
}

fn seqs(entries: &[FeedEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.seq).collect()
}

#[tokio::test]
async fn a_turn_and_its_event_are_stored_together_and_a_reader_resumes() {
    let world = World::new();
    let store = world.store().await;
    assert_eq!(store.last_feed_seq().await.unwrap(), 0);
    let ann = Instance::new(&store, "ann");
    ann.enqueue(1, at(0)).await;
    let all = store.feed_after(0, 100).await.unwrap();
    let last = store.last_feed_seq().await.unwrap();
    assert_eq!(seqs(&all), (1..=last).collect::<Vec<u64>>(), "numbers have no gaps");
    let Some(FeedEvent::Stage { task, stage, .. }) = all.last().map(|entry| &entry.event) else {
        panic!("the last event is the stage: {all:?}");
    };
    assert_eq!((task, stage.as_str()), (&gh(1), "queued"));
    // A turn that is refused tells nothing.
    let (first, second) = (ann.decide_claim(1, at(1)).await, ann.decide_claim(1, at(1)).await);
    ann.apply(&first, at(1)).await;
    let claimed = store.last_feed_seq().await.unwrap();
    ann.apply(&second, at(1)).await;
    assert_eq!(store.last_feed_seq().await.unwrap(), claimed);
    let page = store.feed_after(last, 1).await.unwrap();
    assert_eq!(seqs(&page), [last + 1], "a reader continues after the last number it saw");
    assert!(store.feed_after(claimed, 100).await.unwrap().is_empty());
}

#[tokio::test]
async fn progress_is_kept_by_run_told_and_redacted() {
    let world = World::new();
    let store = world.store().await;
    let (project, task) = (project(), gh(1));
    assert_eq!(store.run_progress(&project, &task).await.unwrap(), None);
    for (generation, percent) in [(1, 40), (2, 10)] {
        let said = progress(percent, &format!("the key is {SECRET}"));
        store.record_progress(&project, &task, Generation(generation), &said, at(0)).await.unwrap();
    }
    let (generation, kept) = store.run_progress(&project, &task).await.unwrap().unwrap();
    assert_eq!((generation, kept.percent), (Generation(2), 10));
    assert!(!kept.last_message.contains(SECRET), "{}", kept.last_message);
    let told = format!("{:?}", store.feed_after(0, 10).await.unwrap());
    assert!(!told.contains(SECRET) && told.matches("Progress").count() >= 2, "{told}");
}

#[tokio::test]
async fn old_events_go_and_numbers_stay() {
    let world = World::new();
    let store = world.store().await;
    let file = SqliteConnectOptions::new().filename(world.path());
    let mut connection = file.connect().await.unwrap();
    let event = serde_json::to_string(&FeedEvent::Progress {
        project: project(),
        task: gh(1),
        progress: progress(1, ""),
    });
    for seq in [1_i64, 5, 12_000] {
        let insert = sqlx::query("INSERT INTO feed (seq, at, event) VALUES ($1, 0, $2)");
        insert.bind(seq).bind(event.as_ref().unwrap()).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
    store.record_progress(&project(), &gh(1), Generation(1), &progress(2, ""), at(0)).await.unwrap();
    assert_eq!(seqs(&store.feed_after(0, 10).await.unwrap()), [12_000, 12_001]);
}
