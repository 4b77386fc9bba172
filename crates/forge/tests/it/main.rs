//! The forge from outside: over HTTP and with real git.

mod attacks;
mod browser;
mod ci;
mod client;
mod faults;
mod git;
mod issues;
mod manners;
mod pages;
mod permission;
mod protection;
mod pulls;
mod recovery;
mod webhooks;
mod world;
