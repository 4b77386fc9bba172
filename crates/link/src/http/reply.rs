//! A complete reply.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use serde::Deserialize;

/// The longest message of a refusal that is shown to users.
const LONGEST_MESSAGE: usize = 300;

#[derive(Clone, Debug)]
pub struct HttpReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, or its beginning when the status is an error.
    pub body: Arc<[u8]>,
    /// Whether the service replied 304 and the body is the cached one.
    pub unchanged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTail {
    pub bytes: Vec<u8>,
    /// How many bytes before them were dropped.
    pub skipped: u64,
    /// Whether the text was read to its end.
    pub complete: bool,
}

impl HttpReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The target of a redirect, relative to `base`.
    pub(super) fn location(&self, base: &Url) -> Option<Url> {
        base.join(self.header("location")?).ok()
    }

    /// The service's message on one line: the `message` of its JSON, or the beginning of its text.
    pub fn message(&self) -> String {
        #[derive(Deserialize)]
        struct MessageWire {
            message: String,
        }
        let text = String::from_utf8_lossy(&self.body);
        let message = match serde_json::from_slice::<MessageWire>(&self.body) {
            Ok(wire) => wire.message,
            Err(_) if text.trim_start().starts_with('<') => "a web page instead of a reply".to_owned(),
            Err(_) => text.into_owned(),
        };
        first_line(&message)
    }
}

/// The beginning of a text, on one line and without control characters.
pub(super) fn first_line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let short: String = text.trim().chars().map(clean).take(LONGEST_MESSAGE).collect();
    short.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::HttpReply;

    #[test]
    fn the_message_is_one_short_line() {
        for (body, expected) in [
            ("{\"message\":\"Bad credentials\",\"status\":\"401\"}", "Bad credentials"),
            ("{\"message\":\"a\\nb\\u001b[1m\"}", "a b [1m"),
            ("<!DOCTYPE html><html>…", "a web page instead of a reply"),
            ("{\"error\":1}", "{\"error\":1}"),
            ("  down\n", "down"),
            ("", ""),
        ] {
            let reply = HttpReply {
                status: StatusCode::BAD_GATEWAY,
                headers: Default::default(),
                body: body.as_bytes().into(),
                unchanged: false,
            };
            assert_eq!(reply.message(), expected);
        }
    }
}
