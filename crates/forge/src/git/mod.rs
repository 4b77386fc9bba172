//! Git: bare repositories and the `git` program. Text from outside is never an option of git.
//!
//! Refs and objects are validated types ([`crate::name`]) and follow `--end-of-options`; the environment of git contains only
//! what is set here.

mod backend;
mod diff;
mod history;
mod hunk;
mod merge;
mod object;
mod refs;
mod repository;
mod run;
mod tag;

pub(crate) use backend::{BackendRequest, BackendResponse, PRE_RECEIVE};
pub(crate) use diff::{FileChange, FileStatus};
pub(crate) use history::{Commit, Signature};
pub(crate) use hunk::{hunk_at, hunk_starts};
pub(crate) use merge::{MergeMethod, MergeOutcome};
pub(crate) use object::{EntryKind, TreeEntry};
pub(crate) use refs::{FullRef, RefUpdate};
pub(crate) use repository::Repository;
pub(crate) use run::{Git, GitError};
pub(crate) use tag::Tag;
