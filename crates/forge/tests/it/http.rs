//! HTTP behaviour of all routes: headers, ETags, rate limits, error bodies, size limits.

use hyper::Method;
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn replies_have_githubs_headers() {
    let world = World::new().await;
    let me = world.me();
    let answer = me.get("/user").await;
    assert_eq!(answer.header("content-type"), "application/json; charset=utf-8");
    assert_eq!(answer.header("x-github-media-type"), "github.v3; format=json");
    assert_eq!(answer.header("x-ratelimit-limit"), "100000");
    assert_eq!(answer.header("x-ratelimit-used"), "1");
    assert_eq!(answer.header("x-ratelimit-resource"), "core");
    assert_ne!(answer.header("x-github-request-id"), me.get("/user").await.header("x-github-request-id"));
    let missing = me.get("/no/such/thing").await;
    assert_eq!(missing.status, 404);
    let body = missing.json();
    assert_eq!((body["message"].as_str(), body["status"].as_str()), (Some("Not Found"), Some("404")));
    assert!(body["documentation_url"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_304_has_no_body_and_does_not_count() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let list = format!("{repo}/issues");
    let first = me.get(&list).await;
    let (tag, used) = (first.header("etag").to_owned(), first.header("x-ratelimit-used").to_owned());
    let again = me.ask(Method::GET, &list, &[("if-none-match", &tag)], None).await.unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("x-ratelimit-used"), used);
    me.post(&list, json!({"title": "New"})).await.expect(201);
    let changed = me.ask(Method::GET, &list, &[("if-none-match", &tag)], None).await.unwrap();
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_limit_is_enforced() {
    let world = World::with(|options| options.rate_limit = 3).await;
    let me = world.me();
    for left in ["2", "1", "0"] {
        assert_eq!(me.get("/user").await.header("x-ratelimit-remaining"), left);
    }
    let refused = me.get("/user").await;
    assert_eq!((refused.status, refused.header("x-ratelimit-remaining")), (403, "0"));
    assert!(refused.json()["message"].as_str().unwrap().starts_with("API rate limit exceeded"));
    let limit = me.get("/rate_limit").await.expect(200);
    assert_eq!(limit["resources"]["core"]["remaining"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_validated_and_limited() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let path = format!("{repo}/issues");
    for (body, status) in [
        (b"{\"title\"".to_vec(), 400),
        (b"\"text\"".to_vec(), 400),
        (vec![0xff, 0xfe], 400),
        (b"{\"title\": {}}".to_vec(), 422),
        (b"{\"title\": \"x\", \"labels\": 7}".to_vec(), 422),
        (vec![b' '; (25 << 20) + 1], 413),
    ] {
        let answer = me.ask(Method::POST, &path, &[], Some(body)).await.expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let long = "x".repeat(1 << 20);
    let answer = me.ask(Method::GET, "/user", &[("x-long", &long)], None).await;
    assert!(answer.is_none_or(|answer| answer.status == 431), "refused, or the connection was closed");
    me.get("/user").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_names_are_refused() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    for name in ["../x", "a/b", ".", "..", "x.git", "-x", "--upload-pack=touch", "a b", ""] {
        me.post("/user/repos", json!({"name": name})).await.expect(422);
    }
    for path in [
        "/repos/pilot/..%2F..%2Fetc",
        "/repos/..%2F..%2Fetc/passwd",
        "/repos/pilot/demo/contents/..%2F..%2Fconfig",
        "/repos/pilot/demo/contents/.git%2Fconfig",
        "/repos/pilot/demo/git/ref/heads/--upload-pack=x",
        "/repos/pilot/demo/git/ref/heads/..%2F..%2Fconfig",
        "/repos/pilot/demo/branches/-x",
        "/pilot/..%2Fdemo.git/info/refs?service=git-upload-pack",
    ] {
        me.get(path).await.expect(404);
    }
    let sha = me.get(&format!("{repo}/git/ref/heads/main")).await.expect(200)["object"]["sha"].clone();
    for name in
        ["refs/heads/--x", "refs/heads/-x", "refs/heads/a..b", "refs/pull/1/head", "main", "refs/heads/a b"]
    {
        me.post(&format!("{repo}/git/refs"), json!({"ref": name, "sha": sha})).await.expect(422);
    }
    for head in ["--output=x", "main:main", "eve:main", "-"] {
        let body = json!({"title": "x", "head": head, "base": "main"});
        me.post(&format!("{repo}/pulls"), body).await.expect(422);
    }
    me.get(&format!("{repo}/commits/--output=x")).await.expect(422);
    me.get(&format!("{repo}/compare/main...--output=x")).await.expect(404);
}
