//! `pilot github run`: one issue from its label to its merged pull request, in the foreground. The daemon does it, and
//! starts nothing else.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pilot_core::config::{Config, LogLevel, Logging};
use pilot_core::dispatch::Behind;
use pilot_core::fact::{Ending, TaskFacts};
use pilot_core::id::{PrNumber, TaskKey};
use pilot_core::observed::TicketState;
use pilot_core::port::{Answer, Call, TrackerAnswer, TrackerCall};
use pilot_core::schedule::RunUntil;
use pilot_core::task::{Stage, StageGroup};
use pilot_core::words;
use pilot_link::github::TASK_PREFIX;
use serde_json::json;

use super::new_runtime;
use crate::config::{ConfigSources, load};
use crate::daemon::feed::Feed;
use crate::daemon::log::Log;
use crate::daemon::project::{OpenProject, ProjectSetup};
use crate::daemon::recorder::{follow, read_behind};
use crate::daemon::setup::Setup;
use crate::daemon::{Run, alone};
use crate::demo::story::Story;
use crate::stdout::Stdout;
use crate::wrong_use::{WrongUse, bail_wrong_use};
use crate::{printable, store_access};

const HELP: &str = "\
Examples:
  pilot github run 12
  pilot github run 12 --label
  pilot github run 12 --project app --json | jq .pr_url

Does for one issue what `pilot start` does for all: claims it, runs the agent, opens the pull request, watches CI, and merges \
it where that is configured. No other issue is begun. Ctrl-C lets the agent finish for 15 s; killed at any moment, the \
same command continues where it was.

Exit codes: 0 merged, 1 given up, 2 wrong use or configuration, 3 held for a person, 130 interrupted or cancelled.
";

#[derive(Debug, Args)]
pub(crate) struct GithubArgs {
    #[command(subcommand)]
    command: GithubCommand,
}

#[derive(Debug, Subcommand)]
enum GithubCommand {
    /// Take one issue to its merged pull request, and wait for that
    Run(GithubRunArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct GithubRunArgs {
    /// The number of the issue
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    issue: u64,

    /// The project: its name in the configuration, or its directory [default: the current one, or the only one]
    #[arg(long, value_name = "NAME|PATH")]
    project: Option<String>,

    /// Label the issue first, if it is not labelled
    #[arg(long)]
    label: bool,

    /// Print the result as one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &GithubArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let GithubCommand::Run(args) = &args.command;
    let ConfigSources { environment, file, .. } = sources;
    let loaded = load(&sources)?;
    let config = loaded.config()?;
    loaded.print_notices();
    let mut base = Setup::check(&loaded, config, environment, args.project.as_deref())?;
    let setup = choose(&base.setups)?.clone();
    base.setups = vec![setup.clone()];
    let _lock = alone(loaded.home.path())?;
    let runtime = new_runtime()?;
    let opened = runtime.block_on(ready(args, &setup, &base, config))?;
    let log = Log::open(&logging(config), loaded.home.path(), environment.os("HOME").map(Path::new))?;
    let until = RunUntil::Rest(task_key(args));
    let (mut story, feed) =
        (Story::new(false, opened.html_url.clone(), setup.forge_port.clone()), Feed::new());
    let events = feed.subscribe();
    let mut run = Run { loaded: &loaded, config, environment, file, base, log, until, feed };
    let interrupted = runtime.block_on(async {
        let (ended, ()) = tokio::join!(run.run(false), story.tell(events));
        ended
    })?;
    let (found, behind) = runtime.block_on(async {
        let store = store_access::open(&loaded, environment).await?;
        let found = follow(&store, &opened.id, &task_key(args)).await?;
        let behind = match &found {
            Some((facts, stage)) => read_behind(&store, opened.policy.mode, facts, stage).await?,
            None => None,
        };
        store.close().await;
        anyhow::Ok((found, behind))
    })?;
    print_result(args, &opened, found.as_ref(), behind.as_ref())?;
    let code = match (&found, &behind) {
        (Some(_), Some(_)) => ExitCode::from(3),
        (Some((_, stage)), None) => exit_code(stage),
        (None, _) => ExitCode::FAILURE,
    };
    Ok(if interrupted { ExitCode::from(130) } else { code })
}

/// The project that is meant: the only one, or the one of the current directory.
fn choose(setups: &[ProjectSetup]) -> anyhow::Result<&ProjectSetup> {
    if let [only] = setups {
        return Ok(only);
    }
    let here = Path::new(".").canonicalize().unwrap_or_default();
    setups.iter().find(|setup| here.starts_with(&setup.path)).ok_or_else(|| {
        let names: Vec<&str> = setups.iter().map(|setup| setup.name.as_str()).collect();
        WrongUse::error(format_args!(
            "there are several projects: name one with --project, of {}",
            names.join(", ")
        ))
    })
}

async fn ready(
    args: &GithubRunArgs,
    setup: &ProjectSetup,
    base: &Setup,
    config: &Config,
) -> anyhow::Result<OpenProject> {
    let opened = setup.connect(&base.shared, config).await?;
    let (number, repo, key) = (args.issue, setup.id.path(), task_key(args));
    let read = opened.call(&Call::Tracker(TrackerCall::Ticket(key.clone()))).await;
    let Answer::Tracker(TrackerAnswer::Ticket(found)) =
        read.map_err(|failure| anyhow::anyhow!("{failure}"))?
    else {
        anyhow::bail!("read issue #{number}: an answer to another question");
    };
    let Some(issue) = found.map(|found| found.ticket) else {
        bail_wrong_use!("{repo} has no issue #{number}: `pilot status` lists what is known");
    };
    if issue.state == TicketState::Closed {
        bail_wrong_use!("#{number} of {repo} is closed: reopen it, then run this again");
    }
    let label = &opened.policy.label;
    if !issue.has_label(label) {
        if !args.label {
            bail_wrong_use!(
                "#{number} of {repo} has no label {label:?}, which says that Pilot may work on it: label it, or add --label"
            );
        }
        let add = TrackerCall::AddLabels(key, [label.clone()].into());
        opened.call(&Call::Tracker(add)).await.map_err(|failure| anyhow::anyhow!("{failure}"))?;
    }
    Ok(opened)
}

fn task_key(args: &GithubRunArgs) -> TaskKey {
    TaskKey::numbered(TASK_PREFIX, args.issue)
}

/// The story is on standard error already, so only what goes wrong is logged there too.
fn logging(config: &Config) -> Logging {
    let mut logging = config.logging.clone();
    if logging.output.is_none() {
        logging.level = logging.level.min(LogLevel::Warn);
    }
    logging
}

fn print_result(
    args: &GithubRunArgs,
    opened: &OpenProject,
    found: Option<&(TaskFacts, Stage)>,
    behind: Option<&Behind>,
) -> anyhow::Result<()> {
    let key = task_key(args);
    let mut out = Stdout::lock();
    let pr = found.and_then(|(facts, stage)| pull(facts, stage));
    let pr_url = pr.map(|pr| opened.pull_url(PrNumber(pr)));
    let status = found.map_or("unknown", |(_, stage)| status(stage));
    let reason = found.map_or_else(
        || "nothing was started".to_owned(),
        |(_, stage)| match behind {
            Some(behind) => words::queued_behind(behind, &opened.policy.references),
            None => words::stage(stage, &opened.policy.references),
        },
    );
    if args.json {
        let object = json!({
            "task": key,
            "issue": args.issue,
            "status": status,
            "reason": reason,
            "branch": found.and_then(|(facts, _)| Some(&facts.life.pushed.as_ref()?.branch)),
            "commit_sha": found.and_then(|(_, stage)| landed(stage)).map(|landed| landed.commit()),
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
    if let Stage::Ended { ending } = stage {
        return match ending {
            Ending::Done(_) => ExitCode::SUCCESS,
            Ending::Cancelled { .. } => ExitCode::from(130),
            Ending::GivenUp(_) => ExitCode::FAILURE,
        };
    }
    if stage.group() == StageGroup::Held { ExitCode::from(3) } else { ExitCode::FAILURE }
}
