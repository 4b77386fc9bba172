//! Everything Pilot *talks to*: forges, trackers, chats.
//!
//! Must never know: SQL, processes.

pub mod connect;
pub mod error;
pub mod forge;
pub mod github;
pub mod http;
pub mod pages;
pub mod ticket;
pub mod time;
#[cfg(feature = "toy")]
pub mod toy;
pub mod tracker;
