//! A complete answer.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use serde::Deserialize;

/// How much of a refusal people are shown.
const LONGEST_MESSAGE: usize = 300;

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its beginning when the status is a failure's.
    pub body: Arc<[u8]>,
    /// Whether it is the answer we already had.
    pub unchanged: bool,
}

/// The end of a long text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Its last bytes.
    pub bytes: Vec<u8>,
    /// Bytes left out before them.
    pub skipped: u64,
    /// Whether reading went on to the end.
    pub complete: bool,
}

impl Reply {
    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Where a redirect leads, from `base`.
    pub(super) fn location(&self, base: &Url) -> Option<Url> {
        base.join(self.header("location")?).ok()
    }

    /// What the service says, in a line: the `message` of its JSON, or the beginning of its text.
    pub fn message(&self) -> String {
        #[derive(Deserialize)]
        struct Said {
            message: String,
        }
        let text = String::from_utf8_lossy(&self.body);
        let said = match serde_json::from_slice::<Said>(&self.body) {
            Ok(said) => said.message,
            Err(_) if text.trim_start().starts_with('<') => "a web page instead of an answer".to_owned(),
            Err(_) => text.into_owned(),
        };
        line(&said)
    }
}

/// The beginning of a text, on one line and without control characters.
pub(super) fn line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let short: String = text.trim().chars().map(clean).take(LONGEST_MESSAGE).collect();
    short.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::Reply;

    #[test]
    fn the_message_is_one_short_line() {
        for (body, expected) in [
            ("{\"message\":\"Bad credentials\",\"status\":\"401\"}", "Bad credentials"),
            ("{\"message\":\"a\\nb\\u001b[1m\"}", "a b [1m"),
            ("<!DOCTYPE html><html>…", "a web page instead of an answer"),
            ("{\"error\":1}", "{\"error\":1}"),
            ("  down\n", "down"),
            ("", ""),
        ] {
            let reply = Reply {
                status: StatusCode::BAD_GATEWAY,
                headers: Default::default(),
                body: body.as_bytes().into(),
                unchanged: false,
            };
            assert_eq!(reply.message(), expected);
        }
    }
}
