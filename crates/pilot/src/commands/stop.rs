//! `pilot stop`: asks the daemon to stop, and waits until it has.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::{POLL_INTERVAL, new_runtime};
use crate::clock::Stopwatch;
use crate::config::{ConfigSources, load};
use crate::daemon::lock::{Holder, Lock, signal};

const STOPPED: Duration = Duration::from_secs(120);

const HELP: &str = "\
Examples:
  pilot stop
  pilot stop --now

Running agents get 15 s to finish; then, or with --now at once, they are stopped and their work is kept.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StopArgs {
    /// Do not wait for running agents
    #[arg(long)]
    pub(crate) now: bool,
}

pub(crate) fn run(args: &StopArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let loaded = load(&sources)?;
    let home = loaded.home.path();
    let Holder::Process(pid) = Lock::look(home)? else {
        eprintln!("the daemon is not running");
        return Ok(ExitCode::SUCCESS);
    };
    signal(pid, args.now)?;
    let watch = Stopwatch::start();
    new_runtime()?.block_on(async {
        if args.now {
            tokio::time::sleep(POLL_INTERVAL).await;
            let _ = signal(pid, true);
        }
        while watch.elapsed() < STOPPED && Lock::look(home)? == Holder::Process(pid) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        anyhow::Ok(())
    })?;
    if Lock::look(home)? == Holder::Process(pid) {
        anyhow::bail!(
            "the daemon, process {pid}, has not stopped after {} s; its log shows why",
            STOPPED.as_secs()
        );
    }
    eprintln!("the daemon has stopped");
    Ok(ExitCode::SUCCESS)
}
