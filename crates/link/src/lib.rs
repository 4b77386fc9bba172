//! Everything Pilot *talks to*: forges, trackers, chats, mail, outgoing webhooks.
//!
//! Must never know: SQL, processes.

pub mod github;
pub mod http;
