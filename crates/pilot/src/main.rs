//! The program: command line and wiring. Decides nothing.

// These panic when nobody reads; `stdout` does not.
#![warn(clippy::print_stdout)]

mod cli;
mod completions;
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
