//! Everything Pilot *decides*.
//!
//! Must never know: tokio, HTTP, SQL, files, the environment, the clock. Time and randomness are arguments, so the
//! same code runs in production and in the simulator.

pub mod budget;
pub mod config;
pub mod course;
pub mod duration;
pub mod gate;
mod markdown;
pub mod outcome;
pub mod phase;
pub mod pipeline;
pub mod progress;
pub mod prompt;
pub mod redact;
pub mod retry;
pub mod review;
pub mod route;
pub mod signal;
pub mod stagnation;
pub mod stream;
pub mod template;
pub mod transcript;
