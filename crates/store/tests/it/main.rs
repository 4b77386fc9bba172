//! The store from outside: real files, several handles, processes that die.

mod any_turns;
mod claims;
mod concurrency;
mod crash;
mod feed;
mod history;
mod instance;
mod ledger;
mod older_databases;
mod opening;
mod pipelines;
mod program;
mod recording;
mod turns;
mod world;
