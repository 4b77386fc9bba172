//! What was seen on a forge, in our own words. Wire formats are read elsewhere; here everything is parsed and bounded.

mod failure;
mod issue;
mod pr;

pub use failure::{Failure, FailureKind};
pub use issue::{Author, AuthorKind, Body, DependencyState, Issue, IssueState, Permission, Reach};
pub use pr::{Mergeable, Pr, PrState};
