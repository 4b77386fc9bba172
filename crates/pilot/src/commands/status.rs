//! `pilot status`: everything at a glance.

mod screen;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::config::{Config, references};
use pilot_core::dispatch::{Candidate, ProjectLoad, in_order, queued_behind};
use pilot_core::id::{ProjectId, TaskKey};
use pilot_core::policy::BreakerPolicy;
use pilot_core::snapshot::{
    BudgetSnapshot, Outage, ProjectSnapshot, Section, Snapshot, StoredTask, TaskSnapshot,
};
use pilot_core::task::Stage;
use pilot_store::{Store, TaskRow};

use super::{load_config, new_runtime};
use crate::calendar::Calendar;
use crate::config::Environment;
use crate::daemon::lock::{Holder, Lock};
use crate::daemon::outages;
use crate::stdout::Stdout;
use crate::terminal::Canvas;
use crate::{clock, printable, store_access};

const HELP: &str = "\
Examples:
  pilot status
  pilot status --watch
  pilot status --all
  pilot status --json | jq -r '.tasks[] | select(.stage == \"held\") | .why'

What needs you comes first, then running agents, pull requests and the queue. `pilot why KEY` says more about a task,
`pilot events --follow` shows what happens from then on.";

/// How often `--watch` looks.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// `pilot status`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {
    /// Also show the tasks that have ended
    #[arg(long)]
    pub(crate) all: bool,

    /// Keep showing it, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print one JSON object, with --watch one for each change
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &StatusArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = load_config(file, environment)?;
    let config = loaded.config()?;
    new_runtime()?.block_on(async {
        let store = store_access::open(&loaded, environment).await?;
        let mut last = String::new();
        loop {
            let daemon = DaemonView::look(loaded.home.path())?;
            let snapshot = take_snapshot(&store, config, &daemon, args.all).await?;
            last = show(&snapshot, args, environment, &last)?;
            if !args.watch {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
    })
}

/// Prints a snapshot, unless it shows what the last one did. On a terminal it takes the place of the last one.
fn show(
    snapshot: &Snapshot,
    args: &StatusArgs,
    environment: &Environment,
    last: &str,
) -> anyhow::Result<String> {
    let mut out = Stdout::lock();
    let canvas = Canvas::of_stdout(environment);
    let (text, unchanging) = if args.json {
        // The time alone is no change.
        (
            format!("{}\n", serde_json::to_string(snapshot)?),
            format!("{:?}", (&snapshot.projects, snapshot.feed_seq)),
        )
    } else {
        let text = screen::draw(snapshot, args.all, &canvas);
        (text.clone(), text)
    };
    let is_screen = args.watch && !args.json && std::io::stdout().is_terminal();
    match is_screen {
        true => write!(out, "\x1b[H\x1b[2J\x1b[3J{}", screen::top(&text, printable::terminal_size().1))?,
        false if unchanging == last => {}
        false if last.is_empty() || args.json => write!(out, "{text}")?,
        false => write!(out, "\n{text}")?,
    }
    out.flush()?;
    Ok(unchanging)
}

/// The daemon as another process sees it.
struct DaemonView {
    pid: Option<u32>,
    outages: BTreeMap<ProjectId, Outage>,
}

impl DaemonView {
    fn look(home: &Path) -> anyhow::Result<DaemonView> {
        Ok(match Lock::look(home)? {
            Holder::Free => DaemonView { pid: None, outages: BTreeMap::new() },
            Holder::Process(pid) => DaemonView { pid: Some(pid), outages: outages::read(home) },
        })
    }
}

async fn take_snapshot(
    store: &Store,
    config: &Config,
    daemon: &DaemonView,
    is_all: bool,
) -> anyhow::Result<Snapshot> {
    let at = clock::now();
    // Read first: an event that comes meanwhile is shown twice rather than never.
    let feed_seq = store.last_feed_seq().await?;
    let policy = BreakerPolicy::of(config);
    let standing = store.standing(&Calendar::of_this_machine().window(at)?, None).await?;
    let (mut projects, mut tasks) = (Vec::new(), Vec::new());
    // A project whose forge never answered is not stored yet.
    let mut ids = store.project_ids().await?;
    ids.extend(daemon.outages.keys().filter(|project| !ids.contains(project)).cloned().collect::<Vec<_>>());
    for project in ids {
        let rows = store.tasks(&project).await?;
        let stages: Vec<&Stage> = rows.iter().map(|row| &row.stage).collect();
        let facts = store.load_project(&project).await?.facts;
        let mut shown = ProjectSnapshot::new(&facts, &stages, &policy, at);
        shown.outage = daemon.outages.get(&project).cloned();
        projects.push(shown);
        let mut positions = queue_positions(&rows);
        let references = references(&project);
        for row in rows {
            if is_all || Section::of(&row.facts, &row.stage) != Section::Ended {
                let load = ProjectLoad { project: &facts, mode: config.orchestrator.execution_mode };
                let mut task = TaskSnapshot::new(&stored_task(store, row, &load).await?, &references, at);
                task.position = positions.remove(&task.task);
                tasks.push(task);
            }
        }
    }
    let budget = BudgetSnapshot::new(&config.budget, &standing);
    Ok(Snapshot { daemon: daemon.pid, at, feed_seq, budget, projects, tasks })
}

/// The places of queued tasks, from 1.
fn queue_positions(rows: &[TaskRow]) -> BTreeMap<TaskKey, usize> {
    let queued = rows.iter().filter_map(|row| {
        let Stage::Queued { rank } = row.stage else { return None };
        Some(Candidate::of(&row.facts, rank))
    });
    in_order(queued.collect()).into_iter().zip(1..).collect()
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
