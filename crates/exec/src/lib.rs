//! Everything Pilot *runs*: agents, gates, git, worktrees, containment.
//!
//! Must never know: SQL, forge APIs, chat.

pub mod git;
pub mod workspace;
