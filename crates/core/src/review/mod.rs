//! The self-review: a second look at what was committed, against what the task asked for.
//!
//! [`review_prompt`] shows the reviewer as much of the change as there is room for and says how to answer;
//! [`read_review`] takes the answer strictly. A review is advice: it has findings, or none, or could not be read, and none of
//! these approves anything. Must never know: who reviews, and where findings are shown.

mod answer;
mod diff;
mod finding;
mod prompt;

pub use answer::read_review;
pub use diff::{DiffBudget, FileDiff};
pub use finding::{Finding, Review, ReviewVerdict, Severity, SkipReason, skips_review};
pub use prompt::{ReviewRequest, review_prompt};
