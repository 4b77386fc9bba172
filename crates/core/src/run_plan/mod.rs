//! The plan of a run: what comes next, given everything that happened so far.
//!
//! An agent works, gates judge its commit, a reviewer looks at what passed, and what failed is retried where that may help.
//! One pure function, [`next`], over a [`History`] that only grows, so every loop in it is counted and ends. Gates have the
//! last word on a commit: commits of the reviewer that fail the gates are dropped.
//!
//! Must never know: what an agent, a gate or a reviewer is, and how one is called.

mod history;
mod next;

pub use history::{GateAnswer, GateEnd, History, ReviewAnswer, ReviewEnd, RunStep, WorkEnd};
pub use next::{AgentTask, NextStep, NextWork, RunEnd, RunMoment, RunPolicy, next};
