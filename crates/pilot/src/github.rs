//! `pilot github run`: one issue from its label to its merged pull request, in the foreground. The daemon does it, with
//! nothing else to begin.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pilot_core::config::{Config, LogLevel, Logging};
use pilot_core::fact::{Ending, TaskFacts};
use pilot_core::name::{IssueNumber, TaskKey};
use pilot_core::task::Stage;
use pilot_core::words;
use pilot_link::github::{IssueState, Number};
use serde_json::json;

use crate::config::{self, Environment, Flags};
use crate::daemon::beat::Until;
use crate::daemon::desk::follow;
use crate::daemon::ground::Base;
use crate::daemon::log::Log;
use crate::daemon::site::{Plot, Site};
use crate::daemon::{Run, alone};
use crate::demo::story::Story;
use crate::stdout::Stdout;
use crate::wrong_use::WrongUse;
use crate::{memory, printable};

const HELP: &str = "\
Examples:
  pilot github run 12
  pilot github run 12 --label
  pilot github run 12 --project app --json | jq .pr_url

Does for one issue what `pilot start` does for all: claims it, runs the agent, opens the pull request, watches CI, and merges \
it where that is configured. No other issue is begun. Ctrl-C lets the agent finish for 15 s; killed at any moment, the \
same command goes on where it was.

Exit codes: 0 merged, 1 given up, 2 wrong use or configuration, 3 held for a person, 130 interrupted or cancelled.
";

/// `pilot github`.
#[derive(Debug, Args)]
pub(crate) struct GithubArgs {
    /// What to do.
    #[command(subcommand)]
    command: GithubCommand,
}

#[derive(Debug, Subcommand)]
enum GithubCommand {
    /// Take one issue to its merged pull request, and wait for that
    Run(RunArgs),
}

/// Which issue, and how.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct RunArgs {
    /// The number of the issue
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    issue: u64,

    /// The project: its name in the configuration, or its directory [default: the current one, or the only one]
    #[arg(long, value_name = "NAME|PATH")]
    project: Option<String>,

    /// Label the issue first, if nobody has
    #[arg(long)]
    label: bool,

    /// Print the result as one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(
    args: &GithubArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let GithubCommand::Run(args) = &args.command;
    let flags = Flags::default();
    let loaded = config::load(&config::Request { environment, file, repo: None, flags: &flags })?;
    let config = loaded.config()?;
    for notice in loaded.notices() {
        eprintln!("pilot: {notice}");
    }
    let mut base = Base::lay(&loaded, config, environment, args.project.as_deref())?;
    let plot = choose(&base.plots)?.clone();
    base.plots = vec![plot.clone()];
    let _lock = alone(loaded.home.path())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let site = runtime.block_on(ready(args, &plot, &base, config))?;
    let log = Log::open(&logging(config), loaded.home.path(), environment.os("HOME").map(Path::new))?;
    let until = Until::Rest(IssueNumber(args.issue));
    let watcher = Story::watcher(&Story::new(false, site.html_url.clone()));
    let mut run = Run { loaded: &loaded, config, environment, file, base, log, until, watcher };
    let interrupted = runtime.block_on(run.attended())?;
    let stands = runtime.block_on(async {
        let store = memory::open(&loaded, environment).await?;
        let stands = follow(&store, &site.id, IssueNumber(args.issue)).await?;
        store.close().await;
        anyhow::Ok(stands)
    })?;
    tell(args, &site, stands.as_ref())?;
    let code = stands.as_ref().map(|(_, stage)| stage).map_or(ExitCode::FAILURE, exit_code);
    Ok(if interrupted { ExitCode::from(130) } else { code })
}

/// The project that is meant: the only one, or the one of the current directory.
fn choose(plots: &[Plot]) -> anyhow::Result<&Plot> {
    if let [only] = plots {
        return Ok(only);
    }
    let here = Path::new(".").canonicalize().unwrap_or_default();
    plots.iter().find(|plot| here.starts_with(&plot.path)).ok_or_else(|| {
        let names: Vec<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
        WrongUse::error(format_args!(
            "there are several projects: name one with --project, of {}",
            names.join(", ")
        ))
    })
}

/// Looks at the issue before anything is begun.
async fn ready(args: &RunArgs, plot: &Plot, base: &Base, config: &Config) -> anyhow::Result<Site> {
    let site = plot.connect(&base.ground, config).await?;
    let (number, repo) = (Number(args.issue), &plot.repo);
    let found = site.repo.find_issue(number).await?.filter(|issue| !issue.is_pull);
    let Some(issue) = found else {
        return Err(WrongUse::error(format_args!(
            "{repo} has no issue #{number}: `pilot status` lists what is known"
        )));
    };
    if let IssueState::Closed { .. } = issue.state {
        return Err(WrongUse::error(format_args!(
            "#{number} of {repo} is closed: reopen it, then run this again"
        )));
    }
    let label = &site.policy.label;
    if !issue.labels.iter().any(|has| has == label) {
        if !args.label {
            return Err(WrongUse::error(format_args!(
                "#{number} of {repo} has no label {label:?}, which says that Pilot may work on it: label it, or add --label"
            )));
        }
        site.repo.add_labels(number, &[label]).await?;
    }
    Ok(site)
}

/// The story is on standard error already, so only what goes wrong is logged there too.
fn logging(config: &Config) -> Logging {
    let mut logging = config.logging.clone();
    if logging.output.is_none() {
        logging.level = logging.level.min(LogLevel::Warn);
    }
    logging
}

fn tell(args: &RunArgs, site: &Site, stands: Option<&(TaskFacts, Stage)>) -> anyhow::Result<()> {
    let key = TaskKey::of_issue(IssueNumber(args.issue));
    let mut out = Stdout::lock();
    let pr = stands.and_then(|(facts, stage)| pull(facts, stage));
    let pr_url = pr.map(|pr| format!("{}/pull/{pr}", site.html_url));
    let status = stands.map_or("unknown", |(_, stage)| status(stage));
    let reason = stands.map_or_else(|| "nothing was begun".to_owned(), |(_, stage)| words::stage(stage));
    if args.json {
        let object = json!({
            "task": key,
            "issue": args.issue,
            "status": status,
            "reason": reason,
            "branch": stands.and_then(|(facts, _)| Some(&facts.life.pushed.as_ref()?.branch)),
            "commit_sha": stands.and_then(|(_, stage)| landed(stage)).map(|landed| landed.commit()),
            "pr_number": pr,
            "pr_url": pr_url,
        });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{key} {status}: {}", printable::line(&reason, 300))?;
        if let Some(url) = pr_url {
            writeln!(out, "  see it  {url}")?;
        }
        writeln!(out, "  more    pilot why {key}")?;
    }
    out.flush()?;
    Ok(())
}

fn landed(stage: &Stage) -> Option<&pilot_core::fact::Landed> {
    if let Stage::Ended { ending: Ending::Done(landed) } = stage { Some(landed) } else { None }
}

/// The pull request that was merged, or the last one.
fn pull(facts: &TaskFacts, stage: &Stage) -> Option<u64> {
    landed(stage).map(|landed| landed.pr().0).or_else(|| Some(facts.life.pr.as_ref()?.pr.number.0))
}

fn status(stage: &Stage) -> &'static str {
    if landed(stage).is_some() { "merged" } else { stage.as_str() }
}

fn exit_code(stage: &Stage) -> ExitCode {
    match stage {
        Stage::Ended { ending: Ending::Done(_) } => ExitCode::SUCCESS,
        Stage::Ended { ending: Ending::Cancelled { .. } } => ExitCode::from(130),
        Stage::Held { .. } => ExitCode::from(3),
        Stage::Ended { ending: Ending::GivenUp(_) }
        | Stage::Checking { .. }
        | Stage::Waiting { .. }
        | Stage::Queued { .. }
        | Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Continued { .. }
        | Stage::Landing { .. } => ExitCode::FAILURE,
    }
}
