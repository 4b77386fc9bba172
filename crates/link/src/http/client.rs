//! Sending requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH, LINK};
use reqwest::{Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::backoff;
use super::budget::RateBudget;
use super::clients::Clients;
use super::error::{convert_error, describe_causes};
use super::etag_cache::{CacheKey, CachedReply, EtagCache};
use super::limits::StatedLimits;
use super::link_header::next_page;
use super::reply::{TextTail, first_line};
use super::{HttpError, HttpReply, Pace, Rate, Request, Resend, Settings, SetupError};

/// How much of an error reply is read, in bytes.
const MAX_REFUSAL: usize = 64 << 10;

/// The most that is read of a text of which only the end is kept, in bytes.
const MAX_TEXT: u64 = 64 << 20;

/// The transport to one service for one identity; cheap to clone, and all clones share rate limit and cache.
#[derive(Clone, Debug)]
pub struct Http {
    shared: Arc<HttpShared>,
}

#[derive(Debug)]
struct HttpShared {
    clients: Clients,
    settings: Settings,
    pace: Arc<dyn Pace>,
    budget: Mutex<RateBudget>,
    cache: Mutex<EtagCache>,
    slots: Semaphore,
}

#[derive(Clone, Debug)]
pub struct Read<T> {
    pub value: T,
    /// Whether it is the same as last time.
    pub unchanged: bool,
    pub next: Option<Url>,
    /// The token of the next page, from the header that the request names.
    pub page_token: Option<String>,
}

impl Http {
    pub fn new(settings: Settings, pace: Arc<dyn Pace>) -> Result<Self, SetupError> {
        let clients = Clients::new(&settings)?;
        Ok(Self::with_clients(clients, settings, pace))
    }

    /// The same transport with a rate limit and a cache of its own, for another identity or another host.
    #[must_use]
    pub fn with_own_budget(&self) -> Self {
        let HttpShared { clients, settings, pace, .. } = &*self.shared;
        Self::with_clients(clients.clone(), settings.clone(), Arc::clone(pace))
    }

    fn with_clients(clients: Clients, settings: Settings, pace: Arc<dyn Pace>) -> Self {
        let cache = Mutex::new(EtagCache::new(settings.cache_bytes));
        let slots = Semaphore::new(settings.max_concurrent.max(1));
        Self {
            shared: Arc::new(HttpShared { clients, settings, pace, budget: Mutex::default(), cache, slots }),
        }
    }

    pub fn pace(&self) -> &dyn Pace {
        &*self.shared.pace
    }

    /// What is left of the service's rate limit, as far as known.
    pub fn rate(&self) -> Option<Rate> {
        lock(&self.shared.budget).rate(self.pace().now())
    }

    /// Sends a request, with retries as its class allows; every status but a success is an error.
    pub async fn send(&self, request: &Request) -> Result<HttpReply, HttpError> {
        self.retry(request.class, || self.attempt(request, None)).await
    }

    /// Reads JSON, by its ETag when the last reply is cached. A body that cannot be parsed is requested again, and never
    /// cached.
    pub async fn read<T: DeserializeOwned>(&self, request: &Request) -> Result<Read<T>, HttpError> {
        let key = request.cache_key();
        let attempt = || async {
            let cached = lock(&self.shared.cache).get(&key).filter(|_| !request.is_uncached);
            let reply = self.attempt(request, cached.as_ref()).await?;
            self.parse_reply(request, &key, &reply, cached)
        };
        self.retry(request.class, attempt).await
    }

    pub async fn read_tail(&self, request: &Request, max_bytes: usize) -> Result<TextTail, HttpError> {
        self.retry(request.class, || self.attempt_tail(request, max_bytes)).await
    }

    async fn retry<T, F: Future<Output = Result<T, HttpError>>>(
        &self,
        class: Resend,
        attempt: impl Fn() -> F,
    ) -> Result<T, HttpError> {
        let mut retries = 0;
        loop {
            let result = attempt().await;
            if !self.wait_for_retry(class, retries, result.as_ref().err()).await {
                return result;
            }
            retries += 1;
        }
    }

    async fn wait_for_retry(&self, class: Resend, retries: u32, error: Option<&HttpError>) -> bool {
        let Some(error) = error else { return false };
        let may_retry = match class {
            Resend::Safe | Resend::Idempotent => error.is_transient(),
            Resend::Once => matches!(error, HttpError::Unreachable { .. }),
        };
        if !may_retry || retries >= self.shared.settings.max_retries {
            return false;
        }
        let pace = self.pace();
        pace.wait(backoff::delay(retries, pace.random())).await;
        true
    }

    async fn attempt(&self, request: &Request, cached: Option<&CachedReply>) -> Result<HttpReply, HttpError> {
        lock(&self.shared.budget).check(self.pace().now(), request.is_poll)?;
        let mut built = self.build(request)?;
        if let Some(etag) = cached.and_then(|cached| HeaderValue::from_str(&cached.etag).ok()) {
            built.headers_mut().insert(IF_NONE_MATCH, etag);
        }
        // The semaphore is never closed, so this cannot fail.
        let _slot = self.shared.slots.acquire().await;
        let response = self.execute(request, built).await?;
        let reply = self.read_reply(request, response).await?;
        check_status(request, reply, cached)
    }

    async fn attempt_tail(&self, request: &Request, max_bytes: usize) -> Result<TextTail, HttpError> {
        lock(&self.shared.budget).check(self.pace().now(), request.is_poll)?;
        let built = self.build(request)?;
        let _slot = self.shared.slots.acquire().await;
        let mut response = self.execute(request, built).await?;
        if !response.status().is_success() {
            let reply = self.read_reply(request, response).await?;
            return Err(match check_status(request, reply, None) {
                Ok(reply) => HttpError::Refused { reply: Box::new(reply) },
                Err(error) => error,
            });
        }
        let mut tail = TextTail { bytes: Vec::new(), skipped: 0, complete: true };
        while let Some(chunk) = self.read_chunk(request, &mut response).await? {
            tail.push(&chunk, max_bytes);
            if tail.skipped > MAX_TEXT {
                tail.complete = false;
                break;
            }
        }
        tail.cut(max_bytes);
        Ok(tail)
    }

    fn build(&self, request: &Request) -> Result<reqwest::Request, HttpError> {
        request.build(self.shared.settings.total_timeout, self.pace().now()).ok_or_else(|| {
            let detail = "the request could not be signed".to_owned();
            HttpError::Unreachable { host: request.host(), detail }
        })
    }

    async fn execute(&self, request: &Request, built: reqwest::Request) -> Result<Response, HttpError> {
        let HttpShared { clients, settings, .. } = &*self.shared;
        let client = clients.client_for(&request.url, settings).map_err(|error| {
            let (host, detail) = (request.host(), error.to_string());
            HttpError::Unreachable { host, detail }
        })?;
        let sent = client.execute(built).await;
        sent.map_err(|error| convert_error(error, request.host(), &request.secrets))
    }

    async fn read_reply(&self, request: &Request, response: Response) -> Result<HttpReply, HttpError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.read_body(request, response).await?;
        let now = self.pace().now();
        let limits = StatedLimits::from_headers(&headers, now);
        if let Some(limited) = lock(&self.shared.budget).learn(now, status, &limits, &body) {
            return Err(limited);
        }
        Ok(HttpReply { status, headers, body: body.into(), unchanged: false })
    }

    /// The whole body of a success, or the beginning of an error's.
    async fn read_body(&self, request: &Request, mut response: Response) -> Result<Vec<u8>, HttpError> {
        let is_success = response.status().is_success();
        let max_body = request.max_body.unwrap_or(self.shared.settings.max_body);
        let limit = if is_success { max_body } else { MAX_REFUSAL };
        let too_large = || HttpError::TooLarge { host: request.host(), limit };
        if is_success && response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.read_chunk(request, &mut response).await? {
            let left = limit - body.len();
            if chunk.len() > left {
                if is_success {
                    return Err(too_large());
                }
                body.extend_from_slice(&chunk[..left]);
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn read_chunk(
        &self,
        request: &Request,
        response: &mut Response,
    ) -> Result<Option<Vec<u8>>, HttpError> {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| {
            // The connection was open: whatever this is, the request has been sent.
            let detail = request.secrets.redact(&describe_causes(&error.without_url()));
            HttpError::Lost { host: request.host(), detail }
        })?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }

    fn parse_reply<T: DeserializeOwned>(
        &self,
        request: &Request,
        key: &CacheKey,
        reply: &HttpReply,
        cached: Option<CachedReply>,
    ) -> Result<Read<T>, HttpError> {
        let value = serde_json::from_slice(&reply.body).map_err(|error| {
            lock(&self.shared.cache).remove(key);
            parse_error(request, reply, &error)
        })?;
        let header = |name: &str| reply.header(name).map(str::to_owned);
        let (cached_link, cached_token) = cached
            .filter(|_| reply.unchanged)
            .map_or((None, None), |cached| (cached.link, cached.page_token));
        let link = header(LINK.as_str()).or(cached_link);
        let page_token = request.page_token.and_then(header).or(cached_token);
        let next = link.as_deref().map_or(Ok(None), |link| next_page(link, &request.url)).map_err(|to| {
            let detail = format!("its next page is elsewhere, at {to:?}");
            HttpError::Malformed { host: request.host(), detail }
        })?;
        if !reply.unchanged {
            let mut cache = lock(&self.shared.cache);
            match header(ETAG.as_str()) {
                Some(etag) => {
                    let (body, page_token) = (Arc::clone(&reply.body), page_token.clone());
                    cache.put(key.clone(), CachedReply { etag, body, link, page_token });
                }
                None => cache.remove(key),
            }
        }
        Ok(Read { value, unchanged: reply.unchanged, next, page_token })
    }
}

impl TextTail {
    fn push(&mut self, chunk: &[u8], max_bytes: usize) {
        self.bytes.extend_from_slice(chunk);
        // Cut rarely, so that a long text is moved a few times and not with every chunk.
        if self.bytes.len() > max_bytes.saturating_mul(2) {
            self.cut(max_bytes);
        }
    }

    fn cut(&mut self, max_bytes: usize) {
        let over = self.bytes.len().saturating_sub(max_bytes);
        self.bytes.drain(..over);
        self.skipped += over as u64;
    }
}

/// Turns a complete reply into a success, the cached body of a 304, or an error.
fn check_status(
    request: &Request,
    mut reply: HttpReply,
    cached: Option<&CachedReply>,
) -> Result<HttpReply, HttpError> {
    let status = reply.status;
    if status == StatusCode::NOT_MODIFIED {
        let Some(cached) = cached else {
            let detail = "status 304, but the request had no ETag".to_owned();
            return Err(HttpError::Malformed { host: request.host(), detail });
        };
        reply.body = Arc::clone(&cached.body);
        reply.unchanged = true;
        return Ok(reply);
    }
    if status.is_success() {
        return Ok(reply);
    }
    if status.is_redirection() {
        return Err(HttpError::Redirected { status, to: reply.location(&request.url) });
    }
    reply.body = request.secrets.redact(&String::from_utf8_lossy(&reply.body)).into_bytes().into();
    Err(HttpError::Refused { reply: Box::new(reply) })
}

fn parse_error(request: &Request, reply: &HttpReply, error: &serde_json::Error) -> HttpError {
    let start = String::from_utf8_lossy(&reply.body[..reply.body.len().min(80)]).into_owned();
    let detail = first_line(&request.secrets.redact(&format!("{error}; it begins with {start:?}")));
    HttpError::Malformed { host: request.host(), detail }
}

/// The values behind these locks are valid at every moment, so a panic in another thread does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
