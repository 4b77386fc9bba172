//! `pilot cancel`, `resume`, `pause` and `retry`: a command to the daemon about its tasks, or to a run in the foreground.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::fact::UserCommand;
use pilot_core::id::TaskKey;
use pilot_core::schedule::TaskRef;
use pilot_core::words;
use pilot_store::TaskRow;

use super::{POLL_INTERVAL, logs, new_runtime, with_store};
use crate::clock::Stopwatch;
use crate::config::{ConfigSources, Loaded, load};
use crate::daemon::command_files;
use crate::daemon::lock::{Holder, Lock};
use crate::store_access;
use crate::task::control::{Control, RunCommand};
use crate::wrong_use::bail_wrong_use;

/// How long the daemon has to take a command before this process returns.
const TAKEN: Duration = Duration::from_secs(3);

pub(crate) const CANCEL_HELP: &str = "\
Examples:
  pilot cancel GH-12
  pilot cancel TASK-1a2b3c4d
  pilot logs --follow TASK-1a2b3c4d";

pub(crate) const RESUME_HELP: &str = "\
Examples:
  pilot resume
  pilot resume GH-12
  pilot resume TASK-1a2b3c4d
  pilot logs --follow TASK-1a2b3c4d

A run without progress pauses (executor.stagnation); it then waits for executor.pause_timeout.";

pub(crate) const PAUSE_HELP: &str = "\
Examples:
  pilot pause
  pilot pause GH-12

Without a task everything pauses: no run starts and nothing is merged. Running agents finish.";

pub(crate) const RETRY_HELP: &str = "\
Examples:
  pilot retry GH-12
  pilot why GH-12";

#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// A task such as TASK-1a2b3c4d, or the beginning of a run's id; `pilot logs` lists them
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// The project of the task, such as acme/app, where several have a task of this key
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A task such as GH-12 or TASK-1a2b3c4d [default: everything]
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// The project of the task, such as acme/app, where several have a task of this key
    #[arg(long, value_name = "PROJECT", requires = "key")]
    pub(crate) project: Option<String>,
}

impl CommandArgs {
    pub(crate) fn target(&self) -> (Option<&str>, Option<&str>) {
        (Some(&self.key), self.project.as_deref())
    }
}

impl TargetArgs {
    pub(crate) fn target(&self) -> (Option<&str>, Option<&str>) {
        (self.key.as_deref(), self.project.as_deref())
    }
}

pub(crate) fn run(
    (key, project): (Option<&str>, Option<&str>),
    command: UserCommand,
    sources: ConfigSources<'_>,
) -> anyhow::Result<ExitCode> {
    let loaded = load(&sources)?;
    let Some(key) = key else { return send_to_daemon(&loaded, command, None) };
    if let Ok(task) = TaskKey::parse(key) {
        let found = new_runtime()?.block_on(async {
            let store = store_access::open(&loaded, sources.environment).await?;
            anyhow::Ok(store.find_tasks(&task).await?)
        })?;
        if let Some(row) = choose_task(&found, project)? {
            if row.facts.is_over_for(command) {
                eprintln!("{}", words::over(&row.facts, command));
                return Ok(ExitCode::SUCCESS);
            }
            let task = (row.facts.project.clone(), row.facts.key.clone());
            return send_to_daemon(&loaded, command, Some(&task));
        }
    }
    let to_run = match command {
        UserCommand::Cancel => RunCommand::Cancel,
        UserCommand::Resume => RunCommand::Resume,
        UserCommand::Pause | UserCommand::Retry | UserCommand::Why => {
            bail_wrong_use!("the daemon knows no task {key}; `pilot status --all` lists its tasks");
        }
    };
    with_store(sources, async |store, loaded| {
        let run = logs::find(store, key).await?;
        if !Control::give(loaded.home.path(), &run.id, to_run)? {
            bail_wrong_use!(
                "{} is over ({}), so there is nothing to cancel or resume; `pilot logs {}` shows how it ended",
                run.task_id,
                run.status,
                run.task_id
            );
        }
        match to_run {
            RunCommand::Cancel => eprintln!("{}: asked to end; its work is kept", run.task_id),
            RunCommand::Resume => eprintln!("{}: asked to continue", run.task_id),
        }
        Ok(())
    })
}

/// The task that is meant: the only one with this key, or the one of the named project.
fn choose_task<'f>(found: &'f [TaskRow], project: Option<&str>) -> anyhow::Result<Option<&'f TaskRow>> {
    let is_meant = |row: &&TaskRow| {
        let id = row.facts.project.as_str();
        project.is_none_or(|project| {
            id == project || id.split_once(':').is_some_and(|(_, path)| path == project)
        })
    };
    let meant: Vec<&TaskRow> = found.iter().filter(is_meant).collect();
    match meant[..] {
        [] if found.is_empty() => Ok(None),
        [only] => Ok(Some(only)),
        [] | [_, _, ..] => {
            let names: Vec<&str> = found.iter().map(|row| row.facts.project.as_str()).collect();
            let key = found.first().map_or("", |row| row.facts.key.as_str());
            bail_wrong_use!("{key} is a task of {}: name its project with --project", names.join(" and of "))
        }
    }
}

fn send_to_daemon(loaded: &Loaded, command: UserCommand, task: Option<&TaskRef>) -> anyhow::Result<ExitCode> {
    let home = loaded.home.path();
    let given = command_files::give(home, command, task)?;
    let what = task.map_or("every project", |(_, key)| key.as_str());
    if Lock::look(home)? == Holder::Free {
        eprintln!(
            "{what}: {} is queued for the next `pilot start`; the daemon is not running",
            command.as_str()
        );
        return Ok(ExitCode::SUCCESS);
    }
    let watch = Stopwatch::start();
    new_runtime()?.block_on(async {
        while watch.elapsed() < TAKEN && given.still_waits() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    match given.still_waits() {
        true => eprintln!("{what}: {} is queued; the daemon has not taken it yet", command.as_str()),
        false => eprintln!("{what}: {} is done; `pilot status` shows the result", command.as_str()),
    }
    Ok(ExitCode::SUCCESS)
}
