//! The store from outside: real files, several handles, processes that die.

mod concurrency;
mod crash;
mod history;
mod ledger;
mod opening;
mod pipelines;
mod program;
mod recording;
mod world;
