//! Every sentence about a task that people read: comments, pull requests, `pilot status`, `pilot why`.
//!
//! Text of others goes in as data: on one line, cut, and unable to close issues. Must never know where the words go.

mod fix;
mod hold;
pub mod label;
mod pr;
mod project;
mod stage;
mod status;
#[cfg(test)]
mod tests;
mod why;

pub use fix::{fix_body, fix_labels, fix_title};
pub use hold::hold;
pub(crate) use pr::{closed_cancelled, closed_for_fix, closed_superseded, merge_title, pr_body};
pub use pr::{pr_title, task_pr_body};
pub use project::{project_attention, queued};
pub use stage::{queued_behind, stage};
pub use status::fingerprint;
pub(crate) use status::{ANSWERED_ABOVE, answer, status};
pub use why::{project_event, task_event};
