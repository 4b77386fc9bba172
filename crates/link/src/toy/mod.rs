//! A small forge and tracker that exist only in tests, behind the feature `toy`: what an adapter costs.
//!
//! It differs from GitHub where services differ: a header with a key, a cursor in the body, markers in a field of their own.

mod forge;
mod tracker;

use std::hash::Hash;

use pilot_core::observed::{Author, AuthorKind};
use pilot_core::port::{CommentSeen, Marker};
use pilot_core::time::Timestamp;
use reqwest::header::HeaderName;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::connect::{ConnectError, Connector};
use crate::error::{CallFault, LinkError, Service};
use crate::forge::{GitCredential, RepositoryFacts};
use crate::http::{Auth, Http, HttpError, Method, Read, Request, Resend, SecretText, Url};
use crate::pages::{Listing, Page, PageReader, Paging, read_pages};

static TOY: Service = Service { name: "Toy", section: "adapters.toy" };

/// The client for one project, for one identity.
#[derive(Clone, Debug)]
pub struct Toy {
    http: Http,
    api: Url,
    auth: Auth,
    key: SecretText,
    login: String,
}

#[derive(Deserialize)]
struct PageWire<T> {
    items: Vec<T>,
    next: Option<String>,
}

impl<T: DeserializeOwned + Send> Page for PageWire<T> {
    type Item = T;

    fn into_items(self) -> Vec<T> {
        self.items
    }

    fn cursor(&self) -> Option<String> {
        self.next.clone()
    }
}

/// A comment; on a ticket or a pull request.
#[derive(Deserialize)]
struct ToyCommentWire {
    id: String,
    at: i64,
    author: String,
    text: String,
    mark: Option<String>,
    on: String,
}

#[derive(Deserialize)]
struct ProjectWire {
    default_branch: String,
    is_archived: bool,
    clone_url: String,
    web_url: String,
}

#[derive(Deserialize)]
struct NothingWire {}

impl Toy {
    pub(crate) fn connect(connector: &Connector, project: &str) -> Result<Self, ConnectError> {
        let config = &connector.adapters.toy;
        let no = |what: &str| ConnectError(format!("set adapters.toy.{what}"));
        let key = config.key.as_deref().and_then(SecretText::parse).ok_or_else(|| no("key"))?;
        let api = config.api_url.as_deref().and_then(|url| Url::parse(&format!("{url}/{project}/")).ok());
        let auth = Auth::Header { name: HeaderName::from_static("x-toy-key"), value: key.clone() };
        let api = api.ok_or_else(|| no("api_url"))?;
        Ok(Self { http: connector.http()?, api, auth, key, login: config.login.clone() })
    }

    fn request(&self, method: Method, path: &str, class: Resend) -> Result<Request, LinkError> {
        let url = self.api.join(path).map_err(|_| LinkError::new(&TOY, path, CallFault::bad_name(path)))?;
        Ok(Request::new(method, url, class).with_auth(&self.auth))
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, LinkError> {
        let request = self.request(Method::GET, path, Resend::Safe)?;
        Ok(self.http.read(&request).await.map_err(|error| explain(path, &error, false))?.value)
    }

    async fn list<T, K>(&self, path: &str, key: impl Fn(&T) -> K) -> Result<Listing<T>, LinkError>
    where
        T: DeserializeOwned + Send,
        K: Hash + Eq,
    {
        let first = self.request(Method::GET, path, Resend::Safe)?;
        let paging = Paging::QueryCursor { parameter: "cursor" };
        read_pages::<PageWire<T>, K, _>(self, path, paging, first, key).await
    }

    /// Sends an effect; a reply that cannot be parsed leaves it unconfirmed.
    async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        class: Resend,
        body: &impl Serialize,
    ) -> Result<T, LinkError> {
        let request = self.request(method, path, class)?.with_json(body);
        let reply = self.http.send(&request).await.map_err(|error| explain(path, &error, true))?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            LinkError::new(
                &TOY,
                path,
                CallFault::Unconfirmed { detail: format!("cannot parse the reply: {error}") },
            )
        })
    }

    pub(crate) async fn facts(&self) -> Result<RepositoryFacts, LinkError> {
        let wire: ProjectWire = self.read("project").await?;
        Ok(RepositoryFacts {
            own_login: self.login.clone(),
            default_branch: wire.default_branch.parse_as("a branch")?,
            is_archived: wire.is_archived,
            may_push: None,
            merge_methods: None,
            clone_url: wire.clone_url,
            web_url: wire.web_url,
        })
    }

    pub(crate) fn git_credential(&self) -> GitCredential {
        GitCredential { user: "toy", password: self.key.clone() }
    }

    fn author(&self, login: &str) -> Author {
        let kind = if login == self.login { AuthorKind::Me } else { AuthorKind::Person };
        Author { login: login.to_owned(), kind }
    }

    async fn comments(&self, path: &str) -> Result<Vec<CommentSeen>, LinkError> {
        let list = self.list::<ToyCommentWire, _>(path, |wire| wire.id.clone()).await?;
        list.items.into_iter().map(|wire| self.comment_seen(wire)).collect()
    }

    fn comment_seen(&self, wire: ToyCommentWire) -> Result<CommentSeen, LinkError> {
        let id = wire.id.parse_as("a comment's id")?;
        let marker = wire.mark.filter(|_| wire.author == self.login).and_then(|mark| Marker::parse(&mark));
        Ok(CommentSeen { id, posted_at: Timestamp(wire.at), marker })
    }
}

impl PageReader for Toy {
    const SERVICE: &'static Service = &TOY;

    async fn read_page<P: Page>(&self, action: &str, request: Request) -> Result<Read<P>, LinkError> {
        self.http.read(&request).await.map_err(|error| explain(action, &error, false))
    }
}

fn explain(action: &str, error: &HttpError, is_effect: bool) -> LinkError {
    LinkError::new(&TOY, action, CallFault::from_http(error, is_effect, |_| None))
}

/// Text of a reply that must be an id of ours.
trait ParseAs {
    fn parse_as<T: TryFrom<String>>(&self, what: &str) -> Result<T, LinkError>;
}

impl ParseAs for String {
    fn parse_as<T: TryFrom<String>>(&self, what: &str) -> Result<T, LinkError> {
        T::try_from(self.clone())
            .map_err(|_| LinkError::malformed(&TOY, "read a reply", format!("{self:?} is not {what}")))
    }
}
