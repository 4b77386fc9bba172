//! The life of a task: from facts to its stage, the actions that follow, and when to query again.
//!
//! [`step`] is total and pure, and called again after every event; what it wanted and did not get, it wants again. Must never
//! know how anything is done.

mod action;
mod key;
mod label;
mod plan;
#[cfg(test)]
pub(crate) mod scenario;
mod stage;
mod step;
#[cfg(test)]
mod tests;

pub use action::{Action, NewFix, NewPr, ReadyToMerge, RunRequest, StatusComment};
pub use key::{Key, Lane, UnknownLane};
pub(crate) use label::ours;
pub use plan::{Decision, Planned};
pub(crate) use plan::{is_stuck, joined, retry_at};
pub use stage::{Hold, Query, Stage, StageGroup, Stop, Wait};
pub use step::step;
pub(crate) use step::{held, start_trouble, stop};
