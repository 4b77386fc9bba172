//! Tests of the forge over HTTP and with real git.

mod attacks;
mod browser;
mod ci;
mod client;
mod faults;
mod git;
mod http;
mod issues;
mod pages;
mod permission;
mod protection;
mod pulls;
mod recovery;
mod webhooks;
mod world;
