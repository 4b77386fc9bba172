//! What follows a failure automatically: a retry, how and when; or none, and why.
//!
//! One pure function, [`decide`], for each attempt that did not complete. Every `Again` counts somewhere ([`RetryCounters`], kept
//! with the task), every counter has a cap, and there is a cap for all of them: no sequence of failures is endless.
//! Must never know what an agent, a session or a queue is.

mod config;
mod counters;
mod decide;
mod wait;
mod words;

pub use config::{Backoff, MoreTime, Pause, RetryConfig};
pub use counters::{Counter, RetryCounters};
pub use decide::{
    Again, FailedAttempt, How, LONGEST_IN_FOREGROUND, LastMarks, RetryAgent, RetryDecision, RetryPlace,
    RetryPrompt, Session, Situation, decide,
};
