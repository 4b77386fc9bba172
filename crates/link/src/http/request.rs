//! A request, and whether it may be repeated.

use std::time::Duration;

use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Serialize;
use serde_json::Value;

use super::etag_cache::CacheKey;
use super::{Auth, digest};

/// What happens when a request is sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    Safe,
    /// The same as once: it sets something to a value.
    Idempotent,
    /// Its effect happens twice. It is never repeated after it may have arrived.
    Once,
}

#[derive(Clone, Debug)]
#[must_use]
pub struct Request {
    pub(super) method: Method,
    /// Without any secret: a token in the path is added when the request is sent.
    pub(super) url: Url,
    pub(super) class: Resend,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    auth: Option<Auth>,
    pub(super) secrets: Secrets,
    pub(super) is_poll: bool,
    pub(super) is_uncached: bool,
    /// The largest body that is read, where it is not the usual one.
    pub(super) max_body: Option<usize>,
    /// The header with the token of the next page, if the service pages so.
    pub(super) page_token: Option<&'static str>,
}

impl Request {
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Resend::Safe)
    }

    pub fn new(method: Method, url: Url, class: Resend) -> Self {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        Self {
            method,
            url,
            class,
            headers,
            body: None,
            auth: None,
            secrets: Secrets::none(),
            is_poll: false,
            is_uncached: false,
            max_body: None,
            page_token: None,
        }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub fn with_auth(mut self, auth: &Auth) -> Self {
        self.secrets = auth.secrets();
        self.auth = Some(auth.clone());
        self
    }

    pub fn with_json(mut self, body: &impl Serialize) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Only maps whose keys are no text fail to serialize, and none are sent.
        self.body = Some(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    /// Sets one value inside the JSON body, named by a JSON pointer whose parent exists.
    pub fn with_json_value(self, pointer: &str, value: &str) -> Self {
        let mut body: Value =
            self.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        if let Some((parent, name)) = pointer.rsplit_once('/')
            && let Some(Value::Object(parent)) = body.pointer_mut(parent)
        {
            parent.insert(name.to_owned(), value.into());
        }
        self.with_json(&body)
    }

    /// Sets a query parameter, in place of one of the same name.
    pub fn with_query(mut self, name: &str, value: &str) -> Self {
        let others = self.url.query_pairs().filter(|(other, _)| other != name);
        let others: Vec<(String, String)> = others.map(|(name, value)| (name.into(), value.into())).collect();
        self.url.query_pairs_mut().clear().extend_pairs(others).append_pair(name, value);
        self
    }

    /// Marks a request that can wait: it leaves the last part of the rate limit to work.
    pub fn as_poll(mut self) -> Self {
        self.is_poll = true;
        self
    }

    /// Bypasses the ETag cache, for a read that decides whether an effect is repeated.
    pub fn uncached(mut self) -> Self {
        self.is_uncached = true;
        self
    }

    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = Some(bytes);
        self
    }

    pub fn with_page_token(mut self, header: &'static str) -> Self {
        self.page_token = Some(header);
        self
    }

    pub fn with_url(mut self, url: Url) -> Self {
        self.url = url;
        self
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Tells two reads apart: method, address, body and identity.
    pub(crate) fn cache_key(&self) -> CacheKey {
        CacheKey {
            method: self.method.clone(),
            url: self.url.to_string(),
            body: digest(&[self.body.as_deref().unwrap_or_default()]),
            identity: self.auth.as_ref().map_or([0; 32], Auth::identity),
        }
    }

    pub(super) fn host(&self) -> String {
        host(&self.url)
    }

    /// The library's request, with the secret in it; none when it could not be signed.
    pub(super) fn build(&self, timeout: Duration, now: Timestamp) -> Option<reqwest::Request> {
        let (mut url, mut headers) = (self.url.clone(), self.headers.clone());
        if let Some(auth) = &self.auth {
            auth.apply(&mut url, &mut headers, now)?;
        }
        let mut request = reqwest::Request::new(self.method.clone(), url);
        *request.headers_mut() = headers;
        *request.timeout_mut() = Some(timeout);
        if let Some(body) = &self.body {
            *request.body_mut() = Some(body.clone().into());
        }
        Some(request)
    }
}

/// The host of an address, with its port when that is not the default one.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Auth, Method, Request, Resend, Url, host};

    fn get(url: &str) -> Request {
        Request::get(Url::parse(url).unwrap())
    }

    #[test]
    fn debug_output_hides_the_token() {
        let request = get("https://h/x").with_auth(&Auth::bearer("s3cr3t-t0k3n").unwrap());
        let shown = format!("{request:?}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn hosts_are_named_with_unusual_ports_only() {
        for (url, expected) in
            [("https://a.b/x", "a.b"), ("http://a:80/", "a"), ("http://127.0.0.1:8080/", "127.0.0.1:8080")]
        {
            assert_eq!(host(&Url::parse(url).unwrap()), expected);
        }
    }

    #[test]
    fn the_cache_key_differs_by_method_address_body_and_identity() {
        let post = || Request::new(Method::POST, Url::parse("https://h/graphql").unwrap(), Resend::Safe);
        let [ada, bob] = ["ada", "bob"].map(|token| Auth::bearer(token).unwrap());
        let requests = [
            get("https://h/graphql"),
            get("https://h/graphql?x=1"),
            post(),
            post().with_json(&json!({"query": "a"})),
            post().with_json(&json!({"query": "b"})),
            get("https://h/graphql").with_auth(&ada),
            get("https://h/graphql").with_auth(&bob),
        ];
        for (number, request) in requests.iter().enumerate() {
            for (other_number, other) in requests.iter().enumerate() {
                let is_same = request.cache_key() == other.cache_key();
                assert_eq!(is_same, number == other_number, "{request:?} {other:?}");
            }
        }
    }

    #[test]
    fn pages_are_requested_by_query_or_body() {
        let request = get("https://h/x?per_page=9&page=1").with_query("page", "2");
        assert_eq!(request.url().as_str(), "https://h/x?per_page=9&page=2");
        let request =
            get("https://h/").with_json(&json!({"variables": {}})).with_json_value("/variables/after", "c");
        assert_eq!(request.body.as_deref(), Some(b"{\"variables\":{\"after\":\"c\"}}".as_slice()));
    }
}
