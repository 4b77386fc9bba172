//! The forge from outside: over HTTP and with real git.

mod ci;
mod client;
mod faults;
mod git;
mod issues;
mod manners;
mod permission;
mod protection;
mod pulls;
mod recovery;
mod webhooks;
mod world;
