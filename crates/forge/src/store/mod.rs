//! The database: one SQLite file; one module of SQL for each noun.
//!
//! One connection writes, a few read. A commit returns when the transaction is on disk (write-ahead log, synchronous FULL).
//! Triggers in the schema maintain counters and copied columns.

pub(crate) mod checks;
pub(crate) mod collaborators;
pub(crate) mod comments;
pub(crate) mod events;
pub(crate) mod hooks;
pub(crate) mod issues;
pub(crate) mod labels;
pub(crate) mod milestones;
mod open;
pub(crate) mod protections;
pub(crate) mod pulls;
pub(crate) mod refs;
pub(crate) mod releases;
pub(crate) mod repos;
pub(crate) mod reviews;
pub(crate) mod runs;
mod sql;
pub(crate) mod users;

pub(crate) use checks::{CheckRow, StatusRow, SuiteRow};
pub(crate) use collaborators::Permission;
pub(crate) use comments::CommentRow;
pub(crate) use events::{EventRow, NewEvent};
pub(crate) use hooks::{DeliveryRow, HookRow};
pub(crate) use issues::{IssueFilter, IssueRow, IssueSort};
pub(crate) use labels::LabelRow;
pub(crate) use milestones::MilestoneRow;
pub(crate) use open::Store;
pub use open::StoreError;
pub(crate) use pulls::{MergeRow, Pull, PullFilter, PullRow};
pub(crate) use releases::ReleaseRow;
pub(crate) use repos::{NewRepo, RepoRow};
pub(crate) use reviews::{ReviewCommentRow, ReviewRow};
pub(crate) use runs::{RunFilter, RunRow};
pub(crate) use sql::ids;
pub(crate) use users::User;
