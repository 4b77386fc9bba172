//! What is done after a failure without asking anybody: again, how and when; or no more, and why.
//!
//! One pure function, [`decide`], for each attempt that did not complete. Every `Again` counts somewhere ([`Counters`], kept
//! with the task), every counter has a cap, and there is a cap for all of them: no sequence of failures goes on for ever.
//! Must never know what an agent, a session or a queue is.

mod config;
mod counters;
mod decide;
mod wait;
mod words;

pub use config::{Backoff, MoreTime, Pause, RetryConfig};
pub use counters::{Counter, Counters};
pub use decide::{
    Again, Agent, Decision, Failure, How, LONGEST_IN_FOREGROUND, Marks, Place, Prompt, Session, Situation,
    decide,
};
