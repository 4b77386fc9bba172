//! The faults of the plan, and the request log.

use hyper::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, Client};
use crate::world::{World, numbers};

const ISSUES: &str = "/repos/{owner}/{repo}/issues";

async fn plan(me: &Client, rule: Value) {
    let mut rule = rule;
    rule["route"] = ISSUES.into();
    assert_eq!(me.put("/_forge/faults", json!({"rules": [rule]})).await.status, 204);
}

async fn try_post(me: &Client, repo: &str) -> Option<Answer> {
    let body = json!({"title": "x"}).to_string().into_bytes();
    me.ask(Method::POST, &format!("{repo}/issues"), &[], Some(body)).await
}

/// All bytes of the response, however the connection ends.
async fn raw_post(me: &Client, repo: &str) -> String {
    let mut stream =
        TcpStream::connect(me.url.strip_prefix("http://").expect("plain HTTP")).await.expect("it listens");
    let token = me.token.as_deref().expect("a token");
    let body = "{\"title\": \"x\"}";
    let head = format!("POST {repo}/issues HTTP/1.1\r\nHost: x\r\nAuthorization: token {token}\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.expect("it listens");
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said).await;
    String::from_utf8_lossy(&said).into_owned()
}

async fn count(me: &Client, repo: &str) -> usize {
    me.get(&format!("{repo}/issues")).await.expect(200).as_array().expect("it is there").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_break_before_and_after_processing() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    plan(&me, json!({"method": "POST", "fault": "refuse", "calls": [1]})).await;
    assert!(try_post(&me, &repo).await.is_none());
    assert_eq!(count(&me, &repo).await, 0, "refused before processing");
    try_post(&me, &repo).await.unwrap().expect(201);
    plan(&me, json!({"method": "POST", "fault": "lose_reply", "calls": [1]})).await;
    assert!(try_post(&me, &repo).await.is_none());
    assert_eq!(count(&me, &repo).await, 2, "processed, but the reply was lost");
    plan(&me, json!({"method": "POST", "fault": "reset_mid_body"})).await;
    let said = raw_post(&me, &repo).await;
    let (head, body) = said.split_once("\r\n\r\n").expect("the head comes");
    assert!(head.starts_with("HTTP/1.1 201"), "{head}");
    let promised = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let promised: usize = promised.parse().unwrap();
    assert_eq!(body.len(), promised / 2, "half of what was promised");
    assert_eq!(count(&me, &repo).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_replaced() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    plan(&me, json!({"method": "POST", "fault": "truncated_json"})).await;
    let cut = try_post(&me, &repo).await.unwrap();
    assert_eq!((cut.status, cut.json()), (201, Value::Null));
    plan(&me, json!({"method": "POST", "fault": "html", "status": 502})).await;
    let page = try_post(&me, &repo).await.unwrap();
    assert_eq!((page.status, page.header("content-type")), (502, "text/html; charset=utf-8"));
    plan(&me, json!({"method": "POST", "fault": "delay", "ms": 30})).await;
    try_post(&me, &repo).await.unwrap().expect(201);
    for (status, reason, words) in [
        (301, "rights", "Moved Permanently"),
        (401, "rights", "Bad credentials"),
        (403, "rights", "Resource not accessible"),
        (403, "primary_limit", "API rate limit exceeded"),
        (403, "secondary_limit", "secondary rate limit"),
        (403, "archived", "archived"),
        (404, "rights", "Not Found"),
        (409, "rights", "Conflict"),
        (410, "rights", "disabled"),
        (422, "rights", "Validation Failed"),
        (429, "secondary_limit", "secondary rate limit"),
        (500, "rights", "Server Error"),
        (503, "rights", "Service unavailable"),
    ] {
        let rule = json!({"method": "POST", "fault": "status", "status": status, "reason": reason, "retry_after": 7});
        plan(&me, rule).await;
        let answer = try_post(&me, &repo).await.unwrap();
        assert_eq!(answer.status, status);
        assert!(answer.json()["message"].as_str().unwrap().contains(words), "{status} {reason}");
        assert_eq!(answer.header("retry-after"), "7");
        assert_eq!(
            answer.header("x-ratelimit-limit"),
            "100000",
            "the rate limit is that of the requesting user"
        );
        if reason == "primary_limit" {
            assert_eq!(answer.header("x-ratelimit-remaining"), "0");
        }
    }
    assert_eq!(count(&me, &repo).await, 2, "none of these had an effect");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_stale_incomplete_and_shifted() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let list = format!("{repo}/issues");
    plan(&me, json!({"method": "GET", "fault": "stale_read", "calls": [2]})).await;
    assert_eq!(count(&me, &repo).await, 0);
    try_post(&me, &repo).await.unwrap().expect(201);
    assert_eq!(count(&me, &repo).await, 0, "stale");
    assert_eq!(count(&me, &repo).await, 1);
    for _ in 0..4 {
        try_post(&me, &repo).await.unwrap().expect(201);
    }
    plan(&me, json!({"method": "GET", "fault": "without_newest", "calls": [1]})).await;
    assert_eq!(numbers(&me.get(&list).await.expect(200)), [4, 3, 2, 1]);
    for (by, expect) in [(1, [2, 1]), (-1, [4, 3])] {
        plan(&me, json!({"method": "GET", "fault": "page_drift", "by": by})).await;
        assert_eq!(numbers(&me.get(&format!("{list}?per_page=2")).await.expect(200)), [5, 4]);
        assert_eq!(numbers(&me.get(&format!("{list}?per_page=2&page=2")).await.expect(200)), expect);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_has_an_offset() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let before = try_post(&me, &repo).await.unwrap().expect(201)["created_at"].as_str().unwrap().to_owned();
    me.put("/_forge/faults", json!({"clock_skew_ms": -86_400_000})).await;
    let answer = try_post(&me, &repo).await.unwrap();
    let header = answer.header("date").to_owned();
    let after = answer.expect(201)["created_at"].as_str().unwrap().to_owned();
    assert!(after < before, "{after} {before}");
    let day = |iso: &str| iso[8..10].to_owned();
    assert_eq!((&header[5..7], header.ends_with(" GMT")), (day(&after).as_str(), true), "{header} {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_apply_to_git_calls() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    let sha = tree.commit("a", "a", "a");
    let push = |fault: &str| json!({"rules": [{"route": "/{owner}/{git}/git-receive-pack", "fault": fault}]});
    me.put("/_forge/faults", push("refuse")).await;
    tree.git_fails(&["push", "origin", "main"]);
    let main = async || me.get(&format!("{repo}/commits/main")).await.expect(200)["sha"].clone();
    assert_ne!(main().await, sha.as_str());
    me.put("/_forge/faults", push("lose_reply")).await;
    tree.git_fails(&["push", "origin", "main"]);
    world.until("the push", async || (main().await == sha.as_str()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_logged_and_counted() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let start = me.get("/_forge/requests").await.expect(200)["total"].as_u64().unwrap();
    plan(&me, json!({"method": "POST", "fault": "lose_reply", "calls": [2]})).await;
    for _ in 0..3 {
        try_post(&me, &repo).await;
    }
    let log = me.get(&format!("/_forge/requests?since={start}&method=post&route={ISSUES}")).await.expect(200);
    assert_eq!(log["count"], 3);
    let entry = &log["requests"][1];
    assert_eq!((entry["fault"].as_str(), entry["user"].as_str()), (Some("lose_reply"), Some("pilot")));
    plan(&me, json!({"method": "POST", "fault": "status", "status": 500})).await;
    try_post(&me, &repo).await;
    let log = me.get("/_forge/requests").await.expect(200);
    let entry = log["requests"].as_array().unwrap().iter().rev().find(|entry| !entry["fault"].is_null());
    assert_eq!(entry.unwrap()["user"], "pilot", "also for faulted requests");
    plan(&me, json!({"method": "POST", "fault": "lose_reply", "calls": [2]})).await;
    let bad =
        me.put("/_forge/faults", json!({"rules": [{"route": "*", "fault": "explode"}]})).await.expect(422);
    assert!(bad["message"].as_str().unwrap().contains("line 1 column"), "{bad}");
    me.put("/_forge/faults", json!({"rules": [{"route": "/nope", "fault": "refuse"}]})).await.expect(422);
    assert_eq!(
        me.get("/_forge/faults").await.expect(200)["rules"][0]["fault"],
        "lose_reply",
        "an invalid plan changes nothing"
    );
}
