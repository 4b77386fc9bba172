//! The program: command line and wiring. Decides nothing.

// `print!` panics when standard output is closed; `stdout` does not.
#![warn(clippy::print_stdout)]

mod agent;
mod calendar;
mod cli;
mod clock;
mod commands;
mod config;
mod daemon;
mod demo;
mod pipeline;
mod printable;
mod stdout;
mod stop_gate;
mod store_access;
mod task;
mod terminal;
mod tool_call;
mod wrong_use;

use std::process::ExitCode;

use clap::Parser;

use pilot_exec::gate;
use pilot_exec::git::askpass;
use pilot_exec::process::contain;
use pilot_store::StoreError;

use crate::cli::{Cli, CliCommand};
use crate::commands::logs::UnknownKey;
use crate::commands::{
    budget, completions, control, doctor, events, forge, github, init, logs, man, replay, signals, start,
    status, stop, why,
};
use crate::config::ConfigSources;
use crate::wrong_use::WrongUse;
use pilot_core::fact::UserCommand;

fn main() -> ExitCode {
    if let Some(code) = run_hidden().or_else(answer_git).or_else(print_version) {
        return code;
    }
    let environment = config::Environment::of_this_process();
    let cli = Cli::parse();
    let file = cli.config.as_deref();
    let sources = ConfigSources::new(&environment, file);
    let done = match cli.command {
        CliCommand::Demo(args) => demo::run(&args, &environment),
        CliCommand::Drill(args) => demo::drill::run(&args, &environment),
        CliCommand::Start(args) => start::run(&args, sources),
        CliCommand::Stop(args) => stop::run(&args, sources),
        CliCommand::Status(args) => status::run(&args, file, &environment),
        CliCommand::Events(args) => events::run(&args, sources),
        CliCommand::Why(args) => why::run(&args, file, &environment),
        CliCommand::Github(args) => github::run(&args, sources),
        CliCommand::Task(args) => task::run(&args, sources),
        CliCommand::Run(args) => pipeline::run(&args, sources),
        CliCommand::Steps(args) => pipeline::steps(&args, sources),
        CliCommand::Validate(args) => pipeline::validate(&args),
        CliCommand::Init(args) => init::run(&args, sources),
        CliCommand::Logs(args) => logs::run(&args, sources),
        CliCommand::Replay(args) => replay::run(&args, sources),
        CliCommand::Cancel(args) => control::run(args.target(), UserCommand::Cancel, sources),
        CliCommand::Resume(args) => control::run(args.target(), UserCommand::Resume, sources),
        CliCommand::Pause(args) => control::run(args.target(), UserCommand::Pause, sources),
        CliCommand::Retry(args) => control::run(args.target(), UserCommand::Retry, sources),
        CliCommand::Doctor(args) => doctor::run(&args, sources),
        CliCommand::Budget(args) => budget::run(&args, sources),
        CliCommand::Signals(args) => signals::run(&args),
        CliCommand::Config(args) => commands::config::run(&args, sources),
        CliCommand::Forge(args) => forge::run(&args, &environment),
        CliCommand::Completions(args) => completions::run(&args),
        CliCommand::Man(args) => man::run(&args),
    };
    done.unwrap_or_else(|error| {
        if stdout::reader_left(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("pilot: {error:#}");
        if is_wrong_use(&error) { ExitCode::from(config::WRONG) } else { ExitCode::FAILURE }
    })
}

/// Pilot started itself: to keep an agent contained, as the hook an agent asks before it stops, or as the daemon's worker.
fn run_hidden() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()?.to_str()? {
        contain::WORD => Some(contain::main(args)),
        gate::WORD => Some(stop_gate::run(args, &config::Environment::of_this_process())),
        agent::worker::WORD => Some(task::worker::run()),
        _ => None,
    }
}

/// Git asks for a password.
fn answer_git() -> Option<ExitCode> {
    #[expect(clippy::disallowed_methods, reason = "two variables of one git's, read before anything else")]
    askpass::main(std::env::args_os(), std::env::var_os)
}

/// Scripts ask for the version often; clap is not built to print it.
fn print_version() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|word| word == "--version" || word == "-V")?;
    if args.next().is_some() {
        return None;
    }
    let printed = stdout::print_line(concat!("pilot ", env!("CARGO_PKG_VERSION")));
    // On an error clap prints it again, or fails with the reason.
    printed.is_ok().then_some(ExitCode::SUCCESS)
}

fn is_wrong_use(error: &anyhow::Error) -> bool {
    let ambiguous = matches!(error.downcast_ref::<StoreError>(), Some(StoreError::Ambiguous { .. }));
    ambiguous
        || error.is::<WrongUse>()
        || error.is::<pipeline::WrongPipeline>()
        || error.is::<UnknownKey>()
        || config::is_to_blame(error)
}
