//! `pilot completions`: the completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::stdout::Stdout;

const HELP: &str = "\
Examples:
  pilot completions bash > ~/.local/share/bash-completion/completions/pilot
  pilot completions zsh > ~/.zfunc/_pilot
  pilot completions fish > ~/.config/fish/completions/pilot.fish";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    // clap_complete panics when a write fails, so it gets a buffer that cannot.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pilot", &mut script);

    let mut stdout = Stdout::lock();
    stdout.write_all(&script)?;
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
