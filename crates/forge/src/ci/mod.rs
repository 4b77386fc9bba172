//! CI: runs a command on each pushed commit in a clean checkout; results are check runs with logs.
//!
//! A run is stored before its process starts. It becomes visible and starts some time after the push, as with GitHub; a run
//! that a crash interrupted starts again.

mod log;
mod queue;
mod script;
mod worker;

pub(crate) use log::{log_key, read_log};
pub(crate) use queue::{enqueue, has_command, rerun};
pub(crate) use worker::{Running, reset, run_worker};
