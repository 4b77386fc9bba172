//! How we authenticate to GitHub: with a token, or as an App that creates tokens.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pilot_core::time::Timestamp;
use serde::Deserialize;

use super::GITHUB;
use super::refusal::read_refusal;
use crate::error::{CallFault, LinkError, Result};
use crate::http::{AppJwt, Auth, Http, HttpError, Method, Request, Resend, SecretText, Url};
use crate::time::parse_rfc3339;

/// A token is replaced when it expires sooner than this: a push may take a while.
const SPARE: Duration = Duration::from_secs(300);

/// Why GitHub cannot be called at all.
#[derive(Debug, thiserror::Error)]
pub enum GithubSetupError {
    #[error("use {url:?} as the address of GitHub's API: {why}")]
    ApiUrl { url: String, why: &'static str },
    #[error("use the token for GitHub: it is empty or has characters that no token has")]
    Token,
    #[error("read the private key of the GitHub App: {why}; download a new one from the App's settings")]
    Key { why: &'static str },
}

pub enum Credentials {
    Token(String),
    App(AppKey),
}

#[derive(Debug)]
pub struct AppKey {
    jwt: Arc<AppJwt>,
    installation: u64,
}

impl AppKey {
    /// An App by its id (or client id), the number of its installation and its private key.
    pub fn parse(id: &str, installation: u64, pem: &str) -> Result<Self, GithubSetupError> {
        let jwt = AppJwt::parse(id, pem).map_err(|why| GithubSetupError::Key { why })?;
        Ok(Self { jwt: Arc::new(jwt), installation })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(_) => f.write_str("Token([redacted])"),
            Self::App(app) => f.debug_tuple("App").field(&app.jwt.issuer()).finish(),
        }
    }
}

/// Where the token of a request comes from.
#[derive(Debug)]
pub(super) enum TokenSource {
    Fixed(SecretText),
    App {
        app: AppKey,
        /// The App has a rate limit of its own, apart from its installation's.
        http: Http,
        cached: Mutex<Option<AppToken>>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct AppToken {
    text: SecretText,
    expires: Timestamp,
}

impl TokenSource {
    pub(super) fn new(credentials: Credentials, http: &Http) -> Result<Self, GithubSetupError> {
        match credentials {
            Credentials::Token(text) => {
                SecretText::parse(text.trim()).map(Self::Fixed).ok_or(GithubSetupError::Token)
            }
            Credentials::App(app) => {
                Ok(Self::App { app, http: http.with_own_budget(), cached: Mutex::default() })
            }
        }
    }

    /// A token that is valid for a while.
    pub(super) async fn token(&self, api: &Url) -> Result<SecretText> {
        match self {
            Self::Fixed(token) => Ok(token.clone()),
            Self::App { app, http, cached } => {
                let now = http.pace().now();
                let last = cached.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(token) = last.filter(|token| token.expires > now.after(SPARE)) {
                    return Ok(token.text);
                }
                let token = app.create_token(http, api).await?;
                *cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
                Ok(token.text)
            }
        }
    }

    /// Drops a token that was refused; false when no other can be had.
    pub(super) fn discard_token(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::App { cached, .. } => {
                cached.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
            }
        }
    }

    pub(super) async fn app_login(&self, api: &Url) -> Result<Option<String>> {
        #[derive(Deserialize)]
        struct AppWire {
            slug: String,
        }
        let Self::App { app, http, .. } = self else { return Ok(None) };
        let request = app.request(Method::GET, "app", Resend::Safe, api)?;
        let wire = http
            .read::<AppWire>(&request)
            .await
            .map_err(|error| app.http_error("ask for the name of", &error))?;
        Ok(Some(format!("{}[bot]", wire.value.slug)))
    }
}

impl AppKey {
    /// A new token for the installation. One token more does no harm, so the request is retried.
    async fn create_token(&self, http: &Http, api: &Url) -> Result<AppToken> {
        #[derive(Deserialize)]
        struct TokenWire {
            token: String,
            expires_at: String,
        }
        const ACTION: &str = "get a token for";
        let path = format!("app/installations/{}/access_tokens", self.installation);
        let request = self.request(Method::POST, &path, Resend::Idempotent, api)?;
        let reply = http.send(&request).await.map_err(|error| self.http_error(ACTION, &error))?;
        let wire: Option<TokenWire> = serde_json::from_slice(&reply.body).ok();
        let token = wire.and_then(|TokenWire { token, expires_at }| {
            Some(AppToken { text: SecretText::parse(&token)?, expires: parse_rfc3339(&expires_at)? })
        });
        token.ok_or_else(|| {
            self.error(ACTION, CallFault::Malformed { detail: "no token in the reply".to_owned() })
        })
    }

    fn request(&self, method: Method, path: &str, class: Resend, api: &Url) -> Result<Request> {
        let url = api.join(path).map_err(|_| self.error("call", CallFault::bad_name(path)))?;
        Ok(Request::new(method, url, class).with_auth(&Auth::AppJwt(Arc::clone(&self.jwt))))
    }

    fn http_error(&self, action: &str, error: &HttpError) -> LinkError {
        self.error(action, CallFault::from_http(error, false, read_refusal))
    }

    fn error(&self, action: &str, why: CallFault) -> LinkError {
        LinkError::new(&GITHUB, format!("{action} the GitHub App {}", self.jwt.issuer()), why)
    }
}
