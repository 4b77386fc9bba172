//! `pilot status`: everything at a glance.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use pilot_core::config::{Config, references};
use pilot_core::dispatch::{ProjectLoad, queued_behind};
use pilot_core::policy::BreakerPolicy;
use pilot_core::snapshot::{BudgetSnapshot, ProjectSnapshot, Snapshot, StoredTask, TaskSnapshot};
use pilot_core::task::Stage;
use pilot_store::{Store, TaskRow};

use super::{load_config, new_runtime};
use crate::calendar::Calendar;
use crate::config::Environment;
use crate::daemon::lock::{Holder, Lock};
use crate::stdout::Stdout;
use crate::{clock, printable, store_access};

const HELP: &str = "\
Examples:
  pilot status
  pilot status --all
  pilot status --json | jq -r '.tasks[] | select(.stage == \"held\") | .why'

`pilot events --follow` shows what happens from then on.";

/// `pilot status`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {
    /// Also show the tasks that have ended
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &StatusArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = load_config(file, environment)?;
    let daemon = match Lock::look(loaded.home.path())? {
        Holder::Free => None,
        Holder::Process(pid) => Some(pid),
    };
    let snapshot = new_runtime()?.block_on(async {
        let store = store_access::open(&loaded, environment).await?;
        take_snapshot(&store, loaded.config()?, daemon, args.all).await
    })?;
    if args.json {
        let mut out = Stdout::lock();
        writeln!(out, "{}", serde_json::to_string(&snapshot)?)?;
        out.flush()?;
    } else {
        print(&snapshot, args.all)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn take_snapshot(
    store: &Store,
    config: &Config,
    daemon: Option<u32>,
    is_all: bool,
) -> anyhow::Result<Snapshot> {
    let at = clock::now();
    // Read first: an event that comes meanwhile is shown twice rather than never.
    let feed_seq = store.last_feed_seq().await?;
    let policy = BreakerPolicy::of(config);
    let standing = store.standing(&Calendar::of_this_machine().window(at)?, None).await?;
    let (mut projects, mut tasks) = (Vec::new(), Vec::new());
    for project in store.project_ids().await? {
        let rows = store.tasks(&project).await?;
        let stages: Vec<&Stage> = rows.iter().map(|row| &row.stage).collect();
        let facts = store.load_project(&project).await?.facts;
        projects.push(ProjectSnapshot::new(&facts, &stages, &policy, at));
        let references = references(&project);
        for row in rows {
            if is_all || !matches!(row.stage, Stage::Ended { .. }) {
                let load = ProjectLoad { project: &facts, mode: config.orchestrator.execution_mode };
                tasks.push(TaskSnapshot::new(&stored_task(store, row, &load).await?, &references, at));
            }
        }
    }
    let budget = BudgetSnapshot::new(&config.budget, &standing);
    Ok(Snapshot { daemon, at, feed_seq, budget, projects, tasks })
}

/// A row with what its runs reported.
pub(super) async fn stored_task(
    store: &Store,
    row: TaskRow,
    load: &ProjectLoad<'_>,
) -> anyhow::Result<StoredTask> {
    let TaskRow { facts, stage, changed_at, .. } = row;
    let progress = store.run_progress(&facts.project, &facts.key).await?;
    let cost = store.task_cost(&facts.project, &facts.key).await?;
    let behind = queued_behind(load, &facts, &stage, clock::now());
    Ok(StoredTask { facts, stage, changed_at, progress, cost, behind })
}

fn print(snapshot: &Snapshot, is_all: bool) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    match snapshot.daemon {
        Some(pid) => writeln!(out, "The daemon is running, process {pid}.")?,
        None => writeln!(out, "The daemon is not running; `pilot start` starts it.")?,
    }
    let budget = &snapshot.budget;
    if budget.is_enabled {
        let (today, daily) = (budget.today_usd, budget.daily_limit_usd);
        let (month, monthly) = (budget.this_month_usd, budget.monthly_limit_usd);
        writeln!(out, "Spent ${today:.2} of ${daily:.2} today, ${month:.2} of ${monthly:.2} this month.")?;
    }
    for project in &snapshot.projects {
        writeln!(out, "\n{}{}", project.project, project_note(project))?;
        let tasks = snapshot.tasks.iter().filter(|task| task.project == project.project);
        for task in tasks {
            let title = printable::line(&task.title, 48);
            writeln!(out, "  {:<8} {:<12} {title}", task.task.as_str(), task.stage)?;
            writeln!(out, "           {}", printable::line(&task_note(task), 68))?;
        }
    }
    if snapshot.tasks.is_empty() {
        let more = if is_all { "" } else { "; --all shows those that have ended" };
        writeln!(out, "There are no tasks{more}.")?;
    }
    out.flush()?;
    Ok(())
}

/// Why nothing starts in a project, if so.
fn project_note(project: &ProjectSnapshot) -> String {
    match (&project.paused_by, &project.breaker, &project.budget_hold) {
        (Some(by), _, _) => format!("  (paused by {by}; `pilot resume` continues)"),
        (None, Some(breaker), _) => {
            format!("  ({} runs failed in a row; no run starts before {})", breaker.failures, breaker.until)
        }
        (None, None, Some(why)) => format!("  (budget: {why})"),
        (None, None, None) => String::new(),
    }
}

/// How far the agent is, or why the task is in its stage.
fn task_note(task: &TaskSnapshot) -> String {
    let (Some(phase), Some(percent)) = (&task.phase, task.percent) else { return task.why.clone() };
    let minutes = task.elapsed_seconds.unwrap_or(0) / 60;
    let message = task.last_message.as_deref().filter(|message| !message.is_empty());
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    format!("{phase} {percent}%, {minutes} min, ${:.2}{message}", task.cost_usd)
}
