//! The review: a second look at what was committed, against what the task asked for.
//!
//! [`review_prompt`] shows the reviewer as much of the change as there is room for and says how to answer;
//! [`read_review`] takes the answer strictly. It has findings, or none, or could not be read, and none
//! of these approves anything; findings that are not fixed may hold the change ([`Blocking`]). Must never know: who reviews, and where findings are shown.

mod answer;
mod diff;
mod finding;
mod prompt;

pub use answer::read_review;
pub use diff::{DiffBudget, FileDiff};
pub(crate) use finding::NOT_DONE;
pub use finding::{Blocking, Finding, Review, ReviewVerdict, Severity, SkipReason, skips_review};
pub use prompt::{ReviewRequest, review_prompt};
