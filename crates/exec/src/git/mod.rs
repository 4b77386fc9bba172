//! Git as the host runs it: immune to what an agent, a repository or the environment left behind.
//!
//! Every call starts from an empty environment and a fixed list of settings that outrank any configuration file: no
//! hook, no file system monitor, no pager, no lazy fetch, and no transport but to the one address of a push or a fetch.
//! A repository that an agent may have touched is named by its resolved directories, never discovered.
//!
//! Must never know: tasks, agents, verdicts.

pub mod askpass;

mod checkout;
mod claim;
mod clone;
mod error;
mod exchange_dir;
mod history;
mod port;
mod push;
mod refs;
mod remote;
mod repository;
mod run;
mod settings;
mod status;

pub use checkout::Checkout;
pub use claim::ClaimHolder;
pub use clone::clone;
pub use error::GitError;
pub use history::{Commit, DiffStat, FileChange};
pub use port::{BRANCH_PREFIX, GitPort};
pub use push::{Push, PushResult, Rejection, RemoteSession};
pub use refs::{RefChange, Refs};
pub use remote::{Remote, RemoteError};
pub use repository::{Head, Repository};
pub use run::{Git, GitPlace, Program};
pub use settings::{GitSettings, Identity};
pub use status::{StatusEntry, parse_status};

pub(crate) use run::{GitExit, together};
pub(crate) use status::path_of;
