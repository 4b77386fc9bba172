//! How an action is done: which calls, in which order, and what each answer means.
//!
//! A performer asks for the next step, makes the call, and asks again with the answer, until there is something to report.
//! Every action looks before it writes; an answer that was lost is reported as lost and never guessed, and the action starts
//! over with a look. Queries and polls work the same way and only read. Must never know how a call is made.

mod act;
mod poll;
mod query;

pub use act::{Report, RunInput, next_step, run_input};
pub use poll::{Polled, PolledCommand, next_poll_step};
pub use query::next_query_step;

use crate::observed::{Failure, FailureKind};
use crate::port::Call;

/// What a performer does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// Make this call, and ask again with its reply added.
    Call(Call),
    /// Nothing more: this is the result.
    Done(T),
}

/// An answer to another question: a mistake of the adapter, reported like any other failure.
fn wrong_answer(answer: &impl std::fmt::Debug) -> Failure {
    let detail = format!("an answer to another question: {answer:?}");
    Failure::new(FailureKind::Server, crate::text::truncate(&detail, 200))
}
