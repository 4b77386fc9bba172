//! `pilot forge serve`: the local forge in the foreground, until somebody stops it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use pilot_forge::{Forge, ForgeError, Lags, Options, Plan, StoreError};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Environment;
use crate::stdout::Stdout;
use crate::wrong_use::{OrWrongUse, WrongUse};

const HELP: &str = "\
Examples:
  pilot forge serve --root /tmp/forge
  pilot forge serve --root /tmp/forge --listen 127.0.0.1:3000 --json
  pilot forge serve --root /tmp/forge --lags none --faults plan.json

GitHub's REST API answers at the root of the URL, git over HTTP at URL/OWNER/REPO.git with the token as the password. \
Everything is kept below --root; a forge that was killed goes on from there. Ctrl-C stops it.
";

/// `pilot forge`.
#[derive(Debug, Args)]
pub(crate) struct ForgeArgs {
    /// What to do.
    #[command(subcommand)]
    command: ForgeCommand,
}

#[derive(Debug, Subcommand)]
enum ForgeCommand {
    /// Run a forge on this machine until it is stopped
    Serve(ServeArgs),
}

/// How the forge is to run.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct ServeArgs {
    /// Where everything is kept; made when it is missing
    #[arg(long, value_name = "DIR")]
    root: PathBuf,

    /// Where to listen, on loopback only; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    listen: SocketAddr,

    /// The token of the first user [default: the one there is, or a new one]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// How many runs of CI at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    ci_jobs: u8,

    /// The shell command that CI runs on every pushed commit [default: .pilot/ci.sh, where there is one]
    #[arg(long, value_name = "COMMAND")]
    ci_command: Option<String>,

    /// How late checks, `mergeable` and new items of lists appear
    #[arg(long, value_enum, value_name = "HOW", default_value = "worst")]
    lags: Pace,

    /// Requests an hour for each user
    #[arg(long, value_name = "N", default_value_t = 5000)]
    rate_limit: u32,

    /// A plan of what is to go wrong, as JSON
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// Print where it answers as JSON, once it does
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pace {
    /// As the real one at its worst
    Worst,
    /// Not at all
    None,
}

/// Runs it.
pub(crate) fn run(args: &ForgeArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let ForgeCommand::Serve(args) = &args.command;
    let options = options(args, environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(args, options))
}

fn options(args: &ServeArgs, environment: &Environment) -> anyhow::Result<Options> {
    if !args.listen.ip().is_loopback() {
        let address = args.listen;
        return Err(WrongUse::error(format_args!(
            "cannot listen on {address}: the forge has one token for everything; use an address like 127.0.0.1:3000"
        )));
    }
    let mut options = Options::new(&args.root, environment.os("PATH").unwrap_or_default());
    options.listen = args.listen;
    options.token.clone_from(&args.token);
    options.rate_limit = args.rate_limit;
    options.ci.jobs = usize::from(args.ci_jobs);
    options.ci.command.clone_from(&args.ci_command);
    options.lags = match args.lags {
        Pace::Worst => Lags::worst(),
        Pace::None => Lags::none(),
    };
    if let Some(file) = &args.faults {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))
            .or_wrong_use("--faults takes a file of JSON")?;
        options.faults = Plan::parse(&text).or_cannot("see docs/forge.md for what a plan may say")?;
    }
    Ok(options)
}

async fn serve(args: &ServeArgs, options: Options) -> anyhow::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let forge = Forge::start(options).await.map_err(|error| wrong_or_failed(&error))?;
    announce(args, &forge)?;
    let code = tokio::select! {
        _ = interrupt.recv() => ExitCode::from(130),
        _ = terminate.recv() => ExitCode::SUCCESS,
    };
    forge.stop().await;
    Ok(code)
}

/// What a person can put right is a wrong use.
fn wrong_or_failed(error: &ForgeError) -> anyhow::Error {
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
        // What they say holds its cause already.
        ForgeError::Store(StoreError::Database(_)) | ForgeError::Settle(_) => {
            anyhow::anyhow!("cannot start the forge: failed to {error}")
        }
    }
}

/// An address without a name, which could lead anywhere.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an address and a port are needed, like 127.0.0.1:3000")
}

fn announce(args: &ServeArgs, forge: &Forge) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    if args.json {
        writeln!(
            out,
            "{}",
            json!({
                "url": forge.url(),
                "token": forge.token(),
                "user": forge.user(),
                "sign_in": forge.sign_in_link(),
            })
        )?;
    } else {
        writeln!(out, "The forge answers at {}", forge.url())?;
        writeln!(out, "user  {}\ntoken {}", forge.user(), forge.token())?;
        writeln!(out, "Sign in once with {}", forge.sign_in_link())?;
    }
    out.flush()?;
    Ok(())
}
