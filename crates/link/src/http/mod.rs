//! The one way out over HTTP, shared by every service.
//!
//! A request says how often it may happen ([`Class`]): reads are repeated when the answer is lost, effects that would
//! happen twice never are. What the service says of its limits is learned from every answer and kept to, so that a held
//! call costs nothing. Unchanged answers are asked for by their ETag. Nothing here logs, and no error carries a token.
//!
//! Must never know: which service it talks to, what an answer means, what time it is.

mod backoff;
mod budget;
mod client;
mod clients;
mod error;
mod etag_cache;
mod fault;
mod limits;
mod moment;
mod pace;
mod pages;
mod reply;
mod request;
mod settings;

pub use budget::{Hold, Rate};
pub use client::{Http, Read};
pub use error::HttpError;
pub use moment::Moment;
pub use pace::Pace;
pub use reply::{Reply, Tail};
pub use request::{Authorization, Class, Request};
pub use reqwest::{Method, Url};
pub use settings::{Proxy, Settings, SetupError};
