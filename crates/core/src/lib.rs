//! Everything Pilot *decides*.
//!
//! Must never know: tokio, HTTP, SQL, files, the environment, the clock. Time and randomness are arguments, so the
//! same code runs in production and in the simulator.

pub mod ci;
pub mod config;
pub mod dispatch;
pub mod duration;
pub mod fact;
pub mod intake;
pub mod name;
pub mod outcome;
pub mod perform;
pub mod phase;
pub mod policy;
mod pr;
pub mod progress;
pub mod prompt;
pub mod redact;
pub mod release;
pub mod seen;
pub mod signal;
pub mod stagnation;
pub mod stream;
pub mod task;
pub mod time;
pub mod transcript;
pub mod turn;
pub mod words;
