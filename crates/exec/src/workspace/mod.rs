//! The worktree a run works in.
