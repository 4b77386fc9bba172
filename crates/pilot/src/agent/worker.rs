//! What the daemon asks of a worker: this program again, in a process of its own, started with [`WORD`]. The request is one
//! JSON object on standard input; the answers are `pilot_core::run::WorkerLine`s on standard output.

use std::path::PathBuf;

use pilot_core::config::ProjectTracker;
use serde::{Deserialize, Serialize};

/// The hidden command that makes the program a worker.
pub(crate) const WORD: &str = "__work";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkRequest {
    /// The process number of the daemon; the worker ends with it.
    pub(crate) parent: u32,
    pub(crate) key: String,
    pub(crate) title: String,
    /// The ticket's text, without its title.
    pub(crate) text: String,
    pub(crate) labels: Vec<String>,
    /// The author of the ticket, as a commit names a co-author.
    pub(crate) co_author: Option<String>,
    /// Where its ticket is.
    pub(crate) tracker: ProjectTracker,
    pub(crate) project: PathBuf,
    pub(crate) branch: String,
    /// The commit to start from; everything on the branch since then is the task's work.
    pub(crate) base: String,
    pub(crate) config: Option<PathBuf>,
}
