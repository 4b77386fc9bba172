//! The integration tests of `pilot-core`, in one binary.

mod budget;
mod outcome;
mod prose;
mod signals;
mod stream;
