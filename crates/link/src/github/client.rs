//! Calling GitHub: addresses, rights, pages, and failures put into words.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::auth::{Auth, Token};
use super::{Credentials, GithubError, GithubSetupError, RepoName, Why, explain};
use crate::http::{Class, Http, HttpError, Method, Rate, Read, Reply, Request, Url};

/// The most pages of one list; with a hundred items each, more than anybody looks at.
const MOST_PAGES: usize = 50;

/// GitHub, for one identity; cheap to clone.
#[derive(Clone, Debug)]
pub struct Github {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    http: Http,
    /// Ends with a slash, so that paths can be joined to it.
    api: Url,
    auth: Auth,
    me: OnceCell<String>,
    /// Servers older than GitHub's rules do not know the question; they are not asked again.
    has_no_rules: AtomicBool,
}

/// One repository there.
#[derive(Clone, Debug)]
pub struct Repo {
    pub(super) github: Github,
    pub(super) name: RepoName,
}

/// Every item of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// The items, in GitHub's order, each once.
    pub items: Vec<T>,
    /// Whether nothing has changed since the list was last read.
    pub unchanged: bool,
}

impl Github {
    /// GitHub at an address: `https://api.github.com`, `https://HOST/api/v3`, or the local forge's. The transport is used for
    /// this identity alone.
    pub fn new(http: Http, api_url: &str, credentials: Credentials) -> Result<Self, GithubSetupError> {
        let api = api_address(api_url)?;
        let auth = Auth::new(credentials, &http)?;
        Ok(Self {
            shared: Arc::new(Shared {
                http,
                api,
                auth,
                me: OnceCell::new(),
                has_no_rules: AtomicBool::new(false),
            }),
        })
    }

    /// One repository.
    pub fn repo(&self, name: RepoName) -> Repo {
        Repo { github: self.clone(), name }
    }

    /// The address of the API.
    pub fn api_url(&self) -> &Url {
        &self.shared.api
    }

    /// What is left of the hour's requests, as far as is known.
    pub fn rate(&self) -> Option<Rate> {
        self.shared.http.rate()
    }

    /// The password for git over HTTPS, where the name is `x-access-token`.
    pub async fn git_password(&self) -> Result<String, GithubError> {
        Ok(self.token().await?.text)
    }

    /// The login that everything we write is under; asked once.
    pub async fn login(&self) -> Result<&str, GithubError> {
        #[derive(Deserialize)]
        struct User {
            login: String,
        }
        let ask = || async {
            if let Some(login) = self.shared.auth.app_login(&self.shared.api).await? {
                return Ok(login);
            }
            let what = "ask whose token this is";
            let user: Read<User> = self.read(what, self.get(what, &["user"])?).await?;
            Ok(user.value.login)
        };
        Ok(self.shared.me.get_or_try_init(ask).await?)
    }

    /// Whether this server is known to have no rules for branches.
    pub(super) fn has_no_rules(&self) -> &AtomicBool {
        &self.shared.has_no_rules
    }

    pub(super) fn http(&self) -> &Http {
        &self.shared.http
    }

    pub(super) async fn token(&self) -> Result<Token, GithubError> {
        self.shared.auth.token(&self.shared.api).await
    }

    /// An address of the API. A part that would lead elsewhere, as `..` does, is refused.
    pub(super) fn url(&self, what: &str, path: &[&str]) -> Result<Url, GithubError> {
        let mut url = self.shared.api.clone();
        if let Some(odd) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(GithubError::new(what, Why::bad_name(odd)));
        }
        match url.path_segments_mut() {
            Ok(mut segments) => drop(segments.pop_if_empty().extend(path)),
            Err(()) => return Err(GithubError::new(what, Why::bad_name(self.shared.api.as_str()))),
        }
        Ok(url)
    }

    pub(super) fn get(&self, what: &str, path: &[&str]) -> Result<Request, GithubError> {
        Ok(Request::get(self.url(what, path)?))
    }

    /// Reads JSON.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        what: &str,
        request: Request,
    ) -> Result<Read<T>, GithubError> {
        let http = &self.shared.http;
        let error = match http.read(&self.signed(&request).await?).await {
            Ok(read) => return Ok(read),
            Err(error) if self.has_another_token(&error) => {
                match http.read(&self.signed(&request).await?).await {
                    Ok(read) => return Ok(read),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        Err(self.explained(what, &error, false).await)
    }

    /// Sends an effect. That something came back proves little: a proxy answers too.
    async fn send(&self, what: &str, request: Request) -> Result<Reply, GithubError> {
        let http = &self.shared.http;
        let error = match http.send(&self.signed(&request).await?).await {
            Ok(reply) => return Ok(reply),
            Err(error) if self.has_another_token(&error) => {
                match http.send(&self.signed(&request).await?).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        Err(self.explained(what, &error, true).await)
    }

    /// Sends an effect and reads its answer; one that cannot be read leaves doubt.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        what: &str,
        request: Request,
    ) -> Result<T, GithubError> {
        let reply = self.send(what, request).await?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            let detail = format!("the answer cannot be read: {error}");
            GithubError::new(what, Why::Unknown { detail })
        })
    }

    /// Reads every page of a list; `key` tells items apart, since a list that changes meanwhile shows some twice.
    pub(super) async fn pages<P: Page, K: Hash + Eq>(
        &self,
        what: &str,
        first: Request,
        key: impl Fn(&P::Item) -> K,
    ) -> Result<Listing<P::Item>, GithubError> {
        let (mut items, mut keys, mut visited) = (Vec::new(), HashSet::new(), HashSet::new());
        let (mut request, mut unchanged, mut total) = (first, true, None);
        for _ in 0..MOST_PAGES {
            visited.insert(request.url().clone());
            let Read { value, unchanged: same, next } = self.read::<P>(what, request.clone()).await?;
            unchanged &= same;
            total = value.total().or(total);
            items.extend(value.items().into_iter().filter(|item| keys.insert(key(item))));
            let Some(next) = next else {
                return whole(what, items, total).map(|items| Listing { items, unchanged });
            };
            if visited.contains(&next) {
                let detail = "its pages lead in a circle".to_owned();
                return Err(GithubError::new(what, Why::Malformed { detail }));
            }
            request = request.at(next);
        }
        Err(GithubError::new(what, Why::TooMuch { limit: format!("{MOST_PAGES} pages") }))
    }

    pub(super) async fn explained(&self, what: &str, error: &HttpError, is_effect: bool) -> GithubError {
        let why = if let HttpError::Moved { to, .. } = error {
            Why::Renamed { to: self.new_name(to.as_ref()).await }
        } else {
            explain::why(error, is_effect)
        };
        GithubError::new(what, why)
    }

    pub(super) async fn signed(&self, request: &Request) -> Result<Request, GithubError> {
        const VERSION: HeaderName = HeaderName::from_static("x-github-api-version");
        let token = self.token().await?;
        Ok(request
            .clone()
            .header(ACCEPT, HeaderValue::from_static("application/vnd.github+json"))
            .header(VERSION, HeaderValue::from_static("2022-11-28"))
            .authorized(&token.authorization))
    }

    /// A 401 means that nothing was done, so an App may try again with a new token.
    fn has_another_token(&self, error: &HttpError) -> bool {
        let refused = matches!(error, HttpError::Refused { reply } if reply.status.as_u16() == 401);
        refused && self.shared.auth.forget()
    }

    /// The name of the repository that a redirect of ours leads to: `…/repositories/ID/…`.
    async fn new_name(&self, to: Option<&Url>) -> Option<RepoName> {
        #[derive(Deserialize)]
        struct Named {
            full_name: String,
        }
        let to = to.filter(|to| to.origin() == self.shared.api.origin())?;
        let mut parts = to.path_segments()?.skip_while(|part| *part != "repositories");
        let id: u64 = parts.nth(1)?.parse().ok()?;
        let request = self.get("", &["repositories", &id.to_string()]).ok()?;
        let request = self.signed(&request).await.ok()?;
        let named = self.shared.http.read::<Named>(&request).await.ok()?;
        RepoName::parse(&named.value.full_name).ok()
    }
}

impl Repo {
    /// Its name.
    pub fn name(&self) -> &RepoName {
        &self.name
    }

    /// What is done here, for messages: "read issue #12 of o/r".
    pub(super) fn doing(&self, what: &str) -> String {
        format!("{what} of {}", self.name)
    }

    pub(super) fn url(&self, what: &str, path: &[&str]) -> Result<Url, GithubError> {
        self.github.url(what, &[&["repos", self.name.owner(), self.name.name()], path].concat())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, what: &str, path: &[&str]) -> Result<T, GithubError> {
        Ok(self.github.read(what, Request::get(self.url(what, path)?)).await?.value)
    }

    /// A list, a hundred items a page.
    pub(super) fn list(
        &self,
        what: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Request, GithubError> {
        let mut url = self.url(what, path)?;
        url.query_pairs_mut().extend_pairs(query).append_pair("per_page", "100");
        Ok(Request::get(url))
    }

    pub(super) fn effect(
        &self,
        what: &str,
        method: Method,
        path: &[&str],
        class: Class,
        body: &impl Serialize,
    ) -> Result<Request, GithubError> {
        Ok(Request::new(method, self.url(what, path)?, class).json(body))
    }

    /// Turns "not found" into none, once it is sure that the repository itself is there: a token that lost its rights, or a
    /// repository that moved, gets the same answer.
    pub(super) async fn absent<T>(&self, found: Result<T, GithubError>) -> Result<Option<T>, GithubError> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(GithubError { why: Why::NotFound { .. }, .. }) => {
                self.facts().await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// One page of a list.
pub(super) trait Page: DeserializeOwned {
    type Item;
    fn items(self) -> Vec<Self::Item>;
    /// How many there are on all pages, if it says so.
    fn total(&self) -> Option<u64>;
}

impl<T: DeserializeOwned> Page for Vec<T> {
    type Item = T;

    fn items(self) -> Vec<T> {
        self
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

/// The items, unless the list says that there are more.
fn whole<T>(what: &str, items: Vec<T>, total: Option<u64>) -> Result<Vec<T>, GithubError> {
    match total {
        Some(total) if (items.len() as u64) < total => {
            let detail = format!("a list of {total} ended after {}", items.len());
            Err(GithubError::new(what, Why::Malformed { detail }))
        }
        _ => Ok(items),
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
    use super::{api_address, whole};

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

    #[test]
    fn a_list_that_ends_early_is_no_list() {
        assert!(whole("", vec![1, 2], Some(3)).is_err());
        for total in [None, Some(2), Some(1)] {
            assert!(whole("", vec![1, 2], total).is_ok(), "{total:?}");
        }
    }
}
