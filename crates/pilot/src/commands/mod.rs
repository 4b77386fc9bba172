//! The commands, a file each: their arguments, their help, and what they do. What takes more than a file (tasks,
//! pipelines, the daemon, the demo) is carried out in a room of its own.

pub(crate) mod budget;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod control;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod forge;
pub(crate) mod github;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod pipeline;
pub(crate) mod replay;
pub(crate) mod signals;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod target;
pub(crate) mod task;
pub(crate) mod why;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pilot_store::Store;

use crate::config::{ConfigSources, Environment, Loaded, load};
use crate::store_access;

/// How often a command checks whether the daemon has done what it was asked to.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn load_config(file: Option<&Path>, environment: &Environment) -> anyhow::Result<Loaded> {
    Ok(load(&ConfigSources::new(environment, file))?)
}

fn new_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn with_store(
    sources: ConfigSources<'_>,
    work: impl AsyncFnOnce(&Store, &Loaded) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let loaded = load(&sources)?;
    loaded.config()?;
    new_runtime()?.block_on(async {
        let store = store_access::open(&loaded, sources.environment).await?;
        work(&store, &loaded).await?;
        store.close().await;
        Ok(ExitCode::SUCCESS)
    })
}
