//! The integration tests of `pilot-core`, in one binary.

mod signals;
mod stream;
