//! The worktree a run works in: made for it, emptied into git, removed.
//!
//! The order is the point. The owner file is there before the worktree, the result is in git before anything is deleted,
//! and each step can be killed and taken up by the next start. The user's checkout, its index, branches, configuration
//! and hooks are as they were.
//!
//! What an agent may have touched is never asked for its opinion: files are staged with a git directory and an index of
//! our own (`shadow`), which share nothing with the repository but its objects.
//!
//! Must never know: which agent ran, and whether the run was a success.

mod books;
mod choice;
mod create;
mod error;
mod finalise;
mod found;
mod guard;
mod nested;
mod obstacle;
mod orphans;
mod owner;
mod pristine;
mod remove;
mod reopen;
mod revert;
mod run_dir;
mod settled;
mod shadow;

pub use create::{Intent, Order, Workspace};
pub use error::WorkspaceError;
pub use finalise::{Finalised, Other};
pub use found::{Finding, Touched, Unfinished};
pub use orphans::{Fate, Orphan, collect_orphans};
pub use owner::{Owner, Stage};
