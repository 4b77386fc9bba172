//! GitHub's REST API, a file for each resource, and what the forge has beside it.
//!
//! A function here reads the request, asks [`crate::store`] and [`crate::git`], and answers with shapes of
//! [`crate::wire`]. What happens when refs move is [`crate::reconcile`]'s.

mod assignees;
mod checks;
mod collaborators;
mod comments;
mod commits;
mod contents;
mod events;
mod git_objects;
mod git_refs;
mod hooks;
mod issues;
mod labels;
mod merge;
mod mergeability;
mod milestones;
mod own;
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
pub(crate) use mergeability::{Comparisons, facts};
pub(crate) use own::apply;

use crate::server::Route;

/// Every route, the more specific first.
pub(crate) const ROUTES: &[&[Route]] = &[
    own::ROUTES,
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
