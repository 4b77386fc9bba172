//! Tokens of requests, in the forms that clients send.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use sha2::{Digest, Sha256};

use super::conditional::hex;

/// The token of a request. Git sends it as the password with any user name; some clients send it as the user name.
pub(crate) fn token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "token" | "bearer" => Some(rest.to_owned()),
        "basic" => {
            let decoded = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
            let (user, password) = decoded.split_once(':')?;
            Some(if password.is_empty() || password == "x-oauth-basic" { user } else { password }.to_owned())
        }
        _ => Some(String::new()),
    }
}

/// The stored form of a token: the database does not reveal it.
pub(crate) fn digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}
