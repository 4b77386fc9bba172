//! Lists that come in pages: every page is read, each item counts once, or the whole list is an error.

use std::collections::HashSet;
use std::hash::Hash;

use serde::de::DeserializeOwned;

use crate::error::{CallFault, LinkError, Result, Service};
use crate::http::{Read, Request, Url};

/// The most pages of one list; with a hundred items each, more than any project needs.
const MAX_PAGES: usize = 50;

/// How a service names the next page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// `Link: <address>; rel="next"` (GitHub, GitLab).
    LinkHeader,
    /// A cursor in the reply's body ([`Page::cursor`]), sent back inside the request's JSON body at this pointer
    /// (GraphQL: `/variables/after`).
    BodyCursor { pointer: &'static str },
    /// The same cursor, sent back as a query parameter (Asana, Jira, Slack).
    QueryCursor { parameter: &'static str },
    /// A token in a header of the reply, sent back as a query parameter (Azure DevOps).
    NextToken { header: &'static str, parameter: &'static str },
    /// The number of items to skip; a page with fewer than `size` items is the last.
    Offset { parameter: &'static str, size: usize },
    /// The number of the page, from 1; a page with fewer than `size` items is the last.
    PageNumber { parameter: &'static str, size: usize },
}

/// One page of a list, as the service writes it.
pub trait Page: DeserializeOwned + Send {
    type Item: Send;

    fn into_items(self) -> Vec<Self::Item>;

    /// How many items there are on all pages, if the page states it.
    fn total(&self) -> Option<u64> {
        None
    }

    /// The cursor of the next page, if there is one.
    fn cursor(&self) -> Option<String> {
        None
    }
}

impl<T: DeserializeOwned + Send> Page for Vec<T> {
    type Item = T;

    fn into_items(self) -> Vec<T> {
        self
    }
}

/// Every item of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// In the service's order, each once.
    pub items: Vec<T>,
    /// Whether no page has changed since the list was last read.
    pub unchanged: bool,
}

impl<T> Listing<T> {
    /// The items; none when the list is the same as last time.
    pub fn if_changed(self) -> Option<Vec<T>> {
        (!self.unchanged).then_some(self.items)
    }
}

/// An adapter's client, as far as lists need it.
pub trait PageReader: Sync {
    const SERVICE: &'static Service;

    /// Reads one page. `action` is what is attempted, for error messages.
    fn read_page<P: Page>(
        &self,
        action: &str,
        request: Request,
    ) -> impl Future<Output = Result<Read<P>>> + Send;
}

/// Reads every page. `key` identifies an item: a list that changes in the meantime shows some items twice.
pub async fn read_pages<P: Page, K: Hash + Eq, R: PageReader>(
    reader: &R,
    action: &str,
    paging: Paging,
    first: Request,
    key: impl Fn(&P::Item) -> K,
) -> Result<Listing<P::Item>> {
    let mut request = first;
    if let Paging::NextToken { header, .. } = paging {
        request = request.with_page_token(header);
    }
    let (mut items, mut keys, mut visited) = (Vec::new(), HashSet::new(), HashSet::new());
    let (mut unchanged, mut total, mut place) = (true, None, ListPlace::default());
    for number in 1..=MAX_PAGES {
        visited.insert(request.cache_key());
        let Read { value, unchanged: is_same, next: link, page_token } =
            reader.read_page::<P>(action, request.clone()).await?;
        unchanged &= is_same;
        total = value.total().or(total);
        let cursor = value.cursor();
        let page = value.into_items();
        let (count, received) = (page.len(), place.received + page.len());
        place = ListPlace { number, count, received, link, cursor, page_token };
        items.extend(page.into_iter().filter(|item| keys.insert(key(item))));
        let Some(next) = paging.next_request(&request, &place) else {
            return match total {
                Some(total) if (items.len() as u64) < total => {
                    let detail = format!("a list of {total} ended after {}", items.len());
                    Err(LinkError::malformed(R::SERVICE, action, detail))
                }
                _ => Ok(Listing { items, unchanged }),
            };
        };
        if visited.contains(&next.cache_key()) {
            return Err(LinkError::malformed(R::SERVICE, action, "its pages form a loop"));
        }
        request = next;
    }
    Err(LinkError::new(R::SERVICE, action, CallFault::TooMuch { limit: format!("{MAX_PAGES} pages") }))
}

/// Where in a list the last page was, and what it stated about the next.
#[derive(Default)]
struct ListPlace {
    /// The page's number, from 1.
    number: usize,
    /// Items on this page.
    count: usize,
    /// Items on all pages so far.
    received: usize,
    link: Option<Url>,
    cursor: Option<String>,
    page_token: Option<String>,
}

impl Paging {
    fn next_request(self, last: &Request, place: &ListPlace) -> Option<Request> {
        let last = last.clone();
        match self {
            Self::LinkHeader => Some(last.with_url(place.link.clone()?)),
            Self::BodyCursor { pointer } => Some(last.with_json_value(pointer, place.cursor.as_deref()?)),
            Self::QueryCursor { parameter } => Some(last.with_query(parameter, place.cursor.as_deref()?)),
            Self::NextToken { parameter, .. } => {
                Some(last.with_query(parameter, place.page_token.as_deref()?))
            }
            Self::Offset { parameter, size } => {
                (place.count >= size).then(|| last.with_query(parameter, &place.received.to_string()))
            }
            Self::PageNumber { parameter, size } => {
                (place.count >= size).then(|| last.with_query(parameter, &(place.number + 1).to_string()))
            }
        }
    }
}
