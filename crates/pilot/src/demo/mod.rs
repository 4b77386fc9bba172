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
use pilot_core::config::references;
use pilot_core::id::ProjectId;
use pilot_core::schedule::RunUntil;
use pilot_forge::Forge;
use pilot_store::Store;
use tokio::sync::oneshot;

use self::story::{DemoRow, Story, table};
use self::world::{Folder, ISSUES, REPO, World};
use crate::clock::Stopwatch;
use crate::commands::demo::DemoArgs;
use crate::config::{ConfigSources, Environment, load};
use crate::daemon::Run;
use crate::daemon::feed::Feed;
use crate::daemon::log::Log;
use crate::daemon::setup::Setup;
use crate::store_access;

/// Longer than this something is wrong.
const PATIENCE: Duration = Duration::from_secs(180);

type Ready = anyhow::Result<(World, String)>;

pub(crate) fn run(args: &DemoArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let watch = Stopwatch::start();
    let agent = args.agent.as_deref().map(backend);
    let mut folder = Folder::new(environment)?;
    let code = with_forge(&folder, environment, |environment, world, link| {
        show(args, environment, &folder.path, &world, link, agent, watch)
    })?;
    if args.keep {
        folder.keep();
    }
    Ok(code)
}

/// Works with a forge on a thread of its own, and an environment whose Pilot lives in the folder.
fn with_forge(
    folder: &Folder,
    environment: &Environment,
    work: impl FnOnce(&Environment, World, &str) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let environment = environment.with("PILOT_HOME", folder.path.join("home").as_os_str());
    let (ready, made) = channel::channel::<Ready>();
    let (stop, stopped) = oneshot::channel();
    let options = World::options(&folder.path, &environment);
    std::thread::scope(|scope| {
        scope.spawn(move || serve(options, &ready, stopped));
        let (world, link) = made.recv().context("start the forge")??;
        let done = work(&environment, world, &link);
        let _ = stop.send(());
        done
    })
}

/// The name of a backend, also in the short form of its program.
fn backend(agent: &str) -> &str {
    match agent {
        "claude" => "claude-code",
        "qwen" => "qwen-code",
        other => other,
    }
}

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
    for issue in &ISSUES {
        issues.push(runtime.block_on(world.file(issue))?);
    }
    let page = format!("{}/{}/{REPO}", world.url, world.user);
    if !args.json {
        eprintln!("A forge with the project {REPO} and {} issues: {page}", issues.len());
        eprintln!("Sign in with {link}\n");
    }
    let loaded = load(&ConfigSources::new(environment, Some(&file)))?;
    let config = loaded.config()?;
    let base = Setup::check(&loaded, config, environment, None)?;
    let [setup] = &base.setups[..] else { anyhow::bail!("the demo has one project") };
    let (project, mut story) = (setup.id.clone(), Story::new(args.json, page, setup.forge_port.clone()));
    let feed = Feed::new();
    let events = feed.subscribe();
    let mut pilot = Run {
        loaded: &loaded,
        config,
        environment,
        file: Some(&file),
        base,
        log: Log::silent(),
        until: RunUntil::Quiet,
        feed,
    };
    let interrupted = runtime.block_on(async {
        // A user who interrupts a demo does not want to wait for its agents.
        let running = tokio::time::timeout(PATIENCE, pilot.run(true));
        let (ended, ()) = tokio::join!(running, story.tell(events));
        ended.context("the demo takes too long; `pilot doctor` may say why")?
    })?;
    let rows = runtime.block_on(async {
        let store = store_access::open(&loaded, environment).await?;
        rows(&store, &project, &checkout, &issues).await
    })?;
    let release = story.release;
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

/// Runs until Ctrl-C, for a user who wants to try things.
fn keep(
    runtime: &tokio::runtime::Runtime,
    mut pilot: Run<'_>,
    folder: &Path,
    file: &Path,
) -> anyhow::Result<()> {
    eprintln!("\nEverything keeps running until Ctrl-C: label an issue `pilot`, and see.");
    eprintln!("  PILOT_HOME={}/home pilot status --config {}", folder.display(), file.display());
    pilot.until = RunUntil::Stopped;
    runtime.block_on(pilot.run(true)).map(|_| ())
}

/// What became of each issue, and what it and its fixes cost.
async fn rows(
    store: &Store,
    project: &ProjectId,
    checkout: &Path,
    issues: &[u64],
) -> anyhow::Result<Vec<DemoRow>> {
    let keys = references(project).tickets;
    let path = checkout.canonicalize()?;
    let mut rows = Vec::new();
    for issue in issues {
        let key = keys.read(&format!("#{issue}")).context("name a task")?;
        let tasks = store.tasks(project).await?;
        let mut usd = 0.0;
        for task in tasks.iter().filter(|task| task.facts.root() == key) {
            let spent = store.spent_on(&path.to_string_lossy(), task.facts.key.as_str()).await?;
            usd += spent.usd.dollars();
        }
        if let Some(task) = tasks.into_iter().find(|task| task.facts.key == key) {
            let title = task.facts.title().to_owned();
            rows.push(DemoRow { issue: *issue, title, stage: task.stage, usd });
        }
    }
    Ok(rows)
}
