//! HTTP: connections, requests, routes, replies. Knows GitHub's headers and errors, but none of its resources.

mod authentication;
mod call;
mod conditional;
mod failure;
mod handle;
mod listen;
mod page;
mod query;
mod rate;
mod reply;
mod request_log;
mod route;

pub(crate) use authentication::digest;
pub(crate) use call::{Access, Call, Media, Repo};
pub(crate) use conditional::hex;
pub(crate) use failure::{Failure, FieldError};
pub(crate) use listen::serve;
pub(crate) use page::Page;
pub(crate) use query::{Query, percent_encode};
pub(crate) use rate::RateLimits;
pub(crate) use reply::{Body, Chunk, CutOff, Reply};
pub(crate) use request_log::RequestLog;
pub(crate) use route::{Handler, Params, Route, RouteKind, delete, find, get, patch, post, put};
