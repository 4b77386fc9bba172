//! CI: a command on each pushed commit, in a clean checkout, reported as check runs with logs.
//!
//! A run is a row before it is a process. It can be seen, and begins, some time after the push, as with the real one; a
//! forge that died begins it again.

mod log;
mod queue;
mod script;
mod work;

pub(crate) use log::{log_key, read_log};
pub(crate) use queue::{again, enqueue, has_command};
pub(crate) use work::{Running, clear, work};
