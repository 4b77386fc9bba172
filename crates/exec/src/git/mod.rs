//! Git as the host runs it: immune to what an agent, a repository or the environment left behind.
//!
//! Every call starts from an empty environment and a fixed list of settings that outrank any configuration file: no
//! hook, no file system monitor, no pager, no lazy fetch, and no transport but to the one address of a push or a fetch.
//! What runs against a repository that an agent may have touched names it by its resolved directories, never by looking
//! around.
//!
//! Must never know: tasks, agents, verdicts.

pub mod askpass;

mod checkout;
mod claim;
mod clone;
mod error;
mod history;
mod name;
mod push;
mod refs;
mod relay;
mod remote;
mod repository;
mod run;
mod settings;
mod sha;
mod status;

pub use checkout::Checkout;
pub use claim::Holder;
pub use clone::clone;
pub use error::GitError;
pub use history::{Commit, DiffStat, FileChange};
pub use name::BranchName;
pub use push::{Courier, Push, Pushed, Rejection};
pub use refs::{RefChange, Refs};
pub use remote::{Remote, RemoteError};
pub use repository::{Head, Repository};
pub use run::{Git, Place, Program};
pub use settings::{Identity, Settings};
pub use sha::Sha;
pub use status::{StatusEntry, parse_status};

pub(crate) use run::{Ended, together};
