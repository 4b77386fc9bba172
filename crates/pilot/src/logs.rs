//! `pilot logs`: the runs there were, and what one of them logged.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use pilot_store::{Execution, LogRow, Micros, Status, Store};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::printable;

/// How often a run that is followed is looked at.
const FOLLOW: Duration = Duration::from_millis(250);

/// Titles go up to column 80.
const TITLE: usize = 21;

/// As wide as the key of a task from the command line.
const TASK: usize = 13;

const HELP: &str = "\
Examples:
  pilot logs
  pilot logs -n 100 --json
  pilot logs TASK-1a2b3c4d
  pilot logs --follow TASK-1a2b3c4d";

/// What `pilot logs` shows.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LogsArgs {
    /// A task such as TASK-1a2b3c4d, whose last run is shown, or the beginning of a run's id; without it the last runs are listed
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Go on until the run ends
    #[arg(short, long, requires = "key")]
    pub(crate) follow: bool,

    /// How many runs are listed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// There is no run of that name. Wrong use, not a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownKey(pub(crate) String);

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no run of {:?}; `pilot logs` lists the runs there are", self.0)
    }
}

impl std::error::Error for UnknownKey {}

/// Prints what was asked for. `wait` waits between two looks at a run that is followed.
pub(crate) async fn run(
    args: &LogsArgs,
    store: &Store,
    now: Micros,
    wait: impl AsyncFnMut(Duration),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match &args.key {
        None => list(args, store, now, out).await?,
        Some(key) => one(args, key, store, wait, out).await?,
    }
    out.flush()?;
    Ok(())
}

/// The run somebody means.
pub(crate) async fn find(store: &Store, key: &str) -> anyhow::Result<Execution> {
    let found = store.last_for(key).await?;
    found.ok_or_else(|| UnknownKey(key.to_owned()).into())
}

async fn list(args: &LogsArgs, store: &Store, now: Micros, out: &mut impl Write) -> anyhow::Result<()> {
    let runs = store.recent(args.limit).await?;
    if args.json {
        return runs.iter().try_for_each(|run| print_json(&Row::Run(RunJson::new(run)), out));
    }
    if runs.is_empty() {
        writeln!(out, "No runs yet: `pilot task \"…\"` makes the first one.")?;
        return Ok(());
    }
    writeln!(
        out,
        "{:<13}  {:<TASK$}  {:<10}  {:>7}  {:>6}  TITLE",
        "RUN", "TASK", "STATUS", "STARTED", "TOOK"
    )?;
    for run in &runs {
        let took = run.duration_ms.map_or_else(String::new, |ms| rough(ms / 1000));
        let line = format!(
            "{:<13}  {:<TASK$}  {:<10}  {:>7}  {:>6}  {}",
            run.id.short(),
            printable::line(&run.task_id, TASK),
            run.status.as_str(),
            rough(now.millis_since(run.started_at) / 1000),
            took,
            printable::line(&run.title, TITLE),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

async fn one(
    args: &LogsArgs,
    key: &str,
    store: &Store,
    mut wait: impl AsyncFnMut(Duration),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut run = find(store, key).await?;
    if args.json {
        print_json(&Row::Run(RunJson::new(&run)), out)?;
    } else {
        header(&run, out)?;
    }
    let (started, mut last) = (run.started_at, 0);
    loop {
        // Asked before the lines are: what a run logged before its end is not missed.
        let ended = run.status != Status::Running;
        for row in store.logs_after(&run.id, last).await? {
            last = row.id;
            print_log(&row, started, args.json, out)?;
        }
        if ended || !args.follow {
            return Ok(());
        }
        out.flush()?;
        wait(FOLLOW).await;
        run = find(store, run.id.as_str()).await?;
    }
}

fn header(run: &Execution, out: &mut impl Write) -> anyhow::Result<()> {
    let title = printable::line(&run.title, 60);
    writeln!(out, "{}  {title}", printable::line(&run.task_id, 18))?;
    let mut field = |name: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {name:<8} {}", printable::line(&value, 500)),
        None => Ok(()),
    };
    field("run", Some(run.id.to_string()))?;
    let class = run.class.as_ref().filter(|class| *class != run.status.as_str());
    field("status", Some(class.map_or(run.status.to_string(), |class| format!("{} ({class})", run.status))))?;
    field("reason", run.reason.clone())?;
    field("started", Some(utc(run.started_at)))?;
    field("took", run.duration_ms.map(|ms| format!("{}.{} s", ms / 1000, ms % 1000 / 100)))?;
    field(
        "agent",
        Some(
            [Some(run.backend.clone()), run.model.clone()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        ),
    )?;
    field("branch", run.branch.clone())?;
    field("commit", run.commit_sha.clone())?;
    field("cost", run.cost_usd.map(|usd| format!("{usd:.2} USD")))?;
    writeln!(out)?;
    Ok(())
}

fn print_log(row: &LogRow, started: Micros, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    if json {
        let (level, source) = (row.level.as_str(), row.source.as_str());
        return print_json(&Row::Log(LogJson { at: utc(row.at), level, source, line: &row.line }), out);
    }
    let ms = row.at.millis_since(started);
    let at = format!("+{}.{}s", ms / 1000, ms % 1000 / 100);
    // Further lines of one entry stand below its first.
    let text = printable::text(row.line.trim_end()).replace('\n', &format!("\n{:>26}", ""));
    writeln!(out, "{at:>9}  {:<5}  {:<7}  {text}", row.level.as_str(), printable::line(&row.source, 7))?;
    Ok(())
}

fn print_json(row: &Row<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// A line of `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Row<'a> {
    Run(Box<RunJson<'a>>),
    Log(LogJson<'a>),
}

#[derive(Serialize)]
struct LogJson<'a> {
    at: String,
    level: &'a str,
    source: &'a str,
    line: &'a str,
}

/// A run, with the names the result of `pilot task` has.
#[derive(Serialize)]
struct RunJson<'a> {
    task: &'a str,
    run: &'a str,
    title: &'a str,
    project: &'a str,
    status: &'a str,
    class: Option<&'a str>,
    reason: Option<&'a str>,
    started_at: String,
    completed_at: Option<String>,
    duration_ms: Option<u64>,
    backend: &'a str,
    model: Option<&'a str>,
    session: Option<&'a str>,
    branch: Option<&'a str>,
    base_sha: Option<&'a str>,
    commit_sha: Option<&'a str>,
    commits: Option<u64>,
    files_changed: Option<u64>,
    pr_url: Option<&'a str>,
    route: Option<&'a RawValue>,
    attempts: u64,
    gates: Option<&'a RawValue>,
    review: Option<&'a str>,
    usage: UsageJson,
    progress: Option<u64>,
    phase: Option<&'a str>,
    final_message: Option<&'a str>,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct UsageJson {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl<'a> RunJson<'a> {
    fn new(run: &'a Execution) -> Box<RunJson<'a>> {
        // What is stored as JSON was made by us; should it not be JSON, it is as good as absent.
        let json =
            |text: &'a Option<String>| text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Box::new(RunJson {
            task: &run.task_id,
            run: run.id.as_str(),
            title: &run.title,
            project: &run.project_path,
            status: run.status.as_str(),
            class: run.class.as_deref(),
            reason: run.reason.as_deref(),
            started_at: utc(run.started_at),
            completed_at: run.completed_at.map(utc),
            duration_ms: run.duration_ms,
            backend: &run.backend,
            model: run.model.as_deref(),
            session: run.session_id.as_deref(),
            branch: run.branch.as_deref(),
            base_sha: run.base_sha.as_deref(),
            commit_sha: run.commit_sha.as_deref(),
            commits: run.commits,
            files_changed: run.files_changed,
            pr_url: run.pr_url.as_deref(),
            route: json(&run.route),
            attempts: run.attempts,
            gates: json(&run.gates),
            review: run.review.as_deref(),
            usage: UsageJson {
                input_tokens: run.input_tokens,
                output_tokens: run.output_tokens,
                cache_read_tokens: run.cache_read_tokens,
                cache_write_tokens: run.cache_write_tokens,
                cost_usd: run.cost_usd,
            },
            progress: run.progress,
            phase: run.phase.as_deref(),
            final_message: run.final_message.as_deref(),
            error: run.error.as_deref(),
        })
    }
}

/// A length of time in one unit, as a column of a table has it.
fn rough(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        172_800.. => format!("{}d", seconds / 86_400),
    }
}

/// A point in time as RFC 3339 has it, to the millisecond.
fn utc(at: Micros) -> String {
    let millis = at.0.div_euclid(1000);
    let (days, in_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = date(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date so many days after 1 January 1970: Howard Hinnant's `civil_from_days`.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use pilot_core::redact::Secrets;
    use pilot_store::{
        Ending, Execution, Finish, Level, LogLine, Micros, NewExecution, Owner, RunId, Store, Usage,
    };
    use tempfile::TempDir;

    use super::{LogsArgs, UnknownKey, date, rough, run, utc};

    /// 15 November 2026, 21:38:12.345.
    pub(crate) const STARTED: Micros = Micros(1_794_778_692_345_000);

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

    fn after(seconds: i64) -> Micros {
        Micros(STARTED.0 + seconds * 1_000_000)
    }

    async fn print(store: &Store, key: Option<&str>, json: bool) -> anyhow::Result<String> {
        let args = LogsArgs { key: key.map(str::to_owned), follow: false, limit: 20, json };
        let mut out = Vec::new();
        run(&args, store, after(3 * 3600), async |_| panic!("nothing to wait for"), &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    async fn two_runs(store: &Store) -> (Execution, Execution) {
        let one = begun(store, "GH-12", "Add login", "claude-code").await;
        let finish = Finish {
            class: Some("timeout".to_owned()),
            reason: Some("ran for 5m".to_owned()),
            usage: Usage { cost_usd: Some(0.125), ..Usage::default() },
            ..Finish::new(Ending::Failed, after(300))
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
            LogLine::new(after(0), Level::Info, "runner", "started"),
            LogLine::new(after(61), Level::Error, "backend", "Backend stderr: one\ntwo\u{1b}[2J"),
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
        let line = LogLine::new(after(1), Level::Info, "runner", "started");
        store.append_logs(&one.id, &[line]).await.unwrap();
        let printed = print(&store, Some(one.id.as_str()), true).await.unwrap();
        let rows: Vec<serde_json::Value> =
            printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["type"], &rows[0]["status"]), (&"run".into(), &"failed".into()));
        assert_eq!(rows[0]["route"]["complexity"], "simple");
        assert_eq!(
            (&rows[0]["usage"]["cost_usd"], &rows[0]["gates"]),
            (&0.125.into(), &serde_json::Value::Null)
        );
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
        let args = LogsArgs { key: Some("GH-1".to_owned()), follow: true, limit: 20, json: false };
        let (mut out, mut looks) = (Vec::new(), 0);
        let wait = async |_: Duration| {
            looks += 1;
            let line = LogLine::new(after(looks), Level::Info, "runner", format!("look {looks}"));
            store.append_logs(&run_.id, &[line]).await.unwrap();
            if looks == 3 {
                store.finish_execution(&run_.id, &Finish::new(Ending::Completed, after(9))).await.unwrap();
            }
        };
        run(&args, &store, STARTED, wait, &mut out).await.unwrap();
        let printed = String::from_utf8(out).unwrap();
        let seen: Vec<&str> =
            printed.lines().filter_map(|line| line.split_once("look ").map(|(_, n)| n)).collect();
        assert_eq!(seen, ["1", "2", "3"]);
    }

    #[test]
    fn times_read_well() {
        assert_eq!(utc(Micros(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc(STARTED), "2026-11-15T21:38:12.345Z");
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(-1), (1969, 12, 31));
        let lengths = [0, 59, 60, 3599, 3600, 172_799, 172_800].map(rough);
        assert_eq!(lengths, ["0s", "59s", "1m", "59m", "1h", "47h", "2d"]);
    }
}
