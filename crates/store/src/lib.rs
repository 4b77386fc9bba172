//! Everything Pilot *remembers*: its runs, what they logged, what their agents printed and
//! what they cost; tasks and projects with their facts, claims, outbox and logs.
//!
//! Must never know: forges, processes.
//!
//! Every statement is a constant that PostgreSQL would take as well, and only `database` knows the driver. Time is an
//! argument, and every text goes through [`pilot_core::redact`] before it is stored.

mod backlog;
mod classification;
mod database;
mod durable;
mod error;
mod execution;
mod ledger;
mod log;
mod pipeline;
mod recorder;
mod retries;
mod store;
mod stream;

pub use database::{Kept, LATEST, Location};
pub use durable::{LEASE, TaskRow};
pub use error::StoreError;
pub use execution::{Execution, ExecutionStatus, Finish, NewExecution, Owner, RunId};
pub use ledger::{Applicant, LedgerRow};
pub use log::{LogLine, LogRow};
pub use pipeline::{NewFact, NewPipelineRun, PipelineFact, PipelinePart, PipelineRun, PipelineStatus};
pub use recorder::{Cap, StreamRecorder};
pub use store::Store;
pub use stream::{StreamKind, StreamRow};
