//! GitHub's REST API, one file for each resource, and the forge's own routes in `forge_admin`.
//!
//! A handler reads the request, calls [`crate::store`] and [`crate::git`], and replies with JSON of [`crate::wire`]. Effects
//! of moved refs belong to [`crate::reconcile`].

mod assignees;
mod checks;
mod collaborators;
mod comments;
mod commits;
mod contents;
mod events;
mod forge_admin;
mod git_objects;
mod git_refs;
mod hooks;
mod issues;
mod labels;
mod merge;
mod mergeability;
mod milestones;
mod protection;
mod pulls;
mod releases;
mod repos;
mod reviews;
mod revision;
mod search;
mod smart_http;
mod statuses;
mod user;
mod workflows;

pub(crate) use checks::suite_state;
pub(crate) use forge_admin::apply_plan;
pub(crate) use mergeability::{Comparisons, facts};

use crate::server::Route;

/// All routes; the first match wins, so specific patterns come first.
pub(crate) const ROUTES: &[&[Route]] = &[
    forge_admin::ROUTES,
    user::ROUTES,
    search::ROUTES,
    repos::ROUTES,
    collaborators::ROUTES,
    contents::ROUTES,
    git_refs::ROUTES,
    git_objects::ROUTES,
    commits::ROUTES,
    comments::ROUTES,
    events::ROUTES,
    assignees::ROUTES,
    issues::ROUTES,
    labels::ROUTES,
    milestones::ROUTES,
    reviews::ROUTES,
    merge::ROUTES,
    pulls::ROUTES,
    checks::ROUTES,
    statuses::ROUTES,
    workflows::ROUTES,
    protection::ROUTES,
    releases::ROUTES,
    hooks::ROUTES,
    commits::GREEDY,
    smart_http::ROUTES,
];

/// A field of a PATCH that may be absent, null or a value.
fn nullable<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: serde::Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
