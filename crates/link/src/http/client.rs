//! The transport itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::{ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, LINK};
use reqwest::{Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::budget::Budget;
use super::clients::Clients;
use super::etag_cache::{EtagCache, Kept};
use super::fault::fault;
use super::pages::next_page;
use super::reply::{Tail, line};
use super::{Class, HttpError, Pace, Rate, Reply, Request, Settings, SetupError};
use super::{backoff, limits};

/// How much is read of an answer that is no success.
const REFUSAL: usize = 64 << 10;

/// The most that is read of a text of which only the end is kept.
const LONGEST_TEXT: u64 = 64 << 20;

/// The way to one service for one identity; cheap to clone, and all clones share budget and cache.
#[derive(Clone, Debug)]
pub struct Http {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clients: Clients,
    settings: Settings,
    pace: Arc<dyn Pace>,
    budget: Mutex<Budget>,
    cache: Mutex<EtagCache>,
    slots: Semaphore,
}

/// JSON that was read and understood.
#[derive(Clone, Debug)]
pub struct Read<T> {
    /// What it says.
    pub value: T,
    /// Whether it is the same as last time.
    pub unchanged: bool,
    /// The next page.
    pub next: Option<Url>,
}

impl Http {
    /// Sets up a way to a service.
    pub fn new(settings: Settings, pace: Arc<dyn Pace>) -> Result<Self, SetupError> {
        let clients = Clients::new(&settings)?;
        Ok(Self::with(clients, settings, pace))
    }

    /// The same way for another identity, with a budget and a cache of its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        let Shared { clients, settings, pace, .. } = &*self.shared;
        Self::with(clients.clone(), settings.clone(), Arc::clone(pace))
    }

    fn with(clients: Clients, settings: Settings, pace: Arc<dyn Pace>) -> Self {
        let cache = Mutex::new(EtagCache::new(settings.cache));
        let slots = Semaphore::new(settings.at_once.max(1));
        Self { shared: Arc::new(Shared { clients, settings, pace, budget: Mutex::default(), cache, slots }) }
    }

    /// The time, waiting and randomness it was given.
    pub fn pace(&self) -> &dyn Pace {
        &*self.shared.pace
    }

    /// What the service still lets us ask, as far as is known.
    pub fn rate(&self) -> Option<Rate> {
        locked(&self.shared.budget).rate(self.pace().now())
    }

    /// Sends a request; a success comes back, everything else is an error. Repeated as its class allows.
    pub async fn send(&self, request: &Request) -> Result<Reply, HttpError> {
        let mut number = 0;
        loop {
            let tried = self.attempt(request, None).await;
            if !self.goes_on(request.class, number, tried.as_ref().err()).await {
                return tried;
            }
            number += 1;
        }
    }

    /// Reads JSON, by its ETag when the last answer is still there. What cannot be understood is asked for again, and
    /// never kept.
    pub async fn read<T: DeserializeOwned>(&self, request: &Request) -> Result<Read<T>, HttpError> {
        let mut number = 0;
        loop {
            let kept = locked(&self.shared.cache).get(request.url.as_str()).filter(|_| !request.is_fresh);
            let tried = match self.attempt(request, kept.as_ref()).await {
                Ok(reply) => self.understand(request, &reply, kept),
                Err(error) => Err(error),
            };
            if !self.goes_on(request.class, number, tried.as_ref().err()).await {
                return tried;
            }
            number += 1;
        }
    }

    /// Reads the end of a text that may be long.
    pub async fn tail(&self, request: &Request, most: usize) -> Result<Tail, HttpError> {
        let mut number = 0;
        loop {
            let tried = self.attempt_tail(request, most).await;
            if !self.goes_on(request.class, number, tried.as_ref().err()).await {
                return tried;
            }
            number += 1;
        }
    }

    /// Waits before a repetition that makes sense; false when there is none.
    async fn goes_on(&self, class: Class, number: u32, error: Option<&HttpError>) -> bool {
        let Some(error) = error else { return false };
        let allowed = match class {
            Class::Safe | Class::Idempotent => error.may_pass(),
            Class::Once => matches!(error, HttpError::Unreachable { .. }),
        };
        if !allowed || number >= self.shared.settings.repeats {
            return false;
        }
        let pace = self.pace();
        pace.wait(backoff::delay(number, pace.random())).await;
        true
    }

    async fn attempt(&self, request: &Request, kept: Option<&Kept>) -> Result<Reply, HttpError> {
        locked(&self.shared.budget).check(self.pace().now(), request.is_poll)?;
        let mut built = request.build(self.shared.settings.total);
        if let Some(etag) = kept.and_then(|kept| HeaderValue::from_str(&kept.etag).ok()) {
            built.headers_mut().insert(IF_NONE_MATCH, etag);
        }
        // Never closed, so there is always a permit to come.
        let _slot = self.shared.slots.acquire().await;
        let response = self.respond(request, built).await?;
        let reply = self.reply(request, response).await?;
        judge(request, reply, kept)
    }

    async fn attempt_tail(&self, request: &Request, most: usize) -> Result<Tail, HttpError> {
        locked(&self.shared.budget).check(self.pace().now(), request.is_poll)?;
        let _slot = self.shared.slots.acquire().await;
        let mut response = self.respond(request, request.build(self.shared.settings.total)).await?;
        if !response.status().is_success() {
            let reply = self.reply(request, response).await?;
            return Err(match judge(request, reply, None) {
                Ok(reply) => HttpError::Refused { reply: Box::new(reply) },
                Err(error) => error,
            });
        }
        let mut tail = Tail { bytes: Vec::new(), skipped: 0, complete: true };
        while let Some(chunk) = self.chunk(request, &mut response).await? {
            tail.push(&chunk, most);
            if tail.skipped > LONGEST_TEXT {
                tail.complete = false;
                break;
            }
        }
        tail.cut(most);
        Ok(tail)
    }

    /// The whole answer, and what it says of limits learned.
    async fn reply(&self, request: &Request, response: Response) -> Result<Reply, HttpError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.body(request, response).await?;
        let now = self.pace().now();
        let limits = limits::read(&headers, now);
        if let Some(held) = locked(&self.shared.budget).learn(now, status, &limits, &body) {
            return Err(held);
        }
        Ok(Reply { status, headers, body: body.into(), unchanged: false })
    }

    async fn respond(&self, request: &Request, built: reqwest::Request) -> Result<Response, HttpError> {
        let Shared { clients, settings, .. } = &*self.shared;
        let client = clients.to(&request.url, settings).map_err(|error| {
            let (host, detail) = (request.host(), error.to_string());
            HttpError::Unreachable { host, detail }
        })?;
        let sent = client.execute(built).await;
        sent.map_err(|error| fault(error, request.host(), &request.secrets))
    }

    /// The whole body of a success, or the beginning of another answer's.
    async fn body(&self, request: &Request, mut response: Response) -> Result<Vec<u8>, HttpError> {
        let fine = response.status().is_success();
        let largest = request.largest.unwrap_or(self.shared.settings.body);
        let limit = if fine { largest } else { REFUSAL };
        let too_large = || HttpError::TooLarge { host: request.host(), limit };
        if fine && response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(request, &mut response).await? {
            let room = limit - body.len();
            if chunk.len() > room {
                if fine {
                    return Err(too_large());
                }
                body.extend_from_slice(&chunk[..room]);
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn chunk(&self, request: &Request, response: &mut Response) -> Result<Option<Vec<u8>>, HttpError> {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| {
            // The connection was there: whatever this is, the request has been sent.
            let detail = request.secrets.redact(&super::fault::detail(&error.without_url()));
            HttpError::Lost { host: request.host(), detail }
        })?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }

    fn understand<T: DeserializeOwned>(
        &self,
        request: &Request,
        reply: &Reply,
        kept: Option<Kept>,
    ) -> Result<Read<T>, HttpError> {
        let address = request.url.as_str();
        let value = serde_json::from_slice(&reply.body).map_err(|error| {
            locked(&self.shared.cache).forget(address);
            malformed(request, reply, &error)
        })?;
        let text = |name: &HeaderName| reply.header(name.as_str()).map(str::to_owned);
        let link = text(&LINK).or_else(|| kept.filter(|_| reply.unchanged).and_then(|kept| kept.link));
        let next = link.as_deref().map_or(Ok(None), |link| next_page(link, &request.url)).map_err(|to| {
            let detail = format!("its next page is elsewhere, at {to:?}");
            HttpError::Malformed { host: request.host(), detail }
        })?;
        if !reply.unchanged {
            match text(&ETAG) {
                Some(etag) => {
                    let body = Arc::clone(&reply.body);
                    locked(&self.shared.cache).put(address, Kept { etag, body, link });
                }
                None => locked(&self.shared.cache).forget(address),
            }
        }
        Ok(Read { value, unchanged: reply.unchanged, next })
    }
}

impl Tail {
    fn push(&mut self, chunk: &[u8], most: usize) {
        self.bytes.extend_from_slice(chunk);
        // Cut seldom, so that a long text is moved a few times and not with every chunk.
        if self.bytes.len() > most.saturating_mul(2) {
            self.cut(most);
        }
    }

    fn cut(&mut self, most: usize) {
        let over = self.bytes.len().saturating_sub(most);
        self.bytes.drain(..over);
        self.skipped += over as u64;
    }
}

/// What a complete answer is: the one we asked for, the one we have, a way elsewhere, or a refusal.
fn judge(request: &Request, mut reply: Reply, kept: Option<&Kept>) -> Result<Reply, HttpError> {
    let status = reply.status;
    if status == StatusCode::NOT_MODIFIED {
        let Some(kept) = kept else {
            let detail = "it says that nothing has changed, but was not asked so".to_owned();
            return Err(HttpError::Malformed { host: request.host(), detail });
        };
        reply.body = Arc::clone(&kept.body);
        reply.unchanged = true;
        return Ok(reply);
    }
    if status.is_success() {
        return Ok(reply);
    }
    if status.is_redirection() {
        return Err(HttpError::Moved { status, to: reply.location(&request.url) });
    }
    reply.body = request.secrets.redact(&String::from_utf8_lossy(&reply.body)).into_bytes().into();
    Err(HttpError::Refused { reply: Box::new(reply) })
}

fn malformed(request: &Request, reply: &Reply, error: &serde_json::Error) -> HttpError {
    let start = String::from_utf8_lossy(&reply.body[..reply.body.len().min(80)]).into_owned();
    let detail = line(&request.secrets.redact(&format!("{error}; it begins with {start:?}")));
    HttpError::Malformed { host: request.host(), detail }
}

/// What is behind these locks is whole at every moment, so a panic elsewhere spoils nothing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
