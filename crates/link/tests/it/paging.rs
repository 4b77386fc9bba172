//! Every way to page reads every page, each item once.

use std::sync::Arc;

use pilot_link::error::{CallFault, LinkError, Service};
use pilot_link::http::{Http, Method, Pace, Read, Request, Resend, Settings};
use pilot_link::pages::{Page, PageReader, Paging, read_pages};
use serde::Deserialize;
use serde_json::json;

use crate::pace::TestPace;
use crate::server::{Act, Server, answer};

static SERVICE: Service = Service { name: "Test", section: "adapters.test" };

struct Client(Http);

impl PageReader for Client {
    const SERVICE: &'static Service = &SERVICE;

    async fn read_page<P: Page>(&self, action: &str, request: Request) -> Result<Read<P>, LinkError> {
        let read = self.0.read(&request).await;
        read.map_err(|error| LinkError::new(&SERVICE, action, CallFault::from_http(&error, false, |_| None)))
    }
}

#[derive(Deserialize)]
struct NumbersPage {
    items: Vec<u64>,
    next: Option<String>,
}

impl Page for NumbersPage {
    type Item = u64;

    fn into_items(self) -> Vec<u64> {
        self.items
    }

    fn cursor(&self) -> Option<String> {
        self.next.clone()
    }
}

fn page(items: &[u64], next: Option<&str>, headers: &[(&str, &str)]) -> Act {
    Act::Say(answer(200, headers, &json!({"items": items, "next": next}).to_string()))
}

/// How a service pages, its second page's request, and the headers and cursor of its first page.
type Case =
    (Paging, &'static str, &'static str, &'static [(&'static str, &'static str)], Option<&'static str>);

const CASES: [Case; 6] = [
    (Paging::LinkHeader, "POST /list?page=2", "{\"variables\":{}}", &[("Link", "<?page=2>; rel=next")], None),
    (
        Paging::BodyCursor { pointer: "/variables/after" },
        "POST /list",
        "{\"variables\":{\"after\":\"c2\"}}",
        &[],
        Some("c2"),
    ),
    (
        Paging::QueryCursor { parameter: "cursor" },
        "POST /list?cursor=c2",
        "{\"variables\":{}}",
        &[],
        Some("c2"),
    ),
    (
        Paging::NextToken { header: "x-ms-continuationtoken", parameter: "continuationToken" },
        "POST /list?continuationToken=t2",
        "{\"variables\":{}}",
        &[("X-MS-ContinuationToken", "t2")],
        None,
    ),
    (
        Paging::Offset { parameter: "startAt", size: 2 },
        "POST /list?startAt=2",
        "{\"variables\":{}}",
        &[],
        None,
    ),
    (Paging::PageNumber { parameter: "page", size: 2 }, "POST /list?page=2", "{\"variables\":{}}", &[], None),
];

#[tokio::test]
async fn every_way_to_page_reads_every_page() {
    for (paging, line, body, headers, next) in CASES {
        let server = Server::start([page(&[1, 2], next, headers), page(&[2], None, &[])]).await;
        let client = Client(Http::new(Settings::default(), TestPace::new()).expect("a client"));
        let first = Request::new(Method::POST, server.at("list"), Resend::Safe);
        let first = first.with_json(&json!({"variables": {}}));
        let list = read_pages::<NumbersPage, _, _>(&client, "list", paging, first, |item| *item).await;
        assert_eq!(list.expect("two pages").items, [1, 2], "{paging:?}");
        assert_eq!(server.lines(), ["POST /list", line], "{paging:?}");
        assert_eq!(server.seen()[1].body, body, "{paging:?}");
    }
}

#[tokio::test]
async fn a_next_token_survives_a_304() {
    let headers = [("ETag", "\"1\""), ("X-Next", "t2")];
    let same = || Act::Say(answer(304, &[], ""));
    let last = page(&[3], None, &[("ETag", "\"2\"")]);
    let server = Server::start([page(&[1, 2], None, &headers), last, same(), same()]).await;
    let pace: Arc<dyn Pace> = TestPace::new();
    let client = Client(Http::new(Settings::default(), pace).expect("a client"));
    let paging = Paging::NextToken { header: "x-next", parameter: "token" };
    for unchanged in [false, true] {
        let first = Request::get(server.at("list"));
        let list = read_pages::<NumbersPage, _, _>(&client, "list", paging, first, |item| *item).await;
        let list = list.expect("two pages");
        assert_eq!((list.items.as_slice(), list.unchanged), ([1, 2, 3].as_slice(), unchanged));
    }
    assert!(server.is_done());
}
