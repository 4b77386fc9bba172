//! One run of an agent: [`OutputReader`] reads what it prints, [`RunResult`] is what it ends with, [`WorkerLine`] what a
//! worker prints for the daemon.
//!
//! Must never know: processes, pipes, files.

mod output;
mod result;

pub use output::{OutputEvent, OutputFormat, OutputMessage, OutputReader};
pub use result::{GateReport, ReportedStatus, RunProgress, RunResult, WorkerLine, run_ending};
