//! The command line: the list of commands, and the help of `pilot` itself.
//!
//! clap ends wrong use with 2; `main` turns everything else into the exit codes below.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::budget::BudgetArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::config::ConfigArgs;
use crate::commands::control::{CANCEL_HELP, CommandArgs, PAUSE_HELP, RESUME_HELP, RETRY_HELP, TargetArgs};
use crate::commands::demo::{DemoArgs, DrillArgs};
use crate::commands::doctor::DoctorArgs;
use crate::commands::events::EventsArgs;
use crate::commands::forge::ForgeArgs;
use crate::commands::github::GithubArgs;
use crate::commands::init::InitArgs;
use crate::commands::logs::LogsArgs;
use crate::commands::man::ManArgs;
use crate::commands::pipeline::{RunArgs, StepsArgs, ValidateArgs};
use crate::commands::replay::ReplayArgs;
use crate::commands::signals::SignalsArgs;
use crate::commands::start::StartArgs;
use crate::commands::status::StatusArgs;
use crate::commands::stop::StopArgs;
use crate::commands::task::TaskArgs;
use crate::commands::why::WhyArgs;

const HELP: &str = "\
Examples:
  pilot demo
  pilot init
  pilot start
  pilot task \"Add a --json flag to the list command\"
  pilot logs
  pilot doctor
  printf '<pilot:completed>done</pilot:completed>' | pilot signals

Exit codes:
  0    done
  1    the work failed
  2    wrong use or configuration
  3    held for a person
  130  interrupted

Data goes to standard output, everything else to standard error. When standard output is closed early, \
as in `pilot … | head`, Pilot stops silently with 0.
";

/// Ships tickets: a labelled issue in, a reviewed and merged pull request out.
#[derive(Debug, Parser)]
#[command(name = "pilot", version, after_help = HELP, disable_help_subcommand = true, max_term_width = 120)]
pub(crate) struct Cli {
    /// The configuration file [default: config.yaml in $PILOT_HOME, or in ~/.pilot]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Show everything Pilot does, with a local forge
    Demo(DemoArgs),
    /// Kill Pilot repeatedly while it works, and check the result
    Drill(DrillArgs),
    /// Work on labelled issues until stopped
    Start(StartArgs),
    /// Stop the daemon
    Stop(StopArgs),
    /// Show the stage of every task
    Status(StatusArgs),
    /// Explain the stage of a task, and every decision about it
    Why(WhyArgs),
    /// Show what happened, and follow what happens
    Events(EventsArgs),
    /// Work on a single GitHub issue
    Github(GithubArgs),
    /// Run an agent on one task, in a worktree of its own
    Task(TaskArgs),
    /// Run the pipeline of the current folder, or continue it
    Run(RunArgs),
    /// List the steps of the pipeline and their results
    Steps(StepsArgs),
    /// Check the pipeline
    Validate(ValidateArgs),
    /// Write a first configuration, from what is found here, or a pipeline
    Init(InitArgs),
    /// List the runs, or show what one of them logged
    Logs(LogsArgs),
    /// Play a recorded run
    Replay(ReplayArgs),
    /// End a running task; its work is kept
    #[command(after_help = CANCEL_HELP)]
    Cancel(CommandArgs),
    /// Resume a paused task, or everything
    #[command(after_help = RESUME_HELP)]
    Resume(TargetArgs),
    /// Pause a task, or everything: start no runs, merge nothing
    #[command(after_help = PAUSE_HELP)]
    Pause(TargetArgs),
    /// Ask again for what was refused, or start a task again
    #[command(after_help = RETRY_HELP)]
    Retry(CommandArgs),
    /// Show costs so far, reservations and the forecast
    Budget(BudgetArgs),
    /// Check everything Pilot needs
    Doctor(DoctorArgs),
    /// Print the signals in an agent's text, and why others do not count
    Signals(SignalsArgs),
    /// Check and show the configuration
    Config(ConfigArgs),
    /// Run a small local forge with GitHub's API
    Forge(ForgeArgs),
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = help.contains("Example") || command.has_subcommands();
            assert!(example, "{path} --help has no example");
            command.get_subcommands().for_each(|inner| check(inner, &path));
        }
        check(&Cli::command(), "");
    }
}
