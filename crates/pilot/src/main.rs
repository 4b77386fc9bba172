//! The program: command line and wiring. Decides nothing.

// These panic when nobody reads; `stdout` does not.
#![warn(clippy::print_stdout)]

mod arguments;
mod budget;
mod calendar;
mod cli;
mod clock;
mod completions;
mod config;
mod daemon;
mod demo;
mod doctor;
mod forge;
mod github;
mod history;
mod init;
mod logs;
mod man;
mod memory;
mod pipeline;
mod printable;
mod replay;
mod signals;
mod stdout;
mod stop_gate;
mod task;
mod wrong_use;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use pilot_exec::gate;
use pilot_exec::git::askpass;
use pilot_exec::process::contain;
use pilot_store::StoreError;

use crate::cli::{Cli, Command};
use crate::logs::UnknownKey;
use crate::wrong_use::WrongUse;
use pilot_core::fact::Order;

fn main() -> ExitCode {
    if let Some(code) = keep().or_else(hold).or_else(answer_git).or_else(work).or_else(version) {
        return code;
    }
    let environment = config::Environment::of_this_process();
    let cli = Cli::parse();
    let file = cli.config.as_deref();
    let done = match cli.command {
        Command::Demo(args) => demo::run(&args, &environment),
        Command::Drill(args) => demo::drill::run(&args, &environment),
        Command::Start(args) => daemon::start(&args, file, &environment),
        Command::Stop(args) => daemon::commands::stop(&args, file, &environment),
        Command::Status(args) => daemon::commands::status(&args, file, &environment),
        Command::Why(args) => daemon::commands::why(&args, file, &environment),
        Command::Github(args) => github::run(&args, file, &environment),
        Command::Task(args) => task::run(&args, file, &environment),
        Command::Run(args) => pipeline::run(&args, file, &environment),
        Command::Steps(args) => pipeline::steps(&args, file, &environment),
        Command::Validate(args) => pipeline::validate(&args),
        Command::Init(args) => init::run(&args, file, &environment),
        Command::Logs(args) => history::logs(&args, file, &environment),
        Command::Replay(args) => history::replay(&args, file, &environment),
        Command::Cancel(args) => history::order(Some(&args.key), Order::Cancel, file, &environment),
        Command::Resume(args) => history::order(args.key.as_deref(), Order::Resume, file, &environment),
        Command::Pause(args) => history::order(args.key.as_deref(), Order::Pause, file, &environment),
        Command::Retry(args) => history::order(Some(&args.key), Order::Retry, file, &environment),
        Command::Doctor(args) => history::doctor(&args, file, &environment),
        Command::Budget(args) => history::budget(&args, file, &environment),
        Command::Signals(args) => signals::run(&args),
        Command::Config(args) => config::command::run(&args, file, &environment),
        Command::Forge(args) => forge::run(&args, &environment),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    done.unwrap_or_else(|error| {
        if stdout::reader_left(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("pilot: {error:#}");
        if is_wrong_use(&error) { ExitCode::from(config::WRONG) } else { ExitCode::FAILURE }
    })
}

/// Pilot started itself to keep an agent contained.
fn keep() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1).peekable();
    args.next_if(|word| word == contain::WORD)?;
    Some(contain::main(args))
}

/// An agent asks whether it may stop.
fn hold() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1).peekable();
    args.next_if(|word| word == gate::WORD)?;
    Some(stop_gate::run(args, &config::Environment::of_this_process()))
}

/// Git asks for a password.
fn answer_git() -> Option<ExitCode> {
    #[expect(clippy::disallowed_methods, reason = "two variables of one git's, read before anything else")]
    askpass::main(std::env::args_os(), std::env::var_os)
}

/// The daemon started this process to carry out a task.
fn work() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|word| word == task::worker::WORD)?;
    Some(task::worker::run())
}

/// Scripts ask for the version; no command line is built to tell it.
fn version() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|word| word == "--version" || word == "-V")?;
    if args.next().is_some() {
        return None;
    }
    let mut out = stdout::Stdout::lock();
    let told = writeln!(out, "pilot {}", env!("CARGO_PKG_VERSION")).and_then(|()| out.flush());
    // Otherwise the ordinary way tells it again, or what is wrong.
    told.is_ok().then_some(ExitCode::SUCCESS)
}

fn is_wrong_use(error: &anyhow::Error) -> bool {
    let ambiguous = matches!(error.downcast_ref::<StoreError>(), Some(StoreError::Ambiguous { .. }));
    ambiguous
        || error.is::<WrongUse>()
        || error.is::<pipeline::WrongPipeline>()
        || error.is::<UnknownKey>()
        || config::is_to_blame(error)
}
