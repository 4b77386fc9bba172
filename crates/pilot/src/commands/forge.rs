//! `pilot forge serve`: runs the local forge in the foreground until it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use pilot_forge::{Forge, ForgeError, Lags, Options, Plan, StoreError};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Environment;
use crate::stdout::print_line;
use crate::wrong_use::{OrWrongUse, WrongUse, bail_wrong_use};

const HELP: &str = "\
Examples:
  pilot forge serve --root /tmp/forge
  pilot forge serve --root /tmp/forge --listen 127.0.0.1:3000 --json
  pilot forge serve --root /tmp/forge --lags none --faults plan.json

GitHub's REST API answers at the root of the URL, git over HTTP at URL/OWNER/REPO.git with the token as the password. \
All data is stored below --root; after a crash start the forge again with the same directory. Ctrl-C stops it.
";

#[derive(Debug, Args)]
pub(crate) struct ForgeArgs {
    #[command(subcommand)]
    command: ForgeCommand,
}

#[derive(Debug, Subcommand)]
enum ForgeCommand {
    /// Run a forge on this machine until it is stopped
    Serve(ServeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct ServeArgs {
    /// The directory of all data; created if it is missing
    #[arg(long, value_name = "DIR")]
    root: PathBuf,

    /// The loopback address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,

    /// The token of the first user [default: the stored one, or a new one]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// Concurrent CI runs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    ci_jobs: u8,

    /// The CI command for every pushed commit [default: .pilot/ci.sh, if the commit has it]
    #[arg(long, value_name = "COMMAND")]
    ci_command: Option<String>,

    /// The delay until checks, `mergeable` and new list items become visible
    #[arg(long, value_enum, value_name = "HOW", default_value = "worst")]
    lags: LagChoice,

    /// Requests per user and hour
    #[arg(long, value_name = "N", default_value_t = 5000)]
    rate_limit: u32,

    /// A fault plan, as JSON
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// Print URL, token and user as JSON once the forge accepts requests
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LagChoice {
    /// Like GitHub at its worst
    Worst,
    /// No delay
    None,
}

pub(crate) fn run(args: &ForgeArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let ForgeCommand::Serve(args) = &args.command;
    let options = options(args, environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(args, options))
}

fn options(args: &ServeArgs, environment: &Environment) -> anyhow::Result<Options> {
    if !args.listen.ip().is_loopback() {
        let address = args.listen;
        bail_wrong_use!(
            "cannot listen on {address}: the forge is for this machine only; use an address like 127.0.0.1:3000"
        );
    }
    let mut options = Options::new(&args.root, environment.os("PATH").unwrap_or_default());
    options.listen = args.listen;
    options.token.clone_from(&args.token);
    options.rate_limit = args.rate_limit;
    options.ci.jobs = usize::from(args.ci_jobs);
    options.ci.command.clone_from(&args.ci_command);
    options.lags = match args.lags {
        LagChoice::Worst => Lags::worst(),
        LagChoice::None => Lags::none(),
    };
    if let Some(file) = &args.faults {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))
            .or_wrong_use("--faults takes a file of JSON")?;
        options.faults = Plan::parse(&text).or_cannot("see docs/forge.md for the format of a plan")?;
    }
    Ok(options)
}

async fn serve(args: &ServeArgs, options: Options) -> anyhow::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let forge = Forge::start(options).await.map_err(|error| explain_error(&error))?;
    print_address(args, &forge)?;
    let code = tokio::select! {
        _ = interrupt.recv() => ExitCode::from(130),
        _ = terminate.recv() => ExitCode::SUCCESS,
    };
    forge.stop().await;
    Ok(code)
}

/// Errors that the user can fix are wrong use.
fn explain_error(error: &ForgeError) -> anyhow::Error {
    match error {
        ForgeError::Root { .. } => {
            WrongUse::error(format_args!("cannot {error}; --root takes a directory that you may write to"))
        }
        ForgeError::Listen { .. } => {
            WrongUse::error(format_args!("cannot {error}; --listen 127.0.0.1:0 takes a free port"))
        }
        ForgeError::Taken(_)
        | ForgeError::User(_)
        | ForgeError::Token(_)
        | ForgeError::Store(StoreError::Foreign(_) | StoreError::Version { .. }) => {
            WrongUse::error(format_args!("cannot {error}"))
        }
        // These messages contain their cause already.
        ForgeError::Store(StoreError::Database(_)) | ForgeError::Recovery(_) => {
            anyhow::anyhow!("cannot start the forge: failed to {error}")
        }
    }
}

/// Only numeric addresses: a host name could resolve to any interface.
fn parse_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an address and a port are needed, like 127.0.0.1:3000")
}

fn print_address(args: &ServeArgs, forge: &Forge) -> anyhow::Result<()> {
    let (url, token, user, sign_in) = (forge.url(), forge.token(), forge.user(), forge.sign_in_link());
    if args.json {
        return Ok(print_line(json!({"url": url, "token": token, "user": user, "sign_in": sign_in}))?);
    }
    let user = format!("user  {user}\ntoken {token}");
    Ok(print_line(format_args!("The forge answers at {url}\n{user}\nSign in once with {sign_in}"))?)
}
