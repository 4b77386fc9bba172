//! The integration tests of `pilot-core`, in one binary.

mod budget;
mod injection;
mod outcome;
mod pipeline;
mod prose;
mod route;
mod signals;
mod stream;
