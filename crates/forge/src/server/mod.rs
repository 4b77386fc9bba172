//! HTTP: connections, requests, routes, answers. Knows GitHub's manners, but none of its nouns.

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
pub(crate) use call::{Call, Media, Need, Repo};
pub(crate) use conditional::hex;
pub(crate) use failure::{Failure, FieldError};
pub(crate) use listen::serve;
pub(crate) use page::Page;
pub(crate) use query::{Query, percent_encode};
pub(crate) use rate::RateLimits;
pub(crate) use reply::{Body, Chunk, CutOff, Reply};
pub(crate) use request_log::RequestLog;
pub(crate) use route::{Face, Handler, Params, Route, delete, find, get, patch, post, put};
