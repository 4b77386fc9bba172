//! GitHub: github.com, an Enterprise server, or the local forge, by one address.
//!
//! A read returns every page or an error, never a part. An effect is one request; when its reply is lost or cannot be parsed, it
//! is unconfirmed, and the caller looks before it repeats it.
//!
//! Must never know: what Pilot is about to do, or why.

mod auth;
mod check;
mod client;
mod comment;
mod connect;
mod forge;
mod html_marker;
mod issue;
mod merge;
mod name;
mod picture;
mod pull;
mod reference;
mod refusal;
mod repository;
mod required;
mod review;
mod tracker;
mod user;

use pilot_core::id::NotAName;
use pilot_core::time::Timestamp;

pub use auth::{AppKey, Credentials, GithubSetupError};
pub use check::CheckRun;
pub use client::{Github, Repo};
pub use forge::GithubForge;
pub use name::RepoName;
pub use reference::RefCreated;
pub use tracker::GithubTracker;

use crate::error::{LinkError, Result, Service};
use crate::time::parse_rfc3339;

pub static GITHUB: Service = Service { name: "GitHub", section: "adapters.github" };

/// The prefix of a GitHub issue's key: `GH-12`.
pub const TASK_PREFIX: &str = "GH";

fn parse_reply<T: TryFrom<String, Error = NotAName>>(action: &str, text: String) -> Result<T> {
    T::try_from(text).map_err(|error| LinkError::malformed(&GITHUB, action, error.to_string()))
}

fn parse_time(action: &str, text: &str) -> Result<Timestamp> {
    parse_rfc3339(text).ok_or_else(|| {
        let text: String = text.chars().take(50).collect();
        LinkError::malformed(&GITHUB, action, format!("{text:?} is not a time"))
    })
}
