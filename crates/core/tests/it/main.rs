//! The integration tests of `pilot-core`, in one binary.

mod injection;
mod outcome;
mod prose;
mod route;
mod signals;
mod stream;
