//! The life of a task: from facts to where it stands, what is done about it, and when to look again.
//!
//! [`step`] is total and pure, and asked again after every event; whatever it wants and has not yet, it wants again. Must
//! never know how anything is done.

mod action;
mod key;
mod label;
mod plan;
mod stage;
mod step;
#[cfg(test)]
pub(crate) mod tale;
#[cfg(test)]
mod tests;

pub use action::{Action, Known, NewFix, NewPr, ReadyToMerge, RunOrder};
pub use key::Key;
pub(crate) use label::ours;
pub use plan::{Decision, Planned};
pub(crate) use plan::{is_stuck, joined, retry_at};
pub use stage::{Hold, Look, Stage, Stop, Wait};
pub use step::step;
pub(crate) use step::{held, start_trouble};
