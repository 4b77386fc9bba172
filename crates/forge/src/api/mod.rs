//! GitHub's REST API, a file for each resource, and what the forge has beside it.
//!
//! A function here reads the request, asks [`crate::store`] and [`crate::git`], and answers with shapes of
//! [`crate::wire`]. What happens when refs move is [`crate::reconcile`]'s.

mod comments;
mod issues;
mod labels;
mod merge;
mod mergeability;
mod own;
mod protection;
mod pulls;
mod repos;
mod smart_http;
mod user;

pub(crate) use mergeability::Comparisons;
pub(crate) use own::apply;

use crate::server::Route;

/// Every route, the more specific first.
pub(crate) const ROUTES: &[&[Route]] = &[
    own::ROUTES,
    user::ROUTES,
    repos::ROUTES,
    comments::ROUTES,
    issues::ROUTES,
    labels::ROUTES,
    merge::ROUTES,
    pulls::ROUTES,
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
