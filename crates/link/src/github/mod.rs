//! GitHub: github.com, an Enterprise server, or the local forge, by one address.
//!
//! Reads give every page or an error, never a part. An effect is one call that says what became of it; a doubt is
//! [`Why::Unknown`], and whoever repeats what may have happened looks first, after a little while, since lists lag behind. What
//! cannot be looked for from outside (a ref, a pull request of a task that nobody keeps in mind) looks by itself.
//!
//! Must never know: what Pilot is about to do, or why.

mod auth;
mod check;
mod client;
mod comment;
mod compare;
mod error;
mod explain;
mod issue;
mod jwt;
mod label;
mod log;
mod marker;
mod merge;
mod name;
mod permission;
mod picture;
mod pull;
mod reference;
mod repository;
mod required;
mod tag;
mod user;

pub use auth::{AppKey, Credentials};
pub use check::{CheckRun, CheckState, Conclusion, Status, StatusState};
pub use client::{Github, Listing, Repo};
pub use comment::{Comment, CommentId, Posted};
pub use compare::{Comparison, Relation};
pub use error::{Field, Forbidden, GithubError, GithubSetupError, Why};
pub use issue::{Issue, IssueQuery, IssueState, NewIssue, StateFilter};
pub use marker::Marker;
pub use merge::{Merge, MergeMethod, MergeOrder, MergeRefusal};
pub use name::{Number, RepoName, Sha};
pub use permission::Permission;
pub use picture::PictureError;
pub use pull::{Mergeability, NewPull, Pull, PullOpened, PullState};
pub use reference::RefMade;
pub use repository::{RepositoryFacts, Rights};
pub use required::{Required, RequiredCheck};
pub use tag::Tag;
pub use user::Actor;
