//! What the forge remembers: one SQLite file, a file of SQL for each noun.
//!
//! One connection writes, a few read. A write is answered when its transaction is on disk (write-ahead log, synchronous
//! FULL). Columns that are counted or kept in step with others are kept so by triggers of the schema.

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
mod row;
pub(crate) mod runs;
pub(crate) mod users;

pub(crate) use checks::{CheckRow, StatusRow, SuiteRow};
pub(crate) use collaborators::Permission;
pub(crate) use comments::CommentRow;
pub(crate) use events::{EventRow, NewEvent};
pub(crate) use hooks::{DeliveryRow, HookRow};
pub(crate) use issues::IssueRow;
pub(crate) use labels::LabelRow;
pub(crate) use milestones::MilestoneRow;
pub(crate) use open::Store;
pub use open::StoreError;
pub(crate) use pulls::{MergeRow, Pull, PullRow};
pub(crate) use releases::ReleaseRow;
pub(crate) use repos::{NewRepo, RepoRow};
pub(crate) use reviews::{ReviewCommentRow, ReviewRow};
pub(crate) use row::ids;
pub(crate) use runs::RunRow;
pub(crate) use users::User;
