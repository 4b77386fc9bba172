//! Conditional requests: ETag and `If-None-Match`.

use hyper::{HeaderMap, Method, StatusCode};
use sha2::{Digest, Sha256};

use super::reply::{Body, Reply};

/// Sets the ETag of a reply to a GET, and makes it a 304 if the client has the same; returns whether it did.
pub(crate) fn apply_etag(method: &Method, asked: &HeaderMap, reply: &mut Reply) -> bool {
    if method != Method::GET || reply.status != StatusCode::OK {
        return false;
    }
    let Body::Whole(bytes) = &reply.body else {
        return false;
    };
    let tag = format!("W/\"{}\"", hex(&Sha256::digest(bytes)));
    reply.set("etag", &tag);
    reply.set("cache-control", "private, max-age=60, s-maxage=60");
    reply.set("vary", "Accept, Authorization, Cookie");
    let known = asked.get("if-none-match").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let same = |known: &str| known.trim().trim_start_matches("W/") == tag.trim_start_matches("W/");
    if known.trim() == "*" || known.split(',').any(same) {
        reply.status = StatusCode::NOT_MODIFIED;
        reply.body = Body::Whole(hyper::body::Bytes::new());
        reply.headers.remove("content-type");
        return true;
    }
    false
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
