//! A request, and how often it may happen.

use std::fmt;
use std::time::Duration;

use pilot_core::redact::Secrets;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Serialize;

/// What happens when a request is sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing: it only reads.
    Safe,
    /// The same as once: it sets something to a value.
    Idempotent,
    /// Twice what it does. It is never repeated after it may have arrived.
    Once,
}

/// Who is asking. Never shown.
#[derive(Clone)]
pub struct Authorization {
    value: HeaderValue,
    secrets: Secrets,
}

impl Authorization {
    /// `Authorization: Bearer TOKEN`; none when the token cannot stand in a header.
    pub fn bearer(token: &str) -> Option<Self> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(Self { value, secrets: Secrets::new([token]) })
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization([redacted])")
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) class: Class,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    pub(super) secrets: Secrets,
    pub(super) is_poll: bool,
    pub(super) is_fresh: bool,
    /// The largest body that is read, where it is not the usual one.
    pub(super) largest: Option<usize>,
}

impl Request {
    /// Reads an address.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Class::Safe)
    }

    /// Any request.
    pub fn new(method: Method, url: Url, class: Class) -> Self {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        Self {
            method,
            url,
            class,
            headers,
            body: None,
            secrets: Secrets::none(),
            is_poll: false,
            is_fresh: false,
            largest: None,
        }
    }

    /// With a header of its own.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// On behalf of somebody.
    #[must_use]
    pub fn authorized(mut self, by: &Authorization) -> Self {
        self.headers.insert(AUTHORIZATION, by.value.clone());
        self.secrets = by.secrets.clone();
        self
    }

    /// With JSON.
    #[must_use]
    pub fn json(mut self, body: &impl Serialize) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Maps with keys that are no text are the only thing that does not become JSON, and nobody sends those.
        self.body = Some(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    /// Something that can wait: it leaves the last part of the budget to work.
    #[must_use]
    pub fn poll(mut self) -> Self {
        self.is_poll = true;
        self
    }

    /// Something that must not be answered with what we have: a look that decides whether an effect is repeated.
    #[must_use]
    pub fn fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }

    /// Whose answer may have another length than most.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// The same at another address.
    #[must_use]
    pub fn at(mut self, url: Url) -> Self {
        self.url = url;
        self
    }

    /// Where it goes.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Which host it goes to, for messages.
    pub(super) fn host(&self) -> String {
        host(&self.url)
    }

    pub(super) fn build(&self, limit: Duration) -> reqwest::Request {
        let mut request = reqwest::Request::new(self.method.clone(), self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.timeout_mut() = Some(limit);
        if let Some(body) = &self.body {
            *request.body_mut() = Some(body.clone().into());
        }
        request
    }
}

/// The host of an address, with its port when that is not the usual one.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::{Authorization, Request, Url, host};

    #[test]
    fn a_token_is_never_shown() {
        let by = Authorization::bearer("s3cr3t-t0k3n").unwrap();
        let request = Request::get(Url::parse("https://h/x").unwrap()).authorized(&by);
        let shown = format!("{by:?} {request:?}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
        assert!(Authorization::bearer("two\nlines").is_none());
    }

    #[test]
    fn hosts_are_named_with_unusual_ports_only() {
        for (url, expected) in
            [("https://a.b/x", "a.b"), ("http://a:80/", "a"), ("http://127.0.0.1:8080/", "127.0.0.1:8080")]
        {
            assert_eq!(host(&Url::parse(url).unwrap()), expected);
        }
    }
}
