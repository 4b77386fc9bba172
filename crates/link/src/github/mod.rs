//! GitHub: github.com, an Enterprise server, or the local forge, by one address.
//!
//! Reads give every page or an error, never a part. Effects look before they act, act once, and look again when the
//! answer was lost; so whoever performs them may call them as often as it takes, and they happen once. A doubt that
//! looking could not settle is [`Why::Unknown`]: wait a little, since lists lag behind, and call again.
//!
//! Must never know: what Pilot is about to do, or why.

mod auth;
mod check;
mod client;
mod comment;
mod compare;
mod error;
mod event;
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
mod release;
mod repository;
mod required;
mod review;
mod user;

pub use auth::{AppKey, Credentials};
pub use check::{CheckRun, CheckState, Conclusion, Status, StatusState};
pub use client::{Github, Listing, Repo};
pub use comment::{Comment, CommentId, Posted, Put};
pub use compare::{Comparison, Relation};
pub use error::{Field, Forbidden, GithubError, GithubSetupError, Why};
pub use event::Labelled;
pub use issue::{Issue, IssueMade, IssueQuery, IssueState, NewIssue, StateFilter};
pub use label::Label;
pub use log::{Annotation, Level};
pub use marker::Marker;
pub use merge::{Merge, MergeMethod, MergeOrder, MergeRefusal};
pub use name::{Number, RepoName, Sha};
pub use permission::Permission;
pub use picture::PictureError;
pub use pull::{ChangedFile, Mergeability, NewPull, Pull, PullChange, PullClosed, PullOpened, PullState};
pub use reference::{RefGone, RefMade};
pub use release::{NewRelease, Release, ReleaseMade, Tag};
pub use repository::{RepositoryFacts, Rights};
pub use required::{Required, RequiredCheck};
pub use review::{Review, ReviewComment, ReviewState};
pub use user::Actor;
