//! The package from outside.

mod pace;
mod server;
mod transport;
