//! Who we are to GitHub: a token, or an App that mints tokens.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::jwt::SigningKey;
use super::{GithubError, GithubSetupError, Why, explain};
use crate::http::{Authorization, Class, Http, Method, Moment, Request, Url};

/// A token is not used any more when it has less than this to live: a push may take a while.
const SPARE: Duration = Duration::from_secs(300);

/// How we prove who we are. Never shown.
pub enum Credentials {
    /// A personal token, or any other that is handed to us.
    Token(String),
    /// A GitHub App, installed in an organisation or account.
    App(AppKey),
}

/// A GitHub App with its key.
#[derive(Debug)]
pub struct AppKey {
    id: String,
    installation: u64,
    key: SigningKey,
}

impl AppKey {
    /// An App by its id (or client id), the number of its installation and its private key.
    pub fn parse(id: &str, installation: u64, pem: &str) -> Result<Self, GithubSetupError> {
        let key = SigningKey::from_pem(pem).map_err(|why| GithubSetupError::Key { why })?;
        Ok(Self { id: id.to_owned(), installation, key })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(_) => f.write_str("Token([redacted])"),
            Self::App(app) => f.debug_tuple("App").field(&app.id).finish(),
        }
    }
}

/// A token that works now.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) authorization: Authorization,
    expires: Option<Moment>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

impl Token {
    fn new(text: String, expires: Option<Moment>) -> Option<Self> {
        let authorization = Authorization::bearer(&text).filter(|_| !text.is_empty())?;
        Some(Self { text, authorization, expires })
    }
}

#[derive(Debug)]
pub(super) enum Auth {
    Token(Token),
    App {
        key: AppKey,
        /// The App has a budget of its own, apart from its installation's.
        http: Http,
        minted: Mutex<Option<Token>>,
    },
}

impl Auth {
    pub(super) fn new(credentials: Credentials, http: &Http) -> Result<Self, GithubSetupError> {
        match credentials {
            Credentials::Token(text) => {
                let token = Token::new(text.trim().to_owned(), None).ok_or(GithubSetupError::Token)?;
                Ok(Self::Token(token))
            }
            Credentials::App(key) => Ok(Self::App { key, http: http.apart(), minted: Mutex::default() }),
        }
    }

    /// A token that works for a while yet.
    pub(super) async fn token(&self, api: &Url) -> Result<Token, GithubError> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::App { key, http, minted } => {
                let now = http.pace().now();
                let fresh = |token: &Token| token.expires.is_some_and(|end| end > now.after(SPARE));
                let cached = minted.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(token) = cached.filter(fresh) {
                    return Ok(token);
                }
                let token = key.mint(http, api).await?;
                *minted.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
                Ok(token)
            }
        }
    }

    /// Forgets a token that was refused; false when there is no other to be had.
    pub(super) fn forget(&self) -> bool {
        match self {
            Self::Token(_) => false,
            Self::App { minted, .. } => {
                minted.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
            }
        }
    }

    /// The name an App acts under; none for a person's token.
    pub(super) async fn app_login(&self, api: &Url) -> Result<Option<String>, GithubError> {
        #[derive(Deserialize)]
        struct App {
            slug: String,
        }
        let Self::App { key, http, .. } = self else { return Ok(None) };
        let request = key.request(Method::GET, "app", Class::Safe, http, api)?;
        let app = http.read::<App>(&request).await;
        let app = app.map_err(|error| key.failed("ask which App we are", explain::why(&error, false)))?;
        Ok(Some(format!("{}[bot]", app.value.slug)))
    }
}

impl AppKey {
    /// A new token for the installation. Minting one more does no harm, so it is repeated.
    async fn mint(&self, http: &Http, api: &Url) -> Result<Token, GithubError> {
        #[derive(Deserialize)]
        struct Minted {
            token: String,
            expires_at: String,
        }
        const WHAT: &str = "get a token for the GitHub App";
        let path = format!("app/installations/{}/access_tokens", self.installation);
        let request = self.request(Method::POST, &path, Class::Idempotent, http, api)?;
        let reply = http.send(&request).await;
        let reply = reply.map_err(|error| self.failed(WHAT, explain::why(&error, false)))?;
        let minted: Option<Minted> = serde_json::from_slice(&reply.body).ok();
        let token = minted.and_then(|Minted { token, expires_at }| {
            Token::new(token, Some(Moment::parse_rfc3339(&expires_at)?))
        });
        token.ok_or_else(|| self.failed(WHAT, Why::Malformed { detail: "no token in the answer".to_owned() }))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        class: Class,
        http: &Http,
        api: &Url,
    ) -> Result<Request, GithubError> {
        let token = self.key.token(&self.id, http.pace().now());
        let by = token.and_then(|token| Authorization::bearer(&token));
        let unsigned = || self.failed("sign as the GitHub App", Why::bad_name(&self.id));
        let url = api.join(path).map_err(|_| unsigned())?;
        Ok(Request::new(method, url, class).authorized(&by.ok_or_else(unsigned)?))
    }

    fn failed(&self, what: &str, why: Why) -> GithubError {
        GithubError::new(format!("{what} {}", self.id), why)
    }
}
