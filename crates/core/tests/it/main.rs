//! The integration tests of `pilot-core`, in one binary.

mod prose;
mod signals;
mod stream;
