//! The event loop: it executes the jobs of the schedule and reports what arrives in the inbox. It decides nothing.

mod execute;
mod handle;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use pilot_core::config::Config;
use pilot_core::id::TaskKey;
use pilot_core::perform::RunInput;
use pilot_core::schedule::{Clock, EndCheck, RunUntil, Schedule, ScheduleConfig, TaskRef};
use pilot_core::task::Stage;
use pilot_core::time::Timestamp;
use pilot_store::{LEASE, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::inbox::{Inbound, Inbox};
use super::outages::Outages;
use super::project::{ProjectSetup, Shared};
use super::recorder::{Recorder, follow, read_behind};
use super::workers::{WorkerLauncher, Workers};
use crate::clock::{self, Stopwatch};

/// How long to wait before a busy database is tried again.
const BUSY_WAIT: Duration = Duration::from_secs(1);

pub(crate) struct Daemon<'d> {
    pub(crate) recorder: Recorder,
    outages: Outages,
    schedule: Schedule,
    config: &'d Config,
    shared: Shared,
    launcher: WorkerLauncher,
    until: RunUntil,
    /// The configured projects by name.
    setups: BTreeMap<String, ProjectSetup>,
    /// Why each project could last not be opened, to log it once.
    refusals: BTreeMap<String, String>,
    inbox: Inbox,
    received: mpsc::Receiver<Inbound>,
    /// Calls and runs under way; each sends its result to the inbox.
    under_way: JoinSet<()>,
    workers: Workers,
    /// What was read for runs that are about to start.
    run_inputs: BTreeMap<TaskRef, RunInput>,
    is_store_busy: bool,
    uptime: Stopwatch,
}

/// A project that could not be opened is asked for again as often as the busiest tracker is polled.
fn reconnect_after(config: &Config, setups: &[ProjectSetup]) -> Duration {
    let intervals = setups.iter().map(|setup| setup.tracker.settings(&config.adapters).poll_interval);
    intervals.min().unwrap_or(BUSY_WAIT)
}

/// What a daemon is made of.
pub(crate) struct DaemonParts<'d> {
    pub(crate) recorder: Recorder,
    pub(crate) outages: Outages,
    pub(crate) config: &'d Config,
    pub(crate) shared: Shared,
    pub(crate) setups: Vec<ProjectSetup>,
    pub(crate) launcher: WorkerLauncher,
    pub(crate) until: RunUntil,
    pub(crate) inbox: Inbox,
    pub(crate) received: mpsc::Receiver<Inbound>,
}

impl<'d> Daemon<'d> {
    pub(crate) fn new(parts: DaemonParts<'d>) -> Daemon<'d> {
        let DaemonParts { recorder, outages, config, shared, setups, launcher, until, inbox, received } =
            parts;
        let schedule_config = ScheduleConfig {
            until: until.clone(),
            max_concurrent: usize::try_from(config.orchestrator.max_concurrent).unwrap_or(1),
            renew_every: LEASE / 3,
            reconnect_after: reconnect_after(config, &setups),
        };
        let setups: BTreeMap<String, ProjectSetup> =
            setups.into_iter().map(|setup| (setup.name.clone(), setup)).collect();
        let clock = Clock { now: clock::now(), uptime: Duration::ZERO };
        Daemon {
            recorder,
            outages,
            schedule: Schedule::new(schedule_config, setups.keys().cloned(), clock),
            config,
            shared,
            launcher,
            until,
            setups,
            refusals: BTreeMap::new(),
            inbox,
            received,
            under_way: JoinSet::new(),
            workers: Workers::new(),
            run_inputs: BTreeMap::new(),
            is_store_busy: false,
            uptime: Stopwatch::start(),
        }
    }

    fn clock(&self) -> Clock {
        Clock { now: clock::now(), uptime: self.uptime.elapsed() }
    }

    /// Runs until it is stopped, or until there is nothing left to do.
    pub(crate) async fn run(&mut self) -> anyhow::Result<()> {
        while !self.schedule.has_stopped(self.is_store_busy) {
            let round = self.run_round().await;
            let wait = match self.retry_if_busy(round)? {
                Some(Some(wait)) => wait,
                Some(None) => return Ok(()),
                None => BUSY_WAIT,
            };
            self.receive(wait).await?;
        }
        Ok(())
    }

    /// Executes all jobs. Returns how long nothing is due; none when the daemon may end.
    async fn run_round(&mut self) -> anyhow::Result<Option<Duration>> {
        self.schedule.store_read(self.recorder.store.version().await?);
        self.schedule.plan_round(self.clock());
        while let Some(job) = self.schedule.next_job() {
            if let Err(error) = self.execute(&job).await {
                self.schedule.put_back(job);
                return Err(error);
            }
        }
        self.recorder.publish_feed().await?;
        if std::mem::take(&mut self.is_store_busy) {
            self.recorder.log.info("pilot", "the database can be written again");
        }
        let next_action = self.recorder.store.next_due(&self.recorder.me).await?;
        if self.may_end(next_action).await? {
            return Ok(None);
        }
        Ok(Some(self.schedule.wait(self.clock(), next_action)))
    }

    async fn may_end(&self, next_action: Option<Timestamp>) -> anyhow::Result<bool> {
        let is_idle = Schedule::is_outbox_idle(next_action, self.clock());
        Ok(match self.schedule.end_check() {
            None => false,
            Some(EndCheck::Outbox) => is_idle,
            Some(EndCheck::Rests(task)) => is_idle && self.rests(&task).await?,
        })
    }

    /// Whether a task, or the fix that continues it, has ended, is held, or is queued behind one that is.
    async fn rests(&self, task: &TaskKey) -> anyhow::Result<bool> {
        let store = &self.recorder.store;
        for (project, opened) in &self.recorder.open_projects {
            if let Some((facts, stage)) = follow(store, project, task).await? {
                let behind = read_behind(store, opened.policy.mode, &facts, &stage).await?;
                let is_over = matches!(stage, Stage::Held { .. } | Stage::Ended { .. });
                return Ok(is_over || behind.is_some_and(|behind| behind.hold.is_some()));
            }
        }
        Ok(false)
    }

    /// Waits for messages, but not longer than this, and handles all that have arrived.
    async fn receive(&mut self, wait: Duration) -> anyhow::Result<()> {
        let timeout = tokio::time::sleep(wait);
        tokio::pin!(timeout);
        loop {
            tokio::select! {
                Some(message) = self.received.recv() => {
                    self.handle(message)?;
                    while let Ok(message) = self.received.try_recv() {
                        self.handle(message)?;
                    }
                    return Ok(());
                }
                // A panic in a call or a run: the next start takes over what was under way.
                Some(ended) = self.under_way.join_next() => ended.context("a background job panicked")?,
                () = &mut timeout => return Ok(()),
            }
        }
    }

    /// A database that another process holds or that has no room is tried again; that is logged once.
    fn retry_if_busy<T>(&mut self, done: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
        let error = match done {
            Ok(done) => return Ok(Some(done)),
            Err(error) => error,
        };
        let is_busy = error.chain().any(|cause| {
            matches!(cause.downcast_ref(), Some(StoreError::Locked { .. } | StoreError::Full { .. }))
        });
        if !is_busy {
            return Err(error);
        }
        if !std::mem::replace(&mut self.is_store_busy, true) {
            self.recorder.log.error("pilot", &format!("{error:#}; tried again until it works"));
        }
        Ok(None)
    }
}
