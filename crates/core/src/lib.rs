//! Everything Pilot *decides*.
//!
//! Must never know: tokio, HTTP, SQL, files, the environment, the clock. Time and randomness are arguments, so the
//! same code runs in production and in the simulator.

pub mod budget;
pub mod ci;
pub mod config;
pub mod dispatch;
pub mod duration;
pub mod fact;
pub mod feed;
pub mod gate;
pub mod id;
pub mod intake;
mod markdown;
pub mod observed;
pub mod outcome;
pub mod perform;
pub mod phase;
pub mod pipeline;
pub mod policy;
pub mod port;
mod pr;
pub mod progress;
pub mod prompt;
pub mod redact;
pub mod release;
pub mod retry;
pub mod review;
pub mod route;
pub mod run;
pub mod run_plan;
pub mod schedule;
pub mod signal;
pub mod snapshot;
pub mod stagnation;
pub mod stream;
pub mod task;
pub mod template;
pub mod text;
pub mod time;
pub mod transcript;
pub mod turn;
pub mod words;
