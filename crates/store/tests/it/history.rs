//! The life of a run, and finding it again.

use pilot_core::config::LogLevel;
use pilot_core::outcome::RunStatus;
use pilot_core::stream::Usage;
use pilot_core::time::Timestamp;
use pilot_store::{ExecutionStatus, Finish, LogLine, Owner, RunId, StoreError};

use crate::world::{World, at, run_of};

#[tokio::test]
async fn a_run_is_remembered_from_begin_to_end() {
    let world = World::new();
    let store = world.store().await;
    let new = run_of("GH-12", at(0));
    let run = store.begin_execution(&new).await.unwrap();
    assert_eq!((run.status, run.attempts, run.completed_at), (ExecutionStatus::Running, 0, None));

    let usage = Usage { input_tokens: 100, cost_usd: Some(0.25), ..Usage::default() };
    let finish = Finish {
        reason: Some("the password was hunter22".to_owned()),
        commit_sha: Some("b".repeat(40)),
        commits: Some(2),
        gates: Some(r#"[{"name":"test","status":"passed"}]"#.to_owned()),
        usage: Some(usage),
        progress: Some(50),
        phase: Some("IMPL".to_owned()),
        session_id: Some("s-1".to_owned()),
        attempts: Some(1),
        final_message: Some("Done with ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned()),
        ..Finish::new(RunStatus::Completed, at(90))
    };
    let ended = store.finish_execution(&run.id, &finish).await.unwrap();
    assert_eq!(ended.status, ExecutionStatus::Ended(RunStatus::Completed));
    assert_eq!((ended.completed_at, ended.duration_ms), (Some(at(90)), Some(90_000)));
    assert_eq!((ended.progress, ended.phase.as_deref()), (Some(50), Some("IMPL")));
    assert_eq!((ended.session_id.as_deref(), ended.attempts), (Some("s-1"), 1));
    assert_eq!((ended.input_tokens, ended.output_tokens, ended.cost_usd), (Some(100), Some(0), Some(0.25)));
    assert_eq!(ended.branch, new.branch);
    assert_eq!(ended.reason.as_deref(), Some("the password was [redacted]"));
    assert_eq!(ended.final_message.as_deref(), Some("Done with [redacted]"));
    assert_eq!(store.last_for("GH-12").await.unwrap(), Some(ended));
}

#[tokio::test]
async fn a_run_ends_once() {
    let world = World::new();
    let store = world.store().await;
    let run = store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
    let first = store.finish_execution(&run.id, &Finish::new(RunStatus::Failed, at(1))).await.unwrap();
    assert_eq!((first.input_tokens, first.cost_usd), (None, None), "unknown is not zero");

    let again = store.finish_execution(&run.id, &Finish::new(RunStatus::Completed, at(2))).await.unwrap_err();
    let failed = ExecutionStatus::Ended(RunStatus::Failed);
    assert!(matches!(again, StoreError::AlreadyEnded { status, .. } if status == failed), "{again}");
    let abandoned = store.mark_abandoned(&run.id, "gone", at(3)).await.unwrap_err();
    assert!(matches!(abandoned, StoreError::AlreadyEnded { .. }), "{abandoned}");
    assert_eq!(store.execution(&run.id).await.unwrap(), Some(first));

    let unknown = RunId::generate(at(5));
    let unknown = store.finish_execution(&unknown, &Finish::new(RunStatus::Failed, at(6))).await.unwrap_err();
    assert!(matches!(unknown, StoreError::UnknownRun { .. }), "{unknown}");
}

#[tokio::test]
async fn a_run_begins_once() {
    let world = World::new();
    let store = world.store().await;
    let new = run_of("GH-1", at(0));
    store.begin_execution(&new).await.unwrap();
    assert!(store.begin_execution(&new).await.is_err());
}

#[tokio::test]
async fn runs_are_found_by_task_by_id_and_by_its_begin() {
    let world = World::new();
    let store = world.store().await;
    for (task, second) in [("GH-1", 0), ("GH-2", 100), ("GH-1", 200), ("abcd", 300)] {
        store.begin_execution(&run_of(task, at(second))).await.unwrap();
    }
    let newest = store.recent(10).await.unwrap();
    assert_eq!(
        newest.iter().map(|run| run.task_id.as_str()).collect::<Vec<_>>(),
        ["abcd", "GH-1", "GH-2", "GH-1"]
    );
    assert_eq!(store.recent(2).await.unwrap().len(), 2);

    let last = &newest[1];
    assert_eq!(store.last_for("GH-1").await.unwrap().as_ref(), Some(last));
    assert_eq!(store.last_for(last.id.as_str()).await.unwrap().as_ref(), Some(last));
    assert_eq!(store.last_for(&last.id.short().to_uppercase()).await.unwrap().as_ref(), Some(last));
    // A task's key goes before the begin of an id.
    assert_eq!(store.last_for("abcd").await.unwrap().as_ref(), newest.first());
    for absent in ["GH-3", "", "%", "____", "ffff", "' OR 1=1 --"] {
        assert_eq!(store.last_for(absent).await.unwrap(), None, "{absent}");
    }
    let several = store.last_for(&last.id.as_str()[..4]).await.unwrap_err();
    assert!(
        matches!(&several, StoreError::Ambiguous { candidates, .. } if candidates.len() == 4),
        "{several}"
    );
}

#[tokio::test]
async fn log_lines_come_back_in_order_and_clean() {
    let world = World::new();
    let store = world.store().await;
    let run = store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
    let other = store.begin_execution(&run_of("GH-2", at(0))).await.unwrap();
    store.append_logs(&run.id, &[LogLine::new(at(2), LogLevel::Info, "runner", "first")]).await.unwrap();
    store.append_logs(&other.id, &[LogLine::new(at(2), LogLevel::Warn, "git", "other")]).await.unwrap();
    let lines = [
        LogLine::new(at(1), LogLevel::Error, "backend", "Backend error classification: auth"),
        LogLine::new(at(1), LogLevel::Error, "backend", "Backend stderr: login failed for hunter22"),
    ];
    store.append_logs(&run.id, &lines).await.unwrap();
    let logged = store.logs(&run.id).await.unwrap();
    let texts: Vec<&str> = logged.iter().map(|row| row.line.as_str()).collect();
    assert_eq!(
        texts,
        ["first", "Backend error classification: auth", "Backend stderr: login failed for [redacted]"]
    );
    assert_eq!((logged[1].level, logged[1].at), (LogLevel::Error, at(1)));
    assert_eq!(store.logs_after(&run.id, logged[0].id).await.unwrap(), logged[1..]);
}

#[tokio::test]
async fn a_run_whose_owner_died_is_found_and_ends_as_abandoned() {
    let world = World::new();
    let store = world.store().await;
    let owner = |pid, started: &str| Owner { pid, started: started.to_owned() };
    let runs = [("GH-1", 1, "a"), ("GH-2", 2, "a"), ("GH-3", 2, "b"), ("GH-4", 9, "z")];
    for (later, (task, pid, started)) in (0..).zip(runs) {
        // One after the other, because that is the order in which they are found.
        let new = run_of(task, Timestamp(at(0).0 + 1000 * later));
        store
            .begin_execution(&pilot_store::NewExecution { owner: owner(pid, started), ..new })
            .await
            .unwrap();
    }
    let ended = store.last_for("GH-4").await.unwrap().unwrap();
    store.finish_execution(&ended.id, &Finish::new(RunStatus::Completed, at(1))).await.unwrap();

    // Process 2 lives, but it is another one by now.
    let left = store.abandoned(|owner| owner.pid == 2 && owner.started == "b").await.unwrap();
    assert_eq!(left.iter().map(|run| run.task_id.as_str()).collect::<Vec<_>>(), ["GH-1", "GH-2"]);
    let marked = store.mark_abandoned(&left[0].id, "Pilot was killed", Timestamp(0)).await.unwrap();
    assert_eq!(marked.status, ExecutionStatus::Abandoned);
    assert_eq!((marked.reason.as_deref(), marked.duration_ms), (Some("Pilot was killed"), Some(0)));
    assert_eq!(store.abandoned(|_| false).await.unwrap().len(), 2);
}
