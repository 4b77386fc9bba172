//! Everything Pilot *remembers*: its runs, what they logged, what their agents printed and
//! what they cost; and the durable core: tasks, claims, what is to be done and what happened.
//!
//! Must never know: forges, processes.
//!
//! SQLite below `PILOT_HOME`. One connection writes, a few read; every statement is a constant that PostgreSQL would take
//! as well. Time is an argument, and whatever is text goes through [`pilot_core::redact`] on its way in.

mod backlog;
mod classification;
mod column;
mod damage;
mod durable;
mod error;
mod execution;
mod ledger;
mod log;
mod migration;
mod open;
mod pipeline;
mod recorder;
mod retries;
mod stream;
mod time;

pub use damage::Kept;
pub use durable::{LEASE, TaskRow};
pub use error::StoreError;
pub use execution::{Ending, Execution, Finish, Midway, NewExecution, Owner, RunId, Status, Usage};
pub use ledger::{Applicant, LedgerRow};
pub use log::{Level, LogLine, LogRow};
pub use migration::LATEST;
pub use open::Store;
pub use pipeline::{NewFact, NewPipelineRun, PipelineFact, PipelinePart, PipelineRun, PipelineStatus};
pub use recorder::{Cap, StreamRecorder};
pub use stream::{StreamKind, StreamRow};
pub use time::Micros;
