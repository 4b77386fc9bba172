//! The daemon: `pilot start` and everything that talks to it. Wiring only: the core decides, the store remembers, the link
//! and exec do.
//!
//! [`beat`] is the loop, [`desk`] where decisions are written, [`perform`] and [`calls`] carry them out, [`hands`] runs
//! agents in processes of their own, [`poll`] asks what is new.

pub(crate) mod beat;
mod calls;
pub(crate) mod commands;
pub(crate) mod desk;
pub(crate) mod failpoint;
mod failure;
pub(crate) mod ground;
pub(crate) mod hands;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod orders;
mod perform;
mod poll;
mod read;
pub(crate) mod site;
pub(crate) mod watch;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use pilot_core::config::Config;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use self::beat::{Daemon, Until};
use self::desk::Desk;
use self::ground::{Base, instance};
use self::hands::Bench;
use self::lock::{Holder, Lock};
use self::log::Log;
use self::watch::Watcher;
use crate::config::{self, Environment, Flags, Loaded};
use crate::memory;
use crate::wrong_use::WrongUse;

const HELP: &str = "\
Examples:
  pilot start
  pilot start --once
  pilot start --project ~/src/app --autopilot dev

Runs in the foreground until it is stopped: `pilot stop`, Ctrl-C, or SIGTERM lets running agents finish for 15 s, then stops \
them with their work kept; a second Ctrl-C stops them at once. Killed at any moment, the next start goes on where it was.

Exit codes: 0 stopped, or nothing left to do; 1 something failed; 2 wrong use or configuration, or another daemon runs.
";

/// How many programs of git are waited for at once.
const GITS: usize = 8;

/// How the daemon is started.
#[derive(Debug, Default, Args)]
#[command(after_help = HELP)]
pub(crate) struct StartArgs {
    /// How far Pilot goes by itself: dev, stage or prod
    #[arg(long, value_name = "ENVIRONMENT")]
    pub(crate) autopilot: Option<String>,

    /// Only this project: its name in the configuration, or its directory
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) project: Option<String>,

    /// Work until nothing is left to do, then end
    #[arg(long)]
    pub(crate) once: bool,
}

/// `pilot start`.
pub(crate) fn start(
    args: &StartArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    failpoint::set(environment.text("PILOT_FAILPOINT"));
    let flags = Flags { environment: args.autopilot.clone(), ..Flags::default() };
    let loaded = config::load(&config::Request { environment, file, repo: None, flags: &flags })?;
    let config = loaded.config()?;
    for notice in loaded.notices() {
        eprintln!("pilot: {notice}");
    }
    let base = Base::lay(&loaded, config, environment, args.project.as_deref())?;
    let _lock = alone(loaded.home.path())?;
    let user = environment.os("HOME").map(Path::new);
    let log = Log::open(&config.logging, loaded.home.path(), user)
        .context("open the log; see logging.output in the configuration")?;
    let until = if args.once { Until::Quiet } else { Until::Stopped };
    // Each thread beside has memory of its own.
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(GITS).enable_all().build()?;
    let mut run =
        Run { loaded: &loaded, config, environment, file, base, log, until, watcher: Watcher::default() };
    runtime.block_on(run.attended())?;
    Ok(ExitCode::SUCCESS)
}

/// Makes sure that no other daemon runs with this directory, as long as what is given back lives.
pub(crate) fn alone(home: &Path) -> anyhow::Result<Lock> {
    match Lock::take(home).context("take the daemon's lock")? {
        Ok(lock) => Ok(lock),
        Err(Holder::Process(pid)) => Err(WrongUse::error(format_args!(
            "a daemon runs already, with process {pid}: stop it with `pilot stop`, or use another PILOT_HOME"
        ))),
        Err(Holder::Nobody) => Err(WrongUse::error("another daemon has just ended: start again")),
    }
}

/// Everything a daemon is made of.
pub(crate) struct Run<'r> {
    pub(crate) loaded: &'r Loaded,
    pub(crate) config: &'r Config,
    pub(crate) environment: &'r Environment,
    pub(crate) file: Option<&'r Path>,
    pub(crate) base: Base,
    pub(crate) log: Log,
    pub(crate) until: Until,
    pub(crate) watcher: Watcher,
}

impl Run<'_> {
    /// Runs the daemon and lets it finish when this process is asked to end; true when it was.
    pub(crate) async fn attended(&mut self) -> anyhow::Result<bool> {
        let (stop, mut stopped) = mpsc::channel(4);
        let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut interrupted = false;
        let running = self.go(&mut stopped);
        tokio::pin!(running);
        loop {
            tokio::select! {
                done = &mut running => return done.map(|()| interrupted),
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            interrupted = true;
            let _ = stop.send(false).await;
        }
    }

    /// Runs the daemon. `stop` hears when somebody wants it to end.
    pub(crate) async fn go(&mut self, stop: &mut mpsc::Receiver<bool>) -> anyhow::Result<()> {
        let store = memory::open(self.loaded, self.environment).await?;
        store.check().await?;
        let Base { ground, plots } = self.base.clone();
        let (whispers, heard) = mpsc::unbounded_channel();
        let bench = Bench {
            program: ground.askpass.clone(),
            environment: self.environment.clone(),
            config: self.file.map(Path::to_owned),
            whispers,
        };
        let home = self.loaded.home.path().to_owned();
        let mut log = std::mem::replace(&mut self.log, Log::silent());
        ground::collect(&ground, &home, &store, &mut log).await;
        let desk = Desk {
            store,
            me: instance()?,
            home: ground.home.clone(),
            log,
            sites: std::collections::BTreeMap::new(),
            wakes: std::collections::BTreeMap::new(),
            project_wakes: std::collections::BTreeMap::new(),
            watcher: std::mem::take(&mut self.watcher),
        };
        let mut daemon = Daemon::new(desk, self.config, ground, (bench, heard), (home, plots, self.until));
        let done = daemon.go(stop).await;
        daemon.desk.store.close().await;
        done
    }
}
