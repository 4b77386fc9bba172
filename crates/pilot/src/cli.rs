//! The command line: what can be asked of Pilot, and the help for it.
//!
//! Wrong use ends with 2, as clap has it; `main` turns everything else into the exit codes below.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::budget::BudgetArgs;
use crate::config::command::ConfigArgs;
use crate::daemon::StartArgs;
use crate::daemon::commands::{StatusArgs, StopArgs, WhyArgs};
use crate::demo::DemoArgs;
use crate::demo::drill::DrillArgs;
use crate::doctor::DoctorArgs;
use crate::forge::ForgeArgs;
use crate::github::GithubArgs;
use crate::history::{OrderArgs, TargetArgs};
use crate::init::InitArgs;
use crate::logs::LogsArgs;
use crate::man::ManArgs;
use crate::pipeline::{RunArgs, StepsArgs, ValidateArgs};
use crate::replay::ReplayArgs;
use crate::task::TaskArgs;

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

Data goes to standard output, everything else to standard error. When the reader of standard output leaves early, \
as in `pilot … | head`, Pilot stops in silence with 0.
";

const SIGNALS_HELP: &str = "\
Examples:
  printf '<pilot:completed>done</pilot:completed>' | pilot signals
  pilot signals answer.md
  pilot signals --strip answer.md
  pilot signals --input stream-json transcript.jsonl
  pilot signals --input stream-json --agent codex transcript.jsonl

A mark that counts is printed as an event, one that does not as a diagnostic that says why. Both are one JSON object \
a line, in order of appearance, with the byte span of the mark. Bad marks are no failure: the exit code is 0 unless \
the input cannot be read.
";

const CANCEL_HELP: &str = "\
Examples:
  pilot cancel GH-12
  pilot cancel TASK-1a2b3c4d
  pilot logs --follow TASK-1a2b3c4d";

const RESUME_HELP: &str = "\
Examples:
  pilot resume
  pilot resume GH-12
  pilot resume TASK-1a2b3c4d
  pilot logs --follow TASK-1a2b3c4d

A run pauses when it gets nowhere (executor.stagnation); it then waits for executor.pause_timeout.";

const PAUSE_HELP: &str = "\
Examples:
  pilot pause
  pilot pause GH-12

Without a task everything pauses: no run begins and nothing is merged. Agents that are at work finish.";

const RETRY_HELP: &str = "\
Examples:
  pilot retry GH-12
  pilot why GH-12";

const COMPLETIONS_HELP: &str = "\
Examples:
  pilot completions bash > ~/.local/share/bash-completion/completions/pilot
  pilot completions zsh > ~/.zfunc/_pilot
  pilot completions fish > ~/.config/fish/completions/pilot.fish";

/// Ships tickets: a labelled issue in, a reviewed and merged pull request out.
#[derive(Debug, Parser)]
#[command(name = "pilot", version, after_help = HELP, disable_help_subcommand = true, max_term_width = 120)]
pub(crate) struct Cli {
    /// The configuration file [default: config.yaml in $PILOT_HOME, or in ~/.pilot]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What Pilot can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show everything Pilot does, on a forge of its own on this machine
    Demo(DemoArgs),
    /// Kill Pilot while it works, again and again, and check what came of it
    Drill(DrillArgs),
    /// Work on labelled issues until stopped
    Start(StartArgs),
    /// Stop the daemon
    Stop(StopArgs),
    /// Show where every task stands
    Status(StatusArgs),
    /// Explain where a task stands, and what was decided about it
    Why(WhyArgs),
    /// Work on single issues of GitHub
    Github(GithubArgs),
    /// Put an agent to work on one task, in a worktree of its own
    Task(TaskArgs),
    /// Run the pipeline of the current folder, or go on with it
    Run(RunArgs),
    /// List the steps of the pipeline, and what became of them
    Steps(StepsArgs),
    /// Say what is wrong with the pipeline
    Validate(ValidateArgs),
    /// Write a first configuration, from what is found here, or a pipeline
    Init(InitArgs),
    /// List the runs there were, or show what one of them logged
    Logs(LogsArgs),
    /// Play a recorded run as it looked
    Replay(ReplayArgs),
    /// End a running task; its work is kept
    #[command(after_help = CANCEL_HELP)]
    Cancel(OrderArgs),
    /// Let a paused task go on, or everything
    #[command(after_help = RESUME_HELP)]
    Resume(TargetArgs),
    /// Begin and merge nothing more, of one task or of everything
    #[command(after_help = PAUSE_HELP)]
    Pause(TargetArgs),
    /// Begin a task again from the start
    #[command(after_help = RETRY_HELP)]
    Retry(OrderArgs),
    /// Show what was spent, what is reserved and where it leads
    Budget(BudgetArgs),
    /// Check everything Pilot needs
    Doctor(DoctorArgs),
    /// Print the signals in an agent's text, and what is wrong with those that do not count
    Signals(SignalsArgs),
    /// Check, explain and show the configuration
    Config(ConfigArgs),
    /// A small forge on this machine that speaks GitHub
    Forge(ForgeArgs),
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

/// What `pilot signals` reads and how it answers.
#[derive(Debug, Args)]
#[command(after_help = SIGNALS_HELP)]
pub(crate) struct SignalsArgs {
    /// What the input is [default: text, or stream-json with --agent]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) input: Option<Input>,

    /// Whose transcript it is [default: told by its first lines]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) agent: Option<Agent>,

    /// Print the text for people instead: marks that count are removed, everything else stays as it is
    #[arg(long)]
    pub(crate) strip: bool,

    /// The file to read; standard input when it is `-` or absent
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// The form of the input of `pilot signals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    /// One message, as the agent wrote it
    Text,
    /// A transcript: the lines an agent printed, of which only its own top-level text is scanned
    StreamJson,
}

/// The agent whose lines a transcript holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code, `--output-format stream-json`
    Claude,
    /// Codex, `exec --json`
    Codex,
    /// OpenCode, `run --format json`
    #[value(name = "opencode")]
    OpenCode,
    /// Gemini CLI, `--output-format stream-json`
    Gemini,
    /// Qwen Code, `--output-format stream-json`
    Qwen,
}

impl From<Agent> for pilot_core::stream::Agent {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
            Agent::OpenCode => Self::Opencode,
            Agent::Gemini => Self::Gemini,
            Agent::Qwen => Self::Qwen,
        }
    }
}

/// For which shell `pilot completions` writes.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
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
