//! GitHub's JSON: rows in, objects out, with every field that GitHub's schema requires.
//!
//! The shapes follow `@octokit/openapi`; what the forge does not have (stars, forks, gists) is zero, empty or null, as the
//! schema allows.

mod comment;
mod commit;
mod event;
mod file_change;
mod issue;
mod label;
mod milestone;
mod pull;
mod repository;
mod user;

pub(crate) use comment::comment;
pub(crate) use commit::{commit, git_commit, short_commit};
pub(crate) use event::event;
pub(crate) use file_change::file_change;
pub(crate) use issue::{Extras, issue};
pub(crate) use label::label;
pub(crate) use milestone::milestone;
pub(crate) use pull::{PullFacts, pull, pull_simple};
pub(crate) use repository::{html_url, repo_url, repository};
pub(crate) use user::{private_user, user};

use serde_json::Value;

use crate::timestamp::Timestamp;

/// A time that may be absent.
pub(crate) fn time(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| time.iso().into())
}

/// Adds the fields of one object to another.
pub(crate) fn extend(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}
