//! Everything Pilot *runs*: agents, gates, git, worktrees, containment.
//!
//! Must never know: SQL, forge APIs, chat.

pub mod backend;
pub mod confined;
pub mod environment;
pub mod gate;
pub mod git;
mod pause;
pub mod process;
pub mod worker;
pub mod workspace;
