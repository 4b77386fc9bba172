//! The daemon: `pilot start` and everything that talks to it. Wiring only: the core decides, the store remembers, the link
//! and exec do.
//!
//! Everything reaches [`event_loop`] through [`inbox`]; it executes the jobs of the core's schedule. [`recorder`] writes
//! decisions, [`perform`] makes the calls they need, [`workers`] runs agents in processes of their own, [`feed`] tells
//! listeners what happened.

pub(crate) mod command_files;
pub(crate) mod event_loop;
pub(crate) mod failpoint;
pub(crate) mod feed;
pub(crate) mod inbox;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod outages;
pub(crate) mod perform;
pub(crate) mod project;
pub(crate) mod recorder;
pub(crate) mod setup;
pub(crate) mod workers;

use std::path::Path;

use anyhow::Context;
use pilot_core::config::Config;
use pilot_core::schedule::RunUntil;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use self::event_loop::{Daemon, DaemonParts};
use self::feed::Feed;
use self::inbox::{Inbound, Inbox};
use self::lock::{Holder, Lock};
use self::log::Log;
use self::outages::Outages;
use self::recorder::Recorder;
use self::setup::{Setup, instance};
use self::workers::WorkerLauncher;
use crate::config::{Environment, Loaded};
use crate::store_access;
use crate::wrong_use::WrongUse;

/// Makes sure that no other daemon runs with this directory, as long as what is given back lives.
pub(crate) fn alone(home: &Path) -> anyhow::Result<Lock> {
    match Lock::take(home).context("take the daemon's lock")? {
        Ok(lock) => Ok(lock),
        Err(Holder::Process(pid)) => Err(WrongUse::error(format_args!(
            "a daemon runs already, with process {pid}: stop it with `pilot stop`, or use another PILOT_HOME"
        ))),
        Err(Holder::Free) => Err(WrongUse::error("another daemon has just ended: start again")),
    }
}

/// Everything a daemon is made of.
pub(crate) struct Run<'r> {
    pub(crate) loaded: &'r Loaded,
    pub(crate) config: &'r Config,
    pub(crate) environment: &'r Environment,
    pub(crate) file: Option<&'r Path>,
    pub(crate) base: Setup,
    pub(crate) log: Log,
    pub(crate) until: RunUntil,
    pub(crate) feed: Feed,
}

impl Run<'_> {
    /// Runs the daemon until it ends or this process is asked to; true when it was. `is_urgent`: agents need not finish.
    pub(crate) async fn run(&mut self, is_urgent: bool) -> anyhow::Result<bool> {
        // Listeners end with the daemon, also when it cannot start.
        let feed = std::mem::replace(&mut self.feed, Feed::new());
        let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (inbox, received) = Inbox::new();
        let mut is_interrupted = false;
        let running = self.run_with(feed, inbox.clone(), received);
        tokio::pin!(running);
        loop {
            tokio::select! {
                done = &mut running => return done.map(|()| is_interrupted),
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            is_interrupted = true;
            inbox.send(Inbound::Stop { is_urgent }).await;
        }
    }

    async fn run_with(
        &mut self,
        feed: Feed,
        inbox: Inbox,
        received: mpsc::Receiver<Inbound>,
    ) -> anyhow::Result<()> {
        let store = store_access::open(self.loaded, self.environment).await?;
        store.check().await?;
        let Setup { shared, setups } = self.base.clone();
        let launcher = WorkerLauncher {
            program: shared.askpass.clone(),
            environment: self.environment.clone(),
            config: self.file.map(Path::to_owned),
            inbox: inbox.clone(),
        };
        let home = self.loaded.home.path().to_owned();
        let mut log = std::mem::replace(&mut self.log, Log::silent());
        setup::collect(&shared, &home, &store, &mut log).await;
        command_files::upgrade(&home, &store, &mut log).await?;
        let recorder = Recorder {
            store,
            me: instance()?,
            home: shared.home.clone(),
            log,
            open_projects: std::collections::BTreeMap::new(),
            feed,
        };
        let (config, until) = (self.config, self.until.clone());
        let outages = Outages::new(&home);
        let commands = command_files::watch(home, inbox.clone());
        let parts =
            DaemonParts { recorder, outages, config, shared, setups, launcher, until, inbox, received };
        let mut daemon = Daemon::new(parts);
        let done = tokio::select! {
            done = daemon.run() => done,
            () = commands => Ok(()),
        };
        daemon.recorder.store.close().await;
        done
    }
}
