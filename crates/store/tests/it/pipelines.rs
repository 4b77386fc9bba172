//! Runs of pipelines and their facts.

use pilot_store::{NewFact, NewPipelineRun, PipelinePart, PipelineStatus, RunId};

use crate::world::{World, at};

fn new(seconds: i64) -> NewPipelineRun {
    NewPipelineRun {
        id: RunId::generate(at(seconds)),
        project_path: "/srv/app".to_owned(),
        fingerprint: "abcd".to_owned(),
        inputs: "{}".to_owned(),
        part: PipelinePart::Whole,
        base_sha: None,
        started_at: at(seconds),
    }
}

#[tokio::test]
async fn a_run_is_its_facts_in_order() {
    let world = World::new();
    let store = world.store().await;
    let run = new(0);
    store.begin_pipeline(&run, None).await.unwrap();
    let fact = "{\"fact\":\"started\"}";
    let new = |seq| NewFact { seq, at: at(1), step: "a", fact, decision: "attempt by hunter22" };
    store.append_fact(&run.id, &new(0)).await.unwrap();
    store.append_fact(&run.id, &new(1)).await.unwrap();
    assert!(store.append_fact(&run.id, &new(1)).await.is_err(), "another process runs it too");
    let facts = store.pipeline_facts(&run.id).await.unwrap();
    assert_eq!(facts.iter().map(|fact| fact.seq).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(facts[0].decision, "attempt by [redacted]");
    assert_eq!(facts[0].fact, fact);
}

#[tokio::test]
async fn the_last_run_of_a_project_is_found_whatever_its_status() {
    let world = World::new();
    let store = world.store().await;
    assert_eq!(store.last_pipeline("/srv/app").await.unwrap(), None);
    let (first, second) = (new(0), new(10));
    store.begin_pipeline(&second, None).await.unwrap();
    let fact = NewFact { seq: 0, at: at(0), step: "a", fact: "{}", decision: "" };
    store.begin_pipeline(&first, Some(&fact)).await.unwrap();
    assert_eq!(store.pipeline_facts(&first.id).await.unwrap().len(), 1);
    store.end_pipeline(&second.id, PipelineStatus::Held, Some("needs hunter22"), at(20)).await.unwrap();
    let last = store.last_pipeline("/srv/app").await.unwrap().unwrap();
    assert_eq!((&last.id, last.status, last.ended_at), (&second.id, PipelineStatus::Held, Some(at(20))));
    assert_eq!(last.reason.as_deref(), Some("needs [redacted]"));
    store.continue_pipeline(&second.id).await.unwrap();
    let last = store.last_pipeline("/srv/app").await.unwrap().unwrap();
    assert_eq!((last.status, last.ended_at), (PipelineStatus::Running, None));
    let step = NewPipelineRun { part: PipelinePart::Step, ..new(30) };
    store.begin_pipeline(&step, None).await.unwrap();
    assert_eq!(store.last_pipeline("/srv/app").await.unwrap().unwrap().id, step.id);
    assert_eq!(store.last_whole_pipeline("/srv/app").await.unwrap().unwrap().id, second.id);
    assert_eq!(store.last_pipeline("/srv/other").await.unwrap(), None);
}
