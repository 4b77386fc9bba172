//! Commands about the daemon from another process: `stop`, `status`, `why`, and orders.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::fact::Order;
use pilot_core::name::{ProjectId, TaskKey};
use pilot_core::task::Stage;
use pilot_core::time::Timestamp;
use pilot_core::words;
use pilot_link::http::Moment;
use pilot_store::{Store, TaskRow};
use serde_json::{Value, json};

use super::lock::{Holder, Lock, signal};
use super::{desk, orders};
use crate::clock::Stopwatch;
use crate::config::{self, Environment, Flags, Loaded};
use crate::stdout::Stdout;
use crate::wrong_use::WrongUse;
use crate::{memory, printable};

/// How long an order is waited for to be taken.
const TAKEN: Duration = Duration::from_secs(3);

/// How long `pilot stop` waits.
const STOPPED: Duration = Duration::from_secs(120);

const STEP: Duration = Duration::from_millis(50);

const STOP_HELP: &str = "\
Examples:
  pilot stop
  pilot stop --now

Running agents may finish for 15 s; then, or with --now at once, they are stopped with their work kept.";

const STATUS_HELP: &str = "\
Examples:
  pilot status
  pilot status --all
  pilot status --json | jq -r '.tasks[] | select(.stage == \"held\") | .why'";

const WHY_HELP: &str = "\
Examples:
  pilot why GH-12
  pilot why GH-12 --json

Shows where a task stands, what would change that, and everything that was decided about it with its reason.";

/// `pilot stop`.
#[derive(Debug, Args)]
#[command(after_help = STOP_HELP)]
pub(crate) struct StopArgs {
    /// Do not let running agents finish
    #[arg(long)]
    pub(crate) now: bool,
}

/// `pilot status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct StatusArgs {
    /// Also the tasks that are over
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pilot why`.
#[derive(Debug, Args)]
#[command(after_help = WHY_HELP)]
pub(crate) struct WhyArgs {
    /// The task, such as GH-12
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn loaded(file: Option<&Path>, environment: &Environment) -> anyhow::Result<Loaded> {
    Ok(config::load(&config::Request { environment, file, repo: None, flags: &Flags::default() })?)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Asks the daemon to stop, and waits until it has.
pub(crate) fn stop(
    args: &StopArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = loaded(file, environment)?;
    let home = loaded.home.path();
    let Holder::Process(pid) = Lock::look(home)? else {
        eprintln!("no daemon runs");
        return Ok(ExitCode::SUCCESS);
    };
    signal(pid, args.now)?;
    let watch = Stopwatch::start();
    runtime()?.block_on(async {
        if args.now {
            tokio::time::sleep(STEP).await;
            let _ = signal(pid, true);
        }
        while watch.elapsed() < STOPPED && Lock::look(home)? == Holder::Process(pid) {
            tokio::time::sleep(STEP).await;
        }
        anyhow::Ok(())
    })?;
    if Lock::look(home)? == Holder::Process(pid) {
        anyhow::bail!(
            "the daemon, process {pid}, has not ended after {} s; its log says why",
            STOPPED.as_secs()
        );
    }
    eprintln!("the daemon has stopped");
    Ok(ExitCode::SUCCESS)
}

/// Gives an order to the daemon: about a task, or about everything.
pub(crate) fn order(loaded: &Loaded, order: Order, task: Option<&TaskKey>) -> anyhow::Result<ExitCode> {
    let home = loaded.home.path();
    let given = orders::give(home, order, task)?;
    let what = task.map_or("every project", TaskKey::as_str);
    if Lock::look(home)? == Holder::Nobody {
        eprintln!("{what}: {} is kept for the next `pilot start`; no daemon runs now", order.as_str());
        return Ok(ExitCode::SUCCESS);
    }
    let watch = Stopwatch::start();
    runtime()?.block_on(async {
        while watch.elapsed() < TAKEN && given.still_waits() {
            tokio::time::sleep(STEP).await;
        }
    });
    match given.still_waits() {
        true => eprintln!("{what}: {} waits for the daemon", order.as_str()),
        false => eprintln!("{what}: {} is done; `pilot status` shows where it stands", order.as_str()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The tasks of this key, in whichever project.
pub(crate) async fn find(store: &Store, key: &TaskKey) -> anyhow::Result<Vec<(ProjectId, TaskRow)>> {
    let mut found = Vec::new();
    for project in store.project_ids().await? {
        for row in store.tasks(&project).await? {
            if row.facts.key == *key {
                found.push((project.clone(), row));
            }
        }
    }
    Ok(found)
}

/// Prints where everything stands.
pub(crate) fn status(
    args: &StatusArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = loaded(file, environment)?;
    let daemon = match Lock::look(loaded.home.path())? {
        Holder::Nobody => None,
        Holder::Process(pid) => Some(pid),
    };
    let rows = runtime()?.block_on(async {
        let store = memory::open(&loaded, environment).await?;
        let mut rows = Vec::new();
        for project in store.project_ids().await? {
            for row in store.tasks(&project).await? {
                if args.all || !matches!(row.stage, Stage::Ended { .. }) {
                    rows.push((project.clone(), row));
                }
            }
        }
        anyhow::Ok(rows)
    })?;
    let mut out = Stdout::lock();
    if args.json {
        let tasks: Vec<Value> = rows.iter().map(|(project, row)| entry(project, row)).collect();
        writeln!(out, "{}", json!({"daemon": daemon, "tasks": tasks}))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    match daemon {
        Some(pid) => writeln!(out, "The daemon runs, as process {pid}.")?,
        None => writeln!(out, "No daemon runs; `pilot start` starts one.")?,
    }
    if rows.is_empty() {
        let more = if args.all { "" } else { "; --all shows those that are over" };
        writeln!(out, "There are no tasks{more}.")?;
    }
    let mut last = None;
    for (project, row) in &rows {
        if last != Some(project) {
            writeln!(out, "\n{project}")?;
            last = Some(project);
        }
        let title = printable::line(row.facts.title(), 40);
        writeln!(out, "  {:<8} {:<12} {title}", row.facts.key.as_str(), row.stage.as_str())?;
        writeln!(out, "           {}", printable::line(&words::stage(&row.stage), 68))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn entry(project: &ProjectId, row: &TaskRow) -> Value {
    let life = &row.facts.life;
    json!({
        "project": project,
        "task": row.facts.key,
        "title": row.facts.title(),
        "stage": row.stage.as_str(),
        "why": words::stage(&row.stage),
        "branch": life.pushed.as_ref().map(|pushed| &pushed.branch),
        "pr": life.pr.as_ref().map(|pr| pr.pr.number),
        "attempts": life.attempts,
        "changed_at": time(row.changed_at),
    })
}

fn time(at: Timestamp) -> String {
    Moment(at.0).to_string()
}

/// Explains a task.
pub(crate) fn why(
    args: &WhyArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = loaded(file, environment)?;
    let key = TaskKey::parse(&args.key)
        .map_err(|error| WrongUse::error(format_args!("{error}; `pilot status --all` lists them")))?;
    let found = runtime()?.block_on(async {
        let store = memory::open(&loaded, environment).await?;
        let mut found = Vec::new();
        for (project, row) in find(&store, &key).await? {
            let log = store.task_log(&project, &key).await?;
            found.push((project, row, log));
        }
        anyhow::Ok(found)
    })?;
    if found.is_empty() {
        return Err(WrongUse::error(format_args!("no task {key} is known: `pilot status --all` lists them")));
    }
    let mut out = Stdout::lock();
    for (project, row, log) in &found {
        if args.json {
            let mut object = entry(project, row);
            object["log"] = log
                .iter()
                .map(|entry| {
                    json!({
                        "at": time(entry.at),
                        "happened": entry.happened.as_ref().map(words::happened),
                        "settles": entry.settles,
                        "stage": entry.stage.as_ref().map(Stage::as_str),
                        "why": entry.stage.as_ref().map(words::stage),
                    })
                })
                .collect();
            writeln!(out, "{object}")?;
            continue;
        }
        writeln!(out, "{key} of {project}: {}", printable::line(row.facts.title(), 60))?;
        writeln!(out, "{}: {}", row.stage.as_str(), words::stage(&row.stage))?;
        if let Some(wake) = row.wake.filter(|wake| *wake > desk::now()) {
            writeln!(out, "It is looked at again at {}.", time(wake))?;
        }
        writeln!(out)?;
        for entry in log {
            let what = entry.happened.as_ref().map_or("time passed".to_owned(), words::happened);
            writeln!(out, "{}  {}", time(entry.at), printable::line(&what, 200))?;
            if let Some(stage) = &entry.stage {
                writeln!(
                    out,
                    "{:22}-> {}: {}",
                    "",
                    stage.as_str(),
                    printable::line(&words::stage(stage), 200)
                )?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
