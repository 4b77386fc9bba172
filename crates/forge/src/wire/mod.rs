//! GitHub's JSON from rows, with every field that GitHub's schema requires.
//!
//! The shapes follow `@octokit/openapi`; what the forge does not have (stars, forks, gists) is zero, empty or null.

mod check;
mod comment;
mod commit;
mod event;
mod file_change;
mod git_object;
mod hook;
mod issue;
mod label;
mod milestone;
mod pull;
mod release;
mod repository;
mod review;
mod run;
mod user;

pub(crate) use check::{CI_APP, SuiteState, check_run, check_suite, status, suite_core, suite_extra};
pub(crate) use comment::comment;
pub(crate) use commit::{commit, git_commit, short_commit, simple_commit};
pub(crate) use event::event;
pub(crate) use file_change::file_change;
pub(crate) use git_object::{content, git_blob, git_ref, git_tag, git_tree};
pub(crate) use hook::{delivery, delivery_item, hook};
pub(crate) use issue::{Extras, issue};
pub(crate) use label::label;
pub(crate) use milestone::milestone;
pub(crate) use pull::{PullFacts, pull, pull_simple};
pub(crate) use release::release;
pub(crate) use repository::{full_repository, html_url, permissions, repo_url, repository};
pub(crate) use review::{review, review_comment};
pub(crate) use run::{CI_NAME, job, workflow, workflow_run};
pub(crate) use user::{private_user, user};

use serde_json::Value;

use crate::timestamp::Timestamp;

pub(crate) fn time(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| time.iso().into())
}

/// Adds the fields of `more` to an object.
pub(crate) fn extend(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}
