//! The store from outside: real files, several handles, processes that die.

mod any_turns;
mod claims;
mod concurrency;
mod crash;
mod desk;
mod history;
mod ledger;
mod opening;
mod pipelines;
mod program;
mod recording;
mod turns;
mod world;
