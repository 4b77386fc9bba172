//! The course of a run: what comes next, given everything that happened so far.
//!
//! An agent works; what it made is judged by gates; what passed is looked over once more; what failed is tried again where
//! that may help. One pure function, [`next`], over a [`History`] that only grows: every loop in it is counted there and
//! ends. The last word on a commit is that of its gates: a look over it is advice, and a commit it broke is left aside.
//!
//! Must never know: what an agent, a gate or a reviewer is, and how one is called.

mod history;
mod next;

pub use history::{GateEnd, Gated, History, ReviewEnd, Step, WorkEnd};
pub use next::{End, Moment, Next, Policy, Task, Work, next};
