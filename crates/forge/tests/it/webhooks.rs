//! Webhooks: signatures, stored deliveries, retries.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::world::{World, until};

/// A server that receives webhooks.
struct Receiver {
    url: String,
    got: Arc<Mutex<VecDeque<Delivery>>>,
    /// The number of requests to refuse.
    refusals: Arc<Mutex<u32>>,
    _server: JoinSet<()>,
}

#[derive(Clone, Debug)]
struct Delivery {
    headers: HeaderMap,
    body: Bytes,
}

impl Delivery {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn name(&self) -> String {
        let json = self.json();
        match json["action"].as_str() {
            Some(action) => format!("{}.{action}", self.header("x-github-event")),
            None => self.header("x-github-event").to_owned(),
        }
    }
}

impl Receiver {
    async fn new() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it works");
        let url = format!("http://{}/hook?x=1", listener.local_addr().expect("it works"));
        let (got, refusals) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let mut server = JoinSet::new();
        let (into, refuse) = (Arc::clone(&got), Arc::clone(&refusals));
        server.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("it works");
                let (into, refuse) = (Arc::clone(&into), Arc::clone(&refuse));
                let take = service_fn(move |request: Request<Incoming>| {
                    receive(request, Arc::clone(&into), Arc::clone(&refuse))
                });
                let _ = http1::Builder::new()
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), take)
                    .await;
            }
        });
        Receiver { url, got, refusals, _server: server }
    }

    fn refuse(&self, times: u32) {
        *self.refusals.lock().expect("it works") = times;
    }

    /// The next accepted delivery.
    async fn next(&self) -> Delivery {
        until("a webhook", async || self.got.lock().expect("it works").pop_front()).await
    }

    /// The names of all deliveries up to and including this one.
    async fn names_until(&self, last: &str) -> Vec<String> {
        let mut words = Vec::new();
        while words.last().is_none_or(|word| word != last) {
            words.push(self.next().await.name());
        }
        words
    }
}

async fn receive(
    request: Request<Incoming>,
    into: Arc<Mutex<VecDeque<Delivery>>>,
    refuse: Arc<Mutex<u32>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let refused = {
        let mut left = refuse.lock().expect("it works");
        let refused = *left > 0;
        *left = left.saturating_sub(1);
        refused
    };
    let mut response = Response::new(Full::new(Bytes::from_static(b"thanks")));
    if refused {
        *response.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
    } else {
        into.lock().expect("it works").push_back(Delivery { headers: parts.headers, body });
    }
    Ok(response)
}

async fn hook(me: &Client, repo: &str, receiver: &Receiver, events: Value) -> i64 {
    let config = json!({"url": receiver.url, "content_type": "json", "secret": "shh"});
    let made =
        me.post(&format!("{repo}/hooks"), json!({"config": config, "events": events})).await.expect(201);
    assert_eq!(made["config"]["secret"], "********", "a secret is not shown");
    let id = made["id"].as_i64().expect("it works");
    assert_eq!(receiver.next().await.header("x-github-event"), "ping");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_signed_stored_and_redelivered() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let receiver = Receiver::new().await;
    let id = hook(&me, &repo, &receiver, json!(["issues"])).await;
    me.post(&format!("{repo}/issues"), json!({"title": "x", "labels": ["pilot"]})).await.expect(201);
    let got = receiver.next().await;
    assert_eq!(got.name(), "issues.opened");
    assert_eq!(got.json()["issue"]["labels"][0]["name"], "pilot");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"shh").unwrap();
    mac.update(&got.body);
    let digest: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(got.header("x-hub-signature-256"), format!("sha256={digest}"));
    assert_eq!(receiver.next().await.name(), "issues.labeled");

    let deliveries = format!("{repo}/hooks/{id}/deliveries");
    let listed = until("all deliveries", async || {
        let listed = me.get(&deliveries).await.expect(200);
        (listed.as_array().unwrap().len() == 3).then_some(listed)
    })
    .await;
    let opened = listed.as_array().unwrap().iter().find(|item| item["action"] == "opened").unwrap();
    assert_eq!(opened["guid"], got.header("x-github-delivery"));
    let one = format!("{deliveries}/{}", opened["id"]);
    let shown = me.get(&one).await.expect(200);
    assert_eq!(shown["response"]["payload"], "thanks");
    assert_eq!(shown["request"]["payload"]["issue"]["number"], 1);
    me.post(&format!("{one}/attempts"), json!({})).await.expect(202);
    let again = receiver.next().await;
    assert_eq!(again.header("x-github-delivery"), got.header("x-github-delivery"));
    assert_eq!(again.body, got.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_events() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let receiver = Receiver::new().await;
    hook(&me, &repo, &receiver, json!(["push", "create", "delete", "pull_request", "release"])).await;
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    assert_eq!(receiver.names_until("push").await, ["create", "push"]);
    me.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "one", "base": "main"})).await.expect(201);
    assert_eq!(receiver.next().await.name(), "pull_request.opened");
    let after = tree.commit("b", "b", "Second");
    tree.git(&["push", "--quiet", "origin", "one"]);
    let push = receiver.next().await.json();
    assert_eq!(
        (push["after"].as_str(), push["ref"].as_str()),
        (Some(after.as_str()), Some("refs/heads/one"))
    );
    assert_eq!(push["commits"][0]["added"], json!(["b"]));
    assert_eq!(receiver.next().await.name(), "pull_request.synchronize");
    me.put(&format!("{repo}/pulls/1/merge"), json!({"merge_method": "squash"})).await.expect(200);
    let closed = receiver.next().await;
    assert_eq!(
        (closed.name().as_str(), closed.json()["pull_request"]["merged"].as_bool()),
        ("pull_request.closed", Some(true))
    );
    assert_eq!(receiver.next().await.name(), "push");
    tree.git(&["push", "--quiet", "origin", ":one"]);
    assert_eq!(receiver.names_until("push").await, ["delete", "push"]);
    me.post(&format!("{repo}/releases"), json!({"tag_name": "v1"})).await.expect(201);
    assert_eq!(receiver.names_until("release.published").await, ["create", "push", "release.published"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ci_events() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let receiver = Receiver::new().await;
    hook(&me, &repo, &receiver, json!(["check_run", "check_suite", "workflow_run", "status"])).await;
    world.clone_of(&repo, &me).branch("one", ".pilot/ci.sh", "true");
    let expect = [
        "check_suite.requested",
        "workflow_run.requested",
        "check_run.created",
        "workflow_run.in_progress",
        "check_run.completed",
        "check_suite.completed",
        "workflow_run.completed",
    ];
    assert_eq!(receiver.names_until("workflow_run.completed").await, expect);
    me.post(&format!("{repo}/statuses/one"), json!({"state": "success"})).await.expect(201);
    assert_eq!(receiver.next().await.name(), "status");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_deliveries_are_retried_three_times() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let receiver = Receiver::new().await;
    let id = hook(&me, &repo, &receiver, json!(["issues"])).await;
    receiver.refuse(1);
    me.post(&format!("{repo}/issues"), json!({"title": "x"})).await.expect(201);
    assert_eq!(receiver.next().await.name(), "issues.opened", "the second attempt");
    receiver.refuse(3);
    me.post(&format!("{repo}/issues"), json!({"title": "y"})).await.expect(201);
    until("three refusals", async || (*receiver.refusals.lock().unwrap() == 0).then_some(())).await;
    me.post(&format!("{repo}/hooks/{id}/pings"), json!({})).await;
    assert_eq!(receiver.next().await.name(), "ping", "a failed delivery does not block the next one");
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_lost_duplicated_and_reordered() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let receiver = Receiver::new().await;
    hook(&me, &repo, &receiver, json!(["issues"])).await;
    let plan = json!({"webhooks": [
        {"event": "issues", "calls": [1], "fault": "lose"},
        {"event": "issues", "calls": [2], "fault": "duplicate"},
        {"event": "iss*", "calls": [3], "fault": "reorder"},
    ]});
    assert_eq!(me.put("/_forge/faults", plan).await.status, 204);
    for title in ["lost", "twice", "late", "plain"] {
        me.post(&format!("{repo}/issues"), json!({"title": title})).await.expect(201);
    }
    let mut titles = Vec::new();
    for _ in 0..4 {
        titles.push(receiver.next().await.json()["issue"]["title"].as_str().unwrap().to_owned());
    }
    assert_eq!(titles, ["twice", "twice", "plain", "late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_webhooks_are_refused() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let bob = world.user("bob").await;
    let hooks = format!("{repo}/hooks");
    for body in [
        json!({}),
        json!({"config": {}}),
        json!({"config": {"url": "https://example.org"}}),
        json!({"config": {"url": "file:///etc/passwd"}}),
        json!({"config": {"url": "http://x", "content_type": "xml"}}),
        json!({"config": {"url": "http://x"}, "events": ["a b"]}),
    ] {
        me.post(&hooks, body.clone()).await.expect(422);
    }
    bob.get(&hooks).await.expect(403);
    // A closed port: the delivery fails and is listed as failed.
    let made = me
        .post(&hooks, json!({"config": {"url": "http://127.0.0.1:1/", "content_type": "form"}}))
        .await
        .expect(201);
    let deliveries = format!("{hooks}/{}/deliveries", made["id"]);
    let failed =
        until("a failure", async || me.get(&deliveries).await.expect(200)[0].as_object().cloned()).await;
    assert_eq!((failed["status_code"].as_i64(), failed["status"].as_str()), (Some(0), Some("failed")));
    assert_eq!(me.delete(&format!("{hooks}/{}", made["id"])).await.status, 204);
    me.get(&deliveries).await.expect(404);
}
