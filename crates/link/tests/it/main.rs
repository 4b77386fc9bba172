//! The package from outside.

mod conformance;
mod github;
mod pace;
mod paging;
mod server;
mod transport;
