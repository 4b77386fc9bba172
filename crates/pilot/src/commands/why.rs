//! `pilot why`: the stage of a task, and every decision about it.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use pilot_core::config::references;
use pilot_core::dispatch::ProjectLoad;
use pilot_core::id::TaskKey;
use pilot_core::snapshot::TaskSnapshot;
use pilot_core::task::Stage;
use pilot_core::words;
use serde_json::json;

use super::status::stored_task;
use super::{load_config, new_runtime};
use crate::config::Environment;
use crate::stdout::Stdout;
use crate::wrong_use::WrongUse;
use crate::{clock, printable, store_access};

const HELP: &str = "\
Examples:
  pilot why GH-12
  pilot why GH-12 --json

Shows the stage of a task, what would change it, and every decision about it with its reason.";

/// `pilot why`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WhyArgs {
    /// The task, such as GH-12
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explains a task.
pub(crate) fn run(
    args: &WhyArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = load_config(file, environment)?;
    let key = TaskKey::parse(&args.key)
        .map_err(|error| WrongUse::error(format_args!("{error}; `pilot status --all` lists them")))?;
    let mode = loaded.config()?.orchestrator.execution_mode;
    let found = new_runtime()?.block_on(async {
        let store = store_access::open(&loaded, environment).await?;
        let mut found = Vec::new();
        for row in store.find_tasks(&key).await? {
            let (log, wake) = (store.task_log(&row.facts.project, &key).await?, row.wake);
            let project = store.load_project(&row.facts.project).await?.facts;
            let load = ProjectLoad { project: &project, mode };
            found.push((stored_task(&store, row, &load).await?, wake, log));
        }
        anyhow::Ok(found)
    })?;
    if found.is_empty() {
        return Err(WrongUse::error(format_args!(
            "there is no task {key}; `pilot status --all` lists the tasks"
        )));
    }
    let mut out = Stdout::lock();
    for (stored, wake, log) in &found {
        let facts = &stored.facts;
        let references = &references(&facts.project);
        let snapshot = TaskSnapshot::new(stored, references, clock::now());
        if args.json {
            let mut object = serde_json::to_value(&snapshot)?;
            object["log"] = log
                .iter()
                .map(|entry| {
                    json!({
                        "at": entry.at.to_string(),
                        "happened": entry.event.as_ref().map(|event| words::task_event(event, references)),
                        "settles": entry.settles,
                        "stage": entry.stage.as_ref().map(Stage::as_str),
                        "why": entry.stage.as_ref().map(|stage| words::stage(stage, references)),
                    })
                })
                .collect();
            writeln!(out, "{object}")?;
            continue;
        }
        writeln!(out, "{key} of {}: {}", facts.project, printable::line(facts.title(), 60))?;
        writeln!(out, "{}: {}", snapshot.stage, snapshot.why)?;
        if let Some(wake) = wake.filter(|wake| *wake > clock::now()) {
            writeln!(out, "Next check at {}.", wake)?;
        }
        writeln!(out)?;
        for entry in log {
            let what = entry
                .event
                .as_ref()
                .map_or("time passed".to_owned(), |event| words::task_event(event, references));
            writeln!(out, "{}  {}", entry.at, printable::line(&what, 200))?;
            if let Some(stage) = &entry.stage {
                writeln!(
                    out,
                    "{:22}-> {}: {}",
                    "",
                    stage.as_str(),
                    printable::line(&words::stage(stage, references), 200)
                )?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
