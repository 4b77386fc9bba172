//! The integration tests of `pilot-core`, in one binary.

mod outcome;
mod prose;
mod route;
mod signals;
mod stream;
