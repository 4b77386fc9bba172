//! The program: command line and wiring. Decides nothing.

// These panic when nobody reads; `stdout` does not.
#![warn(clippy::print_stdout)]

mod cli;
mod completions;
mod signals;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Signals(args) => signals::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    done.unwrap_or_else(|error| {
        if stdout::reader_left(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("pilot: {error:#}");
        ExitCode::FAILURE
    })
}
