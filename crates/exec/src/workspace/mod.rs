//! The worktree of a run: created, finalised into git, reopened, removed.
//!
//! The order matters: the owner file is written before the worktree, the result is in git before anything is deleted, and
//! after a kill at any step the next start recovers. The user's checkout, its index, branches, configuration and hooks
//! stay as they were.
//!
//! Nothing that an agent may have touched is trusted: files are staged with a git directory and an index of our own
//! (`staging`), which share nothing with the repository but its objects.
//!
//! Must never know: which agent ran, and whether the run was a success.

mod cached_result;
mod choice;
mod create;
mod error;
mod finalise;
mod finding;
mod guard;
mod index_check;
mod nested;
mod owner;
mod remove;
mod reopen;
mod run_dir;
mod staging;
mod stale;
mod unstageable;
mod worktree_list;

pub use create::{CreateRequest, Intent, Workspace};
pub use error::WorkspaceError;
pub use finalise::{Finalised, SideCommit};
pub use finding::{GuardedChange, HalfDone, RunFinding};
pub use owner::{WorkspaceOwner, WorkspaceStage, start_of};
pub use stale::{Recovery, StaleWorkspace, recover_stale};
