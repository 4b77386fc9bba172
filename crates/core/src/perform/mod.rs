//! How an action is done: which calls, in which order, and what each answer means.
//!
//! A performer asks [`next`] what to do, does it, and asks again with the answer, until there is something to report. Every
//! action looks before it acts; an answer that was lost is reported as such and never guessed, and the action is begun anew
//! with a look. [`ask`] and [`heard`] are the same for what is only looked at. Must never know how a call is made.

mod act;
mod call;
mod look;

pub use act::{Next, Report, next};
pub use call::{Answer, Call, CommentSeen, IssueRead, OwnIssue, Reply, TagSeen, Thread};
pub use look::{ask, heard};
