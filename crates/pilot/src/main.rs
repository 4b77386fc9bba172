//! The program: command line and wiring. Decides nothing.

// These panic when nobody reads; `stdout` does not.
#![warn(clippy::print_stdout)]

mod cli;
mod completions;
mod config;
#[expect(dead_code, reason = "wired with `pilot task`, which brings the runner of programs")]
mod doctor;
#[cfg_attr(not(test), expect(dead_code, reason = "asked for by `pilot logs`, which comes with `pilot task`"))]
mod logs;
mod printable;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "asked for by `pilot replay`, which comes with `pilot task`")
)]
mod replay;
mod signals;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let environment = config::Environment::of_this_process();
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Signals(args) => signals::run(&args),
        Command::Config(args) => config::command::run(&args, cli.config.as_deref(), &environment),
        Command::Completions(args) => completions::run(&args),
    };
    done.unwrap_or_else(|error| {
        if stdout::reader_left(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("pilot: {error:#}");
        if config::is_to_blame(&error) { ExitCode::from(config::WRONG) } else { ExitCode::FAILURE }
    })
}
