//! `pilot demo`: everything Pilot does, on one command, with nothing installed but git.
//!
//! The forge runs on a thread of its own; the daemon is the one of `pilot start`, on the main thread.

pub(crate) mod drill;
pub(crate) mod story;
pub(crate) mod world;

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc as channel;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pilot_core::name::{IssueNumber, ProjectId};
use pilot_forge::Forge;
use pilot_store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use self::story::{Row, Story, table};
use self::world::{Folder, REPO, TICKETS, World};
use crate::clock::Stopwatch;
use crate::config::{self, Environment, Flags};
use crate::daemon::Run;
use crate::daemon::beat::Until;
use crate::daemon::ground::Base;
use crate::daemon::log::Log;
use crate::memory;

/// Longer than this something is wrong.
const PATIENCE: Duration = Duration::from_secs(180);

const HELP: &str = "\
Examples:
  pilot demo
  pilot demo --keep
  pilot demo --agent claude
  pilot demo --json | tail -1 | jq .tasks

Makes a small project on a forge of its own on this machine, files three issues, and lets Pilot work on them with a scripted \
agent: one passes, one fails CI first and is fixed, one waits for another. Nothing leaves this machine and nothing is \
written outside of a temporary folder.

Exit codes: 0 everything was merged, 1 something was not, 130 interrupted.
";

/// How the demo is to be shown.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DemoArgs {
    /// Leave everything running afterwards, until Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,

    /// A real agent instead of the scripted one: claude, codex, opencode, gemini or qwen
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Print the story as JSON, an object a line; the last one is what became of it
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the forge's thread tells.
type Ready = anyhow::Result<(World, String)>;

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let watch = Stopwatch::start();
    let agent = args.agent.as_deref().map(backend);
    let mut folder = Folder::new(environment)?;
    let environment = environment.with("PILOT_HOME", folder.path.join("home").as_os_str());
    let (ready, made) = channel::channel::<Ready>();
    let (stop, stopped) = oneshot::channel();
    let options = World::options(&folder.path, &environment);
    let code = std::thread::scope(|scope| {
        scope.spawn(move || serve(options, &ready, stopped));
        let (world, link) = made.recv().context("start the forge")??;
        let shown = show(args, &environment, &folder.path, &world, &link, agent, watch);
        let _ = stop.send(());
        shown
    })?;
    if args.keep {
        folder.keep();
    }
    Ok(code)
}

/// The name of a backend, also in the short form of its program.
fn backend(agent: &str) -> &str {
    match agent {
        "claude" => "claude-code",
        "qwen" => "qwen-code",
        other => other,
    }
}

/// Runs the forge until it is told to stop.
fn serve(options: pilot_forge::Options, ready: &channel::Sender<Ready>, stopped: oneshot::Receiver<()>) {
    let started = || -> anyhow::Result<_> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let forge = runtime.block_on(Forge::start(options))?;
        let world = World::of(&forge)?;
        let link = forge.sign_in_link();
        Ok((runtime, forge, world, link))
    };
    match started() {
        Ok((runtime, forge, world, link)) => {
            let _ = ready.send(Ok((world, link)));
            runtime.block_on(async {
                let _ = stopped.await;
                forge.stop().await;
            });
        }
        Err(error) => drop(ready.send(Err(error))),
    }
}

fn show(
    args: &DemoArgs,
    environment: &Environment,
    folder: &Path,
    world: &World,
    link: &str,
    agent: Option<&str>,
    watch: Stopwatch,
) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(world.make_project())?;
    let checkout = world.check_out(folder, environment)?;
    let file = world.configure(folder, &checkout, agent)?;
    let mut issues = Vec::new();
    for ticket in &TICKETS {
        issues.push(runtime.block_on(world.file(ticket))?);
    }
    let page = format!("{}/{}/{REPO}", world.url, world.user);
    if !args.json {
        eprintln!("A forge with the project {REPO} and {} issues: {page}", issues.len());
        eprintln!("Sign in with {link}\n");
    }
    let flags = Flags::default();
    let loaded =
        config::load(&config::Request { environment, file: Some(&file), repo: None, flags: &flags })?;
    let config = loaded.config()?;
    let base = Base::lay(&loaded, config, environment, None)?;
    let story = Story::new(args.json, page);
    let mut pilot = Run {
        loaded: &loaded,
        config,
        environment,
        file: Some(&file),
        base,
        log: Log::silent(),
        until: Until::Quiet,
        watcher: Story::watcher(&story),
    };
    let interrupted = runtime.block_on(watched(&mut pilot))?;
    let rows = runtime.block_on(async {
        let store = memory::open(&loaded, environment).await?;
        rows(&store, world, &checkout, &issues).await
    })?;
    let release = story.borrow().release.clone();
    table(&rows, release.as_deref(), args.json)?;
    let merged = rows.iter().all(|row| row.pr().is_some()) && release.is_some();
    if !args.json {
        let seconds = watch.millis() / 100;
        eprintln!("  took {}.{} s", seconds / 10, seconds % 10);
    }
    if args.keep && !interrupted {
        keep(&runtime, pilot, folder, &file)?;
    }
    Ok(match (interrupted, merged) {
        (true, _) => ExitCode::from(130),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

/// Runs the daemon until everything is done; true when somebody interrupts.
async fn watched(pilot: &mut Run<'_>) -> anyhow::Result<bool> {
    let (stop, mut stopped) = mpsc::channel(4);
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut interrupted = false;
    let running = tokio::time::timeout(PATIENCE, pilot.go(&mut stopped));
    tokio::pin!(running);
    loop {
        tokio::select! {
            done = &mut running => {
                done.context("the demo takes too long; `pilot doctor` may say why")??;
                return Ok(interrupted);
            }
            _ = int.recv() => {}
            _ = term.recv() => {}
        }
        interrupted = true;
        // Nobody who interrupts a demo wants to wait for its agents.
        let _ = stop.send(true).await;
    }
}

/// Goes on until Ctrl-C, for whoever wants to play with it.
fn keep(
    runtime: &tokio::runtime::Runtime,
    mut pilot: Run<'_>,
    folder: &Path,
    file: &Path,
) -> anyhow::Result<()> {
    eprintln!("\nEverything keeps running until Ctrl-C: label an issue `pilot`, and see.");
    eprintln!("  PILOT_HOME={}/home pilot status --config {}", folder.display(), file.display());
    pilot.until = Until::Stopped;
    runtime.block_on(watched_for_ever(&mut pilot))
}

async fn watched_for_ever(pilot: &mut Run<'_>) -> anyhow::Result<()> {
    let (stop, mut stopped) = mpsc::channel(4);
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let running = pilot.go(&mut stopped);
    tokio::pin!(running);
    loop {
        tokio::select! {
            done = &mut running => return done,
            _ = int.recv() => drop(stop.send(true).await),
            _ = term.recv() => drop(stop.send(true).await),
        }
    }
}

/// What became of each issue, and what it and its fixes cost.
async fn rows(store: &Store, world: &World, checkout: &Path, issues: &[u64]) -> anyhow::Result<Vec<Row>> {
    let project = ProjectId::parse(&format!("github:{}/{REPO}", world.user))?;
    let path = checkout.canonicalize()?;
    let mut rows = Vec::new();
    for issue in issues {
        let tasks = store.tasks(&project).await?;
        let mut usd = 0.0;
        for task in tasks.iter().filter(|task| task.facts.root() == IssueNumber(*issue)) {
            let spent = store.spent_on(&path.to_string_lossy(), task.facts.key.as_str()).await?;
            usd += spent.usd.dollars();
        }
        if let Some(task) = tasks.into_iter().find(|task| task.facts.number == IssueNumber(*issue)) {
            let title = task.facts.title().to_owned();
            rows.push(Row { issue: *issue, title, stage: task.stage, usd });
        }
    }
    Ok(rows)
}
