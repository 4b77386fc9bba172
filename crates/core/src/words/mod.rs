//! What Pilot writes for people on a forge and says when asked why: all of its sentences about tasks, in one room.
//!
//! Text of others goes in as data: on one line, cut, and unable to close issues. Must never know where the words go.

mod defuse;
mod fix;
mod hold;
pub mod label;
mod marker;
mod pr;
mod stage;
mod status;
#[cfg(test)]
mod tests;
mod why;

pub use defuse::defuse;
pub use fix::{fix_body, fix_labels, fix_title};
pub use hold::hold;
pub(crate) use marker::{ANSWERED_ABOVE, close_marker, reply_marker, status_marker, task_marker};
pub use marker::{Meta, fingerprint};
pub(crate) use pr::{closed_cancelled, closed_for_fix, closed_superseded, merge_title, pr_body};
pub use pr::{pr_title, task_pr_body};
pub use stage::stage;
pub(crate) use status::{answer, status};
pub use why::{happened, project_happened};
