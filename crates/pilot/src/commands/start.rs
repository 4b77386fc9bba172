//! `pilot start`: the daemon in the foreground.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use pilot_core::schedule::RunUntil;

use crate::config::{ConfigSources, Flags, load};
use crate::daemon::feed::Feed;
use crate::daemon::log::Log;
use crate::daemon::setup::Setup;
use crate::daemon::{Run, alone, failpoint};

const HELP: &str = "\
Examples:
  pilot start
  pilot start --once
  pilot start --project ~/src/app --autopilot dev

Runs in the foreground until it is stopped: `pilot stop`, Ctrl-C, or SIGTERM lets running agents finish for 15 s, then stops \
them with their work kept; a second Ctrl-C stops them at once. After a kill at any moment, the next start continues where it was.

Exit codes: 0 stopped, or nothing left to do; 1 something failed; 2 wrong use or configuration, or another daemon runs.
";

const GITS: usize = 8;

#[derive(Debug, Default, Args)]
#[command(after_help = HELP)]
pub(crate) struct StartArgs {
    /// How careful Pilot is with merges: dev, stage or prod
    #[arg(long, value_name = "ENVIRONMENT")]
    pub(crate) autopilot: Option<String>,

    /// Only this project: its name in the configuration, or its directory
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) project: Option<String>,

    /// Work until nothing is left to do, then exit
    #[arg(long)]
    pub(crate) once: bool,
}

pub(crate) fn run(args: &StartArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let ConfigSources { environment, file, .. } = sources;
    failpoint::set(environment.text("PILOT_FAILPOINT"));
    let flags = Flags { environment: args.autopilot.clone(), ..Flags::default() };
    let loaded = load(&ConfigSources { flags: &flags, ..sources })?;
    let config = loaded.config()?;
    loaded.print_notices();
    let base = Setup::check(&loaded, config, environment, args.project.as_deref())?;
    let _lock = alone(loaded.home.path())?;
    let user = environment.os("HOME").map(Path::new);
    let log = Log::open(&config.logging, loaded.home.path(), user)
        .context("open the log; see logging.output in the configuration")?;
    let until = if args.once { RunUntil::Quiet } else { RunUntil::Stopped };
    // Each further thread costs memory of its own.
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(GITS).enable_all().build()?;
    let mut run = Run { loaded: &loaded, config, environment, file, base, log, until, feed: Feed::new() };
    runtime.block_on(run.run(false))?;
    Ok(ExitCode::SUCCESS)
}
