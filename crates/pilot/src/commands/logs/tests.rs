use std::time::Duration;

use pilot_core::config::LogLevel;
use pilot_core::outcome::RunStatus;
use pilot_core::redact::Secrets;
use pilot_core::stream::Usage;
use pilot_core::time::Timestamp;
use pilot_store::{Execution, Finish, LogLine, NewExecution, Owner, RunId, Store};
use tempfile::TempDir;

use super::{LogsArgs, ProjectArg, UnknownKey, print_logs, rough, utc};

/// 15 November 2026, 21:38:12.345.
pub(crate) const STARTED: Timestamp = Timestamp(1_794_778_692_345_000);

pub(crate) async fn store() -> (TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("pilot.db"), Secrets::none()).await.unwrap();
    (home, store)
}

pub(crate) async fn begun(store: &Store, task: &str, title: &str, backend: &str) -> Execution {
    let new = NewExecution {
        id: RunId::generate(STARTED),
        task_id: task.to_owned(),
        title: title.to_owned(),
        project_path: "/srv/app".to_owned(),
        started_at: STARTED,
        backend: backend.to_owned(),
        model: Some("claude-sonnet-4-6".to_owned()),
        branch: Some("pilot/GH-12".to_owned()),
        base_sha: None,
        route: Some(r#"{"complexity":"simple"}"#.to_owned()),
        owner: Owner { pid: 1, started: "x".to_owned() },
    };
    store.begin_execution(&new).await.unwrap()
}

fn after(seconds: i64) -> Timestamp {
    Timestamp(STARTED.0 + seconds * 1_000_000)
}

async fn print(store: &Store, key: Option<&str>, json: bool) -> anyhow::Result<String> {
    let args = LogsArgs {
        key: key.map(str::to_owned),
        follow: false,
        gate: None,
        limit: 20,
        json,
        project: ProjectArg::default(),
    };
    let mut out = Vec::new();
    print_logs(&args, store, after(3 * 3600), async |_| panic!("nothing to wait for"), &mut out).await?;
    Ok(String::from_utf8(out).unwrap())
}

async fn two_runs(store: &Store) -> (Execution, Execution) {
    let one = begun(store, "GH-12", "Add login", "claude-code").await;
    let finish = Finish {
        class: Some("timeout".to_owned()),
        reason: Some("ran for 5m".to_owned()),
        usage: Some(Usage { cost_usd: Some(0.125), ..Usage::default() }),
        ..Finish::new(RunStatus::Failed, after(300))
    };
    store.finish_execution(&one.id, &finish).await.unwrap();
    let long = "A title\nthat is \u{1b}[31mmuch longer than a table of eighty columns can show";
    (one, begun(store, "GH-1234567890123", long, "codex").await)
}

#[tokio::test]
async fn the_runs_are_a_table_of_eighty_columns() {
    let (_home, store) = store().await;
    assert!(print(&store, None, false).await.unwrap().contains("pilot task"), "says what to do");
    let (one, two) = two_runs(&store).await;
    let table = print(&store, None, false).await.unwrap();
    let rows = [
        format!("{}  GH-12          failed           3h      5m  Add login", one.id.short()),
        format!("{}  GH-123456789…  running          3h          A title that is [31m…", two.id.short()),
    ];
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "RUN            TASK           STATUS      STARTED    TOOK  TITLE");
    for row in &rows {
        assert!(lines.contains(&row.as_str()), "{row:?} is not in\n{table}");
    }
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{table}");
}

#[tokio::test]
async fn a_run_is_a_header_and_its_lines() {
    let (_home, store) = store().await;
    let (one, _) = two_runs(&store).await;
    let lines = [
        LogLine::new(after(0), LogLevel::Info, "runner", "started"),
        LogLine::new(after(61), LogLevel::Error, "backend", "Backend stderr: one\ntwo\u{1b}[2J"),
    ];
    store.append_logs(&one.id, &lines).await.unwrap();
    let printed = print(&store, Some("GH-12"), false).await.unwrap();
    let expect = format!(
        "GH-12  Add login
  run      {}
  status   failed (timeout)
  reason   ran for 5m
  started  2026-11-15T21:38:12.345Z
  took     300.0 s
  agent    claude-code, claude-sonnet-4-6
  branch   pilot/GH-12
  cost     0.12 USD

    +0.0s  info   runner   started
   +61.0s  error  backend  Backend stderr: one
                          two[2J
",
        one.id
    );
    assert_eq!(printed, expect);
}

#[tokio::test]
async fn json_is_one_object_a_line() {
    let (_home, store) = store().await;
    let (one, _) = two_runs(&store).await;
    let line = LogLine::new(after(1), LogLevel::Info, "runner", "started");
    store.append_logs(&one.id, &[line]).await.unwrap();
    let printed = print(&store, Some(one.id.as_str()), true).await.unwrap();
    let rows: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["type"], &rows[0]["status"]), (&"run".into(), &"failed".into()));
    assert_eq!(rows[0]["route"]["complexity"], "simple");
    assert_eq!((&rows[0]["usage"]["cost_usd"], &rows[0]["gates"]), (&0.125.into(), &serde_json::Value::Null));
    assert_eq!((&rows[1]["type"], &rows[1]["line"]), (&"log".into(), &"started".into()));
    assert_eq!(rows[1]["at"], "2026-11-15T21:38:13.345Z");
    assert_eq!(print(&store, None, true).await.unwrap().lines().count(), 2);
}

#[tokio::test]
async fn an_unknown_key_is_named() {
    let (_home, store) = store().await;
    let error = print(&store, Some("GH-9"), false).await.unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&UnknownKey("GH-9".to_owned())));
}

#[tokio::test]
async fn following_goes_on_until_the_run_ends() {
    let (_home, store) = store().await;
    let run_ = begun(&store, "GH-1", "Add login", "codex").await;
    let args = LogsArgs {
        key: Some("GH-1".to_owned()),
        follow: true,
        gate: None,
        limit: 20,
        json: false,
        project: ProjectArg::default(),
    };
    let (mut out, mut looks) = (Vec::new(), 0);
    let wait = async |_: Duration| {
        looks += 1;
        let line = LogLine::new(after(looks), LogLevel::Info, "runner", format!("look {looks}"));
        store.append_logs(&run_.id, &[line]).await.unwrap();
        if looks == 3 {
            store.finish_execution(&run_.id, &Finish::new(RunStatus::Completed, after(9))).await.unwrap();
        }
    };
    print_logs(&args, &store, STARTED, wait, &mut out).await.unwrap();
    let printed = String::from_utf8(out).unwrap();
    let seen: Vec<&str> =
        printed.lines().filter_map(|line| line.split_once("look ").map(|(_, n)| n)).collect();
    assert_eq!(seen, ["1", "2", "3"]);
}

#[test]
fn times_read_well() {
    assert_eq!(utc(Timestamp(0)), "1970-01-01T00:00:00.000Z");
    assert_eq!(utc(STARTED), "2026-11-15T21:38:12.345Z");
    assert_eq!(utc(Timestamp(11_016 * 86_400_000_000)), "2000-02-29T00:00:00.000Z");
    assert_eq!(utc(Timestamp(-1)), "1969-12-31T23:59:59.999Z");
    let lengths = [0, 59, 60, 3599, 3600, 172_799, 172_800].map(rough);
    assert_eq!(lengths, ["0s", "59s", "1m", "59m", "1h", "47h", "2d"]);
}
