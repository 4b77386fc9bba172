//! The one HTTP transport, shared by every adapter.
//!
//! A request states whether it may be repeated ([`Resend`]): reads are retried when the reply is lost, effects that would
//! happen twice never are. Rate limits are learned from every reply and obeyed, so that a held request costs nothing.
//! Unchanged replies cost a 304. Nothing here logs, and no error carries a secret.
//!
//! Must never know: which service it talks to, what a reply means, what time it is.

mod auth;
mod backoff;
mod budget;
mod client;
mod clients;
mod error;
mod etag_cache;
mod jwt;
mod limits;
mod link_header;
mod pace;
mod reply;
mod request;
mod settings;

pub use auth::{AppJwt, Auth, SecretText};
pub use budget::{HeldBack, Rate};
pub use client::{Http, Read};
pub use error::HttpError;
pub use pace::Pace;
pub use reply::{HttpReply, TextTail};
pub use request::{Request, Resend};
pub use reqwest::{Method, Url};
pub use settings::{Proxy, Settings, SetupError};

/// SHA-256 of some parts; each part's length is part of the input, so that no two lists have the same digest.
fn digest<T: AsRef<[u8]>>(parts: &[T]) -> [u8; 32] {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&part.as_ref().len().to_le_bytes());
        context.update(part.as_ref());
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}
