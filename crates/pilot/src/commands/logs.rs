//! `pilot logs`: lists the runs, or shows what one of them logged.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::run::GateReport;
use pilot_core::time::Timestamp;
use pilot_store::{Execution, ExecutionStatus, LogRow, Store};
use serde_json::{Value, json};

use super::target::{ProjectArg, Target};
use super::with_store;
use crate::calendar::utc;
use crate::config::ConfigSources;
use crate::stdout::Stdout;
use crate::wrong_use::WrongUse;
use crate::{clock, printable};

const FOLLOW: Duration = Duration::from_millis(250);

const TITLE: usize = 21;

/// As wide as the key of a task from the command line.
const TASK: usize = 13;

const HELP: &str = "\
Examples:
  pilot logs
  pilot logs -n 100 --json
  pilot logs TASK-1a2b3c4d
  pilot logs acme/app/GH-12
  pilot logs --follow TASK-1a2b3c4d
  pilot logs GH-12 --gate test";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LogsArgs {
    /// A task such as GH-12, acme/app/GH-12 or TASK-1a2b3c4d, whose last run is shown, or the beginning of a run's id; without it the last runs are listed
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,

    #[command(flatten)]
    pub(crate) project: ProjectArg,

    /// Follow until the run ends
    #[arg(short, long, requires = "key")]
    pub(crate) follow: bool,

    /// Show what this gate printed when it did not pass
    #[arg(long, value_name = "NAME", requires = "key", conflicts_with = "follow")]
    pub(crate) gate: Option<String>,

    /// How many runs are listed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// There is no run of that name. Wrong use, not a failure.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no run of {0:?}; `pilot logs` lists the runs")]
pub(crate) struct UnknownKey(pub(crate) String);

pub(crate) fn run(args: &LogsArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    with_store(sources, async |store, _| {
        let wait = async |time| tokio::time::sleep(time).await;
        print_logs(args, store, clock::now(), wait, &mut Stdout::lock()).await
    })
}

/// Prints what was asked for. `wait` waits before a followed run is read again.
async fn print_logs(
    args: &LogsArgs,
    store: &Store,
    now: Timestamp,
    wait: impl AsyncFnMut(Duration),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match &args.key {
        None => list(args, store, now, out).await?,
        Some(key) => match &args.gate {
            Some(gate) => {
                let target = Target::parse(key, args.project.project.as_deref())?;
                print_gate(&target.find_run(store).await?, gate, args.json, out)?;
            }
            None => one(args, key, store, wait, out).await?,
        },
    }
    out.flush()?;
    Ok(())
}

async fn list(args: &LogsArgs, store: &Store, now: Timestamp, out: &mut impl Write) -> anyhow::Result<()> {
    let runs = store.recent(args.limit).await?;
    if args.json {
        return runs.iter().try_for_each(|run| print_json(&run_json(run), out));
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
            rough(now.since(run.started_at).as_secs()),
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
    let target = Target::parse(key, args.project.project.as_deref())?;
    let mut run = target.find_run(store).await?;
    if args.json {
        print_json(&run_json(&run), out)?;
    } else {
        header(&run, out)?;
    }
    let (started, mut last) = (run.started_at, 0);
    loop {
        // Asked before the lines are: what a run logged before its end is not missed.
        let ended = run.status != ExecutionStatus::Running;
        for row in store.logs_after(&run.id, last).await? {
            last = row.id;
            print_log(&row, started, args.json, out)?;
        }
        if ended || !args.follow {
            return Ok(());
        }
        out.flush()?;
        wait(FOLLOW).await;
        let again = store.last_for(run.id.as_str()).await?;
        run = again.ok_or_else(|| UnknownKey(key.to_owned()))?;
    }
}

/// What is kept of a gate's output.
fn print_gate(run: &Execution, name: &str, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let gates: Vec<GateReport> =
        run.gates.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let Some(gate) = gates.iter().find(|gate| gate.name == name) else {
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(WrongUse::error(format_args!(
            "run {} of {} has no gate {name:?}; its gates: {names}",
            run.id.short(),
            run.task_id
        )));
    };
    if json {
        return print_json(&serde_json::to_value(gate)?, out);
    }
    let code = gate.exit_code.map_or_else(String::new, |code| format!(" (exit code {code})"));
    let name = printable::line(&gate.name, 60);
    writeln!(out, "The gate {name} of run {}: {}{code}", run.id.short(), gate.status.words())?;
    match gate.output.is_empty() {
        true => writeln!(out, "Nothing of its output is kept.")?,
        false => writeln!(out, "\n{}", printable::text(gate.output.trim_end()))?,
    }
    Ok(())
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
    let model = run.model.as_ref().map_or_else(String::new, |model| format!(", {model}"));
    field("agent", Some(format!("{}{model}", run.backend)))?;
    field("branch", run.branch.clone())?;
    field("commit", run.commit_sha.clone())?;
    field("PR", run.pr_url.clone())?;
    field("cost", run.cost_usd.map(|usd| format!("{usd:.2} USD")))?;
    writeln!(out)?;
    Ok(())
}

fn print_log(row: &LogRow, started: Timestamp, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    if json {
        let (at, level) = (utc(row.at), row.level.as_str());
        let object = json!({"type": "log", "at": at, "level": level, "source": row.source, "line": row.line});
        return print_json(&object, out);
    }
    let ms = row.at.since(started).as_millis();
    let at = format!("+{}.{}s", ms / 1000, ms % 1000 / 100);
    // Further lines of one entry are indented below its first.
    let text = printable::text(row.line.trim_end()).replace('\n', &format!("\n{:>26}", ""));
    writeln!(out, "{at:>9}  {:<5}  {:<7}  {text}", row.level.as_str(), printable::line(&row.source, 7))?;
    Ok(())
}

fn print_json(object: &Value, out: &mut impl Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "{object}")?)
}

/// A run, with the names the result of `pilot task` has.
fn run_json(run: &Execution) -> Value {
    // What is stored as JSON was made by us; should it not be JSON, it is as good as absent.
    let stored =
        |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "type": "run",
        "task": run.task_id,
        "run": run.id.as_str(),
        "title": run.title,
        "project": run.project_path,
        "status": run.status.as_str(),
        "class": run.class,
        "reason": run.reason,
        "started_at": utc(run.started_at),
        "completed_at": run.completed_at.map(utc),
        "duration_ms": run.duration_ms,
        "backend": run.backend,
        "model": run.model,
        "session": run.session_id,
        "branch": run.branch,
        "base_sha": run.base_sha,
        "commit_sha": run.commit_sha,
        "commits": run.commits,
        "files_changed": run.files_changed,
        "pr_url": run.pr_url,
        "route": stored(&run.route),
        "attempts": run.attempts,
        "gates": stored(&run.gates),
        "review": stored(&run.review).or_else(|| run.review.clone().map(Value::from)),
        "usage": {
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "cache_read_tokens": run.cache_read_tokens,
            "cache_write_tokens": run.cache_write_tokens,
            "cost_usd": run.cost_usd,
        },
        "progress": run.progress,
        "phase": run.phase,
        "final_message": run.final_message,
        "error": run.error,
    })
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

#[cfg(test)]
pub(crate) mod tests;
