//! The hidden command `__stop-gate FILE`: the hook that an agent calls before it stops. On any error here the agent
//! may stop; the gates after its session judge the commit.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use pilot_exec::gate::answer_stop;
use pilot_exec::process::Containment;

use crate::config::Environment;
use crate::stdout::print_line;

/// The agent repeats its last message here; more is not read.
const LARGEST: u64 = 16 << 20;

/// Answers the agent. Never fails: an exit code would be an answer too.
pub(crate) fn run(args: impl Iterator<Item = OsString>, environment: &Environment) -> ExitCode {
    if let Err(error) = answer(args, environment) {
        eprintln!("pilot: failed to {error:#}; the agent may stop");
    }
    ExitCode::SUCCESS
}

fn answer(mut args: impl Iterator<Item = OsString>, environment: &Environment) -> anyhow::Result<()> {
    let file = PathBuf::from(args.next().context("find the file of the stop gate: it is not named")?);
    let mut input = Vec::new();
    io::stdin().lock().take(LARGEST).read_to_end(&mut input).context("hear the agent")?;
    let containment = Containment::probe("/proc/self/exe");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(answer_stop(&file, &input, environment.all(), &containment))?;
    if let Some(answer) = answer {
        print_line(answer).context("answer the agent")?;
    }
    Ok(())
}
