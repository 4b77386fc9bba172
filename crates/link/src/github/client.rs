//! Calling GitHub: addresses, authentication, pages, errors.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::auth::TokenSource;
use super::refusal::read_refusal;
use super::{Credentials, GITHUB, GithubSetupError, RepoName};
use crate::error::{CallFault, LinkError, Result, Service, none_if_absent};
use crate::http::{Auth, Http, HttpError, HttpReply, Method, Rate, Read, Request, Resend, SecretText, Url};
use crate::pages::{Listing, Page, PageReader, Paging, read_pages};

/// GitHub, for one identity; cheap to clone.
#[derive(Clone, Debug)]
pub struct Github {
    shared: Arc<GithubShared>,
}

#[derive(Debug)]
struct GithubShared {
    http: Http,
    /// Ends with a slash, so that paths can be joined to it.
    api: Url,
    tokens: TokenSource,
    me: OnceCell<String>,
    /// Servers older than GitHub's rules do not know the question; they are not asked again.
    has_no_rules: AtomicBool,
}

#[derive(Clone, Debug)]
pub struct Repo {
    pub(super) github: Github,
    pub(super) name: RepoName,
}

impl Github {
    /// GitHub at an address: `https://api.github.com`, `https://HOST/api/v3`, or the local forge's. The transport is used for
    /// this identity alone.
    pub fn new(http: Http, api_url: &str, credentials: Credentials) -> Result<Self, GithubSetupError> {
        let api = api_address(api_url)?;
        let tokens = TokenSource::new(credentials, &http)?;
        Ok(Self {
            shared: Arc::new(GithubShared {
                http,
                api,
                tokens,
                me: OnceCell::new(),
                has_no_rules: AtomicBool::new(false),
            }),
        })
    }

    pub fn repo(&self, name: RepoName) -> Repo {
        Repo { github: self.clone(), name }
    }

    pub fn api_url(&self) -> &Url {
        &self.shared.api
    }

    pub fn rate(&self) -> Option<Rate> {
        self.shared.http.rate()
    }

    /// The login that everything we write is under; asked once.
    pub async fn login(&self) -> Result<&str> {
        #[derive(Deserialize)]
        struct User {
            login: String,
        }
        let ask = || async {
            if let Some(login) = self.shared.tokens.app_login(&self.shared.api).await? {
                return Ok(login);
            }
            let action = "ask whose token this is";
            let user: Read<User> = self.read(action, self.get(action, &["user"])?).await?;
            Ok(user.value.login)
        };
        Ok(self.shared.me.get_or_try_init(ask).await?)
    }

    pub(super) fn has_no_rules(&self) -> &AtomicBool {
        &self.shared.has_no_rules
    }

    pub(super) fn http(&self) -> &Http {
        &self.shared.http
    }

    pub(super) async fn token(&self) -> Result<SecretText> {
        self.shared.tokens.token(&self.shared.api).await
    }

    /// An address of the API. A part that would lead elsewhere, as `..` does, is refused.
    pub(super) fn url(&self, action: &str, path: &[&str]) -> Result<Url> {
        let mut url = self.shared.api.clone();
        if let Some(odd) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(LinkError::new(&GITHUB, action, CallFault::bad_name(odd)));
        }
        match url.path_segments_mut() {
            Ok(mut segments) => drop(segments.pop_if_empty().extend(path)),
            Err(()) => {
                return Err(LinkError::new(&GITHUB, action, CallFault::bad_name(self.shared.api.as_str())));
            }
        }
        Ok(url)
    }

    pub(super) fn get(&self, action: &str, path: &[&str]) -> Result<Request> {
        Ok(Request::get(self.url(action, path)?))
    }

    pub(super) async fn read<T: DeserializeOwned>(&self, action: &str, request: Request) -> Result<Read<T>> {
        let http = &self.shared.http;
        self.with_token(action, false, &request, |request| async move { http.read(&request).await }).await
    }

    /// Sends an effect. That something came back proves little: a proxy answers too.
    async fn send(&self, action: &str, request: Request) -> Result<HttpReply> {
        let http = &self.shared.http;
        self.with_token(action, true, &request, |request| async move { http.send(&request).await }).await
    }

    /// Makes a call with our token; once more with a new one, where an App's was refused.
    async fn with_token<T, F: Future<Output = Result<T, HttpError>>>(
        &self,
        action: &str,
        is_effect: bool,
        request: &Request,
        call: impl Fn(Request) -> F,
    ) -> Result<T> {
        let mut result = call(self.authenticate(request).await?).await;
        if result.as_ref().is_err_and(|error| self.has_another_token(error)) {
            result = call(self.authenticate(request).await?).await;
        }
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.explain_error(action, &error, is_effect).await),
        }
    }

    /// Sends an effect and reads its answer; one that cannot be read leaves doubt.
    pub(super) async fn write<T: DeserializeOwned>(&self, action: &str, request: Request) -> Result<T> {
        let reply = self.send(action, request).await?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            let detail = format!("the answer cannot be read: {error}");
            LinkError::new(&GITHUB, action, CallFault::Unconfirmed { detail })
        })
    }

    pub(super) async fn pages<P: Page, K: Hash + Eq>(
        &self,
        action: &str,
        first: Request,
        key: impl Fn(&P::Item) -> K,
    ) -> Result<Listing<P::Item>> {
        read_pages::<P, K, _>(self, action, Paging::LinkHeader, first, key).await
    }

    pub(super) async fn explain_error(&self, action: &str, error: &HttpError, is_effect: bool) -> LinkError {
        let why = if let HttpError::Redirected { to, .. } = error {
            CallFault::Renamed { to: self.new_name(to.as_ref()).await.map(|name| name.to_string()) }
        } else {
            CallFault::from_http(error, is_effect, read_refusal)
        };
        LinkError::new(&GITHUB, action, why)
    }

    pub(super) async fn authenticate(&self, request: &Request) -> Result<Request> {
        const VERSION: HeaderName = HeaderName::from_static("x-github-api-version");
        let token = self.token().await?;
        Ok(request
            .clone()
            .with_header(ACCEPT, HeaderValue::from_static("application/vnd.github+json"))
            .with_header(VERSION, HeaderValue::from_static("2022-11-28"))
            .with_auth(&Auth::Bearer(token)))
    }

    /// A 401 means that nothing was done, so an App may try again with a new token.
    fn has_another_token(&self, error: &HttpError) -> bool {
        let refused = matches!(error, HttpError::Refused { reply } if reply.status.as_u16() == 401);
        refused && self.shared.tokens.discard_token()
    }

    /// The name of the repository that a redirect of ours leads to: `…/repositories/ID/…`.
    async fn new_name(&self, to: Option<&Url>) -> Option<RepoName> {
        #[derive(Deserialize)]
        struct NameWire {
            full_name: String,
        }
        let to = to.filter(|to| to.origin() == self.shared.api.origin())?;
        let mut parts = to.path_segments()?.skip_while(|part| *part != "repositories");
        let id: u64 = parts.nth(1)?.parse().ok()?;
        let request = self.get("", &["repositories", &id.to_string()]).ok()?;
        let request = self.authenticate(&request).await.ok()?;
        let named = self.shared.http.read::<NameWire>(&request).await.ok()?;
        RepoName::parse(&named.value.full_name).ok()
    }
}

impl PageReader for Github {
    const SERVICE: &'static Service = &GITHUB;

    async fn read_page<P: Page>(&self, action: &str, request: Request) -> Result<Read<P>> {
        self.read(action, request).await
    }
}

impl Repo {
    pub fn name(&self) -> &RepoName {
        &self.name
    }

    /// An action for error messages: "read issue #12 of o/r".
    pub(super) fn describe(&self, action: &str) -> String {
        format!("{action} of {}", self.name)
    }

    pub(super) fn url(&self, action: &str, path: &[&str]) -> Result<Url> {
        self.github.url(action, &[&["repos", self.name.owner(), self.name.name()], path].concat())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, action: &str, path: &[&str]) -> Result<T> {
        Ok(self.github.read(action, Request::get(self.url(action, path)?)).await?.value)
    }

    pub(super) fn list(&self, action: &str, path: &[&str], query: &[(&str, &str)]) -> Result<Request> {
        let mut url = self.url(action, path)?;
        url.query_pairs_mut().extend_pairs(query).append_pair("per_page", "100");
        Ok(Request::get(url))
    }

    /// Sends an effect with a body and reads its answer.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        action: &str,
        (method, class): (Method, Resend),
        path: &[&str],
        body: &Value,
    ) -> Result<T> {
        let request = Request::new(method, self.url(action, path)?, class).with_json(body);
        self.github.write(action, request).await
    }

    /// Turns "not found" into none, once it is sure that the repository itself is there: a token that lost its rights, or a
    /// repository that moved, gets the same answer.
    pub(super) async fn absent<T>(&self, found: Result<T>) -> Result<Option<T>> {
        none_if_absent(found, self.check_visible()).await
    }
}

/// Checks an address before any token goes there.
fn api_address(text: &str) -> Result<Url, GithubSetupError> {
    let bad = |why| GithubSetupError::ApiUrl { url: text.chars().take(200).collect(), why };
    let mut url =
        Url::parse(text.trim()).map_err(|_| bad("it is no address; write https://api.github.com"))?;
    let loopback = match url.host_str() {
        Some("localhost" | "127.0.0.1" | "[::1]") => true,
        Some("github.com" | "www.github.com") => {
            return Err(bad("these are the web pages; the API is https://api.github.com"));
        }
        Some(_) => false,
        None => return Err(bad("it has no host")),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        "http" => return Err(bad("a token would go there unencrypted; use https")),
        _ => return Err(bad("it is neither https nor http")),
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(bad("it holds more than scheme, host and path; the token has a key of its own"));
    }
    let path = format!("{}/", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::api_address;

    #[test]
    fn tokens_go_to_addresses_of_apis_only() {
        for (text, expected) in [
            ("https://api.github.com", Ok("https://api.github.com/")),
            ("https://ghe.example/api/v3/", Ok("https://ghe.example/api/v3/")),
            ("http://127.0.0.1:4000", Ok("http://127.0.0.1:4000/")),
            (" http://localhost:1/x ", Ok("http://localhost:1/x/")),
            ("http://ghe.example/api/v3", Err("unencrypted")),
            ("https://github.com", Err("web pages")),
            ("https://token@api.github.com", Err("holds more")),
            ("https://api.github.com?x", Err("holds more")),
            ("ftp://x", Err("neither")),
            ("file:///etc", Err("no host")),
            ("api.github.com", Err("no address")),
            ("", Err("no address")),
        ] {
            match (api_address(text), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{text:?}: {error}"),
                (got, _) => panic!("{text:?}: {got:?}"),
            }
        }
    }
}
