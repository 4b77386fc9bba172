//! Commands about runs that are or were: `logs`, `replay`, `cancel`, `resume`, `budget`, and `doctor`, which looks at
//! everything.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::fact::Order;
use pilot_core::name::TaskKey;
use pilot_exec::process::{Containment, Deadlines, Kind, Launch, Output, Running};
use pilot_store::Store;

use crate::budget::{self, BudgetArgs};
use crate::clock;
use crate::config::{self, Environment, Flags, Loaded};
use crate::daemon::commands;
use crate::doctor::{self, DoctorArgs, Patient, Probed};
use crate::logs::{self, LogsArgs};
use crate::memory;
use crate::replay::{self, ReplayArgs};
use crate::stdout::Stdout;
use crate::task::control::{Control, Order as RunOrder};

use crate::wrong_use::WrongUse;

/// How long `pilot doctor` waits for a program to say its version.
const PROBE: Duration = Duration::from_secs(10);

/// The run an order is for.
#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    /// A task such as TASK-1a2b3c4d, or the beginning of a run's id; `pilot logs` lists them
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

/// The task an order is for, or everything.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A task such as GH-12 or TASK-1a2b3c4d [default: everything]
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// `pilot logs`.
pub(crate) fn logs(
    args: &LogsArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    with_store(file, environment, async |store, _| {
        let wait = async |time| tokio::time::sleep(time).await;
        logs::run(args, store, clock::now(), wait, &mut Stdout::lock()).await
    })
}

/// `pilot replay`.
pub(crate) fn replay(
    args: &ReplayArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    with_store(file, environment, async |store, _| {
        let wait = async |time| tokio::time::sleep(time).await;
        replay::run(args, store, wait, &mut Stdout::lock()).await
    })
}

/// `pilot budget`.
pub(crate) fn budget(
    args: &BudgetArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    with_store(file, environment, async |store, loaded| {
        budget::run(args, &loaded.config()?.budget, store, clock::now(), &mut Stdout::lock()).await
    })
}

/// `pilot cancel`, `resume`, `pause` and `retry`: to the daemon about its tasks, or to a run in the foreground.
pub(crate) fn order(
    key: Option<&str>,
    order: Order,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let loaded = config::load(&config::Request { environment, file, repo: None, flags: &Flags::default() })?;
    let Some(key) = key else { return commands::order(&loaded, order, None) };
    if let Ok(task) = TaskKey::parse(key) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let known = runtime.block_on(async {
            let store = memory::open(&loaded, environment).await?;
            anyhow::Ok(!commands::find(&store, &task).await?.is_empty())
        })?;
        if known {
            return commands::order(&loaded, order, Some(&task));
        }
    }
    let to_run = match order {
        Order::Cancel => RunOrder::Cancel,
        Order::Resume => RunOrder::Resume,
        Order::Pause | Order::Retry | Order::Why => {
            return Err(WrongUse::error(format_args!(
                "the daemon knows no task {key}: `pilot status --all` lists those it knows"
            )));
        }
    };
    with_store(file, environment, async |store, loaded| {
        let run = logs::find(store, key).await?;
        if !Control::give(loaded.home.path(), &run.id, to_run)? {
            return Err(WrongUse::error(format_args!(
                "{} is over ({}), so there is nothing to order; `pilot logs {}` tells how it ended",
                run.task_id, run.status, run.task_id
            )));
        }
        match to_run {
            RunOrder::Cancel => eprintln!("{} is told to end; its work is kept", run.task_id),
            RunOrder::Resume => eprintln!("{} is told to go on", run.task_id),
        }
        Ok(())
    })
}

/// `pilot doctor`.
pub(crate) fn doctor(
    args: &DoctorArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let containment = Containment::probe("/proc/self/exe");
    let loaded = config::load(&config::Request { environment, file, repo: None, flags: &Flags::default() });
    let probe =
        |program: &Path, args: &[&str]| runtime.block_on(probe(program, args, &containment, environment));
    let open_store = |path: &Path| {
        runtime.block_on(async {
            let (file, secrets) = (path.join("pilot.db"), pilot_core::redact::Secrets::none());
            if !file.exists() {
                return Ok(format!("{}, will be made when needed", file.display()));
            }
            let store = Store::open(&file, secrets).await.map_err(|error| error.to_string())?;
            store.check().await.map_err(|error| error.to_string())?;
            Ok(store.path().display().to_string())
        })
    };
    let strong = matches!(containment.kind(), Kind::Namespace { .. });
    let described = containment.describe();
    let patient = Patient {
        environment,
        loaded: loaded.as_ref(),
        probe: &probe,
        containment: (&described, strong),
        open_store: &open_store,
    };
    doctor::report(&doctor::examine(&patient), args)
}

/// What a program prints, within bounds.
async fn probe(
    program: &Path,
    args: &[&str],
    containment: &Containment,
    environment: &Environment,
) -> Probed {
    let argv = std::iter::once(program.as_os_str().to_owned()).chain(args.iter().map(Into::into));
    let mut launch = Launch::new(argv, "/");
    let known =
        ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), environment.os(name)?.into())));
    launch.env = known.collect();
    launch.deadlines = Deadlines { total: Some(PROBE), ..Deadlines::default() };
    let Ok(mut running) = Running::start(launch, containment).await else { return Probed::Missing };
    let mut text = Vec::new();
    while let Some(output) = running.next().await {
        let (Output::Stdout(bytes) | Output::Stderr(bytes)) = output;
        text.extend_from_slice(&bytes[..bytes.len().min(4096_usize.saturating_sub(text.len()))]);
    }
    let ended = running.end().await;
    let text = String::from_utf8_lossy(&text).into_owned();
    match ended.exit {
        pilot_exec::process::Exit::Code(0) => Probed::Printed(text),
        pilot_exec::process::Exit::Code(_)
        | pilot_exec::process::Exit::Signal(_)
        | pilot_exec::process::Exit::Lost => Probed::Failed(text),
    }
}

fn with_store(
    file: Option<&Path>,
    environment: &Environment,
    work: impl AsyncFnOnce(&Store, &Loaded) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let loaded = config::load(&config::Request { environment, file, repo: None, flags: &Flags::default() })?;
    loaded.config()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = memory::open(&loaded, environment).await?;
        work(&store, &loaded).await?;
        store.close().await;
        Ok(ExitCode::SUCCESS)
    })
}
