//! The package from outside.

mod github;
mod pace;
mod server;
mod transport;
