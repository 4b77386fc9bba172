//! Git as the forge runs it: bare repositories, the `git` program, never a word from outside as an option.
//!
//! Refs and objects come in as checked types ([`crate::name`]), stand behind `--end-of-options`, and git's environment is
//! empty but for what is needed here.

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

pub(crate) use backend::{PRE_RECEIVE, Request as BackendRequest, Session};
pub(crate) use diff::{FileChange, FileStatus};
pub(crate) use history::{Commit, Signature};
pub(crate) use hunk::hunk_at;
pub(crate) use merge::{MergeOutcome, Method as MergeMethod};
pub(crate) use object::{EntryKind, TreeEntry};
pub(crate) use refs::{FullRef, RefUpdate};
pub(crate) use repository::Repository;
pub(crate) use run::{Git, GitError};
pub(crate) use tag::Tag;
