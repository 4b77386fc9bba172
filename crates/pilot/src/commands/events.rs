//! `pilot events`: the feed, from where a reader left off.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::config::references;
use pilot_core::feed::{FeedEntry, FeedEvent};
use pilot_core::progress::words::phase;
use pilot_core::words;

use super::with_store;
use crate::config::ConfigSources;
use crate::printable;
use crate::stdout::Stdout;

const HELP: &str = "\
Examples:
  pilot events
  pilot events --follow
  pilot events --since 120 --json

Every event has a number. `--since N` shows what came after number N, so a reader continues where it stopped; \
`pilot status --json` gives the number its snapshot includes as feed_seq. The last 10,000 events are kept.";

/// How many events are shown without `--since`.
const SHOWN: u64 = 20;

/// How many events are read at once.
const PAGE: u32 = 500;

/// How often `--follow` looks for new events.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// `pilot events`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EventsArgs {
    /// Show what came after the event with this number [default: the last 20]
    #[arg(long, value_name = "N")]
    since: Option<u64>,

    /// Keep showing events as they happen, until Ctrl-C
    #[arg(long)]
    follow: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &EventsArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    with_store(sources, async |store, _| {
        let last = store.last_feed_seq().await?;
        let mut seq = args.since.unwrap_or(last.saturating_sub(SHOWN));
        loop {
            let entries = store.feed_after(seq, PAGE).await?;
            let is_end = entries.len() < PAGE as usize;
            for entry in &entries {
                seq = entry.seq;
                print(entry, args.json)?;
            }
            match (is_end, args.follow) {
                (false, _) => {}
                (true, true) => tokio::time::sleep(FOLLOW_INTERVAL).await,
                (true, false) => return Ok(()),
            }
        }
    })
}

fn print(entry: &FeedEntry, is_json: bool) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    if is_json {
        let mut object = serde_json::to_value(entry)?;
        object["at"] = entry.at.to_string().into();
        writeln!(out, "{object}")?;
    } else {
        let (about, text) = describe(&entry.event);
        writeln!(out, "{:>6}  {}  {about:<8} {}", entry.seq, entry.at, printable::line(&text, 200))?;
    }
    out.flush()?;
    Ok(())
}

fn describe(event: &FeedEvent) -> (&str, String) {
    match event {
        FeedEvent::Stage { project, task, stage, .. } => {
            (task.as_str(), words::stage(stage, &references(project)))
        }
        FeedEvent::Project { project, event } => (project.as_str(), words::project_event(event)),
        FeedEvent::Progress { task, progress, .. } => {
            let message = if progress.last_message.is_empty() { "" } else { ": " };
            let text =
                format!("{} {}%{message}{}", phase(&progress.phase), progress.percent, progress.last_message);
            (task.as_str(), text)
        }
    }
}
