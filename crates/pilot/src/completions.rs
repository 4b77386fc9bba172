//! `pilot completions`: the completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::stdout::Stdout;

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    // clap_complete panics when a write fails, so it gets a buffer that cannot.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pilot", &mut script);

    let mut stdout = Stdout::lock();
    stdout.write_all(&script)?;
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
