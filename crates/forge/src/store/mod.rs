//! What the forge remembers: one SQLite file, a file of SQL for each noun.
//!
//! One connection writes, a few read. A write is answered when its transaction is on disk (write-ahead log, synchronous
//! FULL). Columns that are counted or kept in step with others are kept so by triggers of the schema.

pub(crate) mod collaborators;
pub(crate) mod comments;
pub(crate) mod events;
pub(crate) mod issues;
pub(crate) mod labels;
pub(crate) mod milestones;
mod open;
pub(crate) mod pulls;
pub(crate) mod refs;
pub(crate) mod repos;
mod row;
pub(crate) mod users;

pub(crate) use collaborators::Permission;
pub(crate) use comments::CommentRow;
pub(crate) use events::{EventRow, NewEvent};
pub(crate) use issues::IssueRow;
pub(crate) use labels::LabelRow;
pub(crate) use milestones::MilestoneRow;
pub(crate) use open::Store;
pub use open::StoreError;
pub(crate) use pulls::{MergeRow, Pull, PullRow};
pub(crate) use repos::{NewRepo, RepoRow};
pub(crate) use row::ids;
pub(crate) use users::User;
