//! Everything Pilot *runs*: agents, gates, git, worktrees, containment.
//!
//! Must never know: SQL, forge APIs, chat.

pub mod backend;
pub mod confined;
pub mod environment;
pub mod git;
pub mod process;
pub mod workspace;
