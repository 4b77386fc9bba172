//! The web pages in a browser without scripts.

use serde_json::json;

use crate::browser::{Browser, csrf};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn users_sign_in_with_a_token_and_out() {
    let world = World::new().await;
    world.repo("demo").await;
    let token = world.me().token.unwrap();
    let mut browser = Browser::new(&world);
    let sent_away = browser.get("/pilot/demo/issues?state=closed").await;
    assert_eq!(
        (sent_away.status, sent_away.header("location")),
        (303, "/login?to=%2Fpilot%2Fdemo%2Fissues%3Fstate%3Dclosed")
    );
    let wrong = browser.submit("/login", "/login", &[("token", "wrong")]).await;
    assert_eq!(wrong.status, 403);
    assert!(wrong.text().contains("This token is not known"), "{}", wrong.text());
    let before = browser.cookie.clone();
    let fields = [("token", token.as_str()), ("to", "/pilot/demo/issues")];
    let right = browser.submit("/login", "/login", &fields).await;
    assert_eq!((right.status, right.header("location")), (303, "/pilot/demo/issues"));
    assert_ne!(browser.cookie, before, "a session has a new cookie");
    let set = right.header("set-cookie");
    assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Lax"), "{set}");
    assert!(browser.page("/").await.contains("pilot/<b>demo</b>"));
    let kept = browser.cookie.clone();
    browser.submit("/", "/logout", &[]).await;
    browser.cookie = kept;
    assert_eq!(browser.get("/").await.status, 303, "the cookie of an ended session is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once() {
    let world = World::new().await;
    let link = world.sign_in_link();
    let mut first = Browser::new(&world);
    assert_eq!(first.get(&link).await.status, 303);
    assert_eq!(first.get("/").await.status, 200);
    let mut second = Browser::new(&world);
    let refused = second.get(&link).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("This link was used before"));
    assert_eq!(second.get("/").await.status, 303);
    assert_eq!(first.get(&link).await.status, 303, "a signed-in user is redirected");
}

#[tokio::test(flavor = "multi_thread")]
async fn issues_are_created_labelled_discussed_and_closed() {
    let world = World::new().await;
    let token = world.me().token.unwrap();
    let mut me = Browser::signed_in(&world, &token).await;
    let made = me
        .submit_and_follow("/", "/", &[("name", "demo"), ("description", "By hand"), ("auto_init", "1")])
        .await;
    assert!(made.contains("By hand") && made.contains("git clone http://"), "{made}");
    world.me().post("/repos/pilot/demo/labels", json!({"name": "pilot"})).await.expect(201);
    let new = "/pilot/demo/issues/new";
    let fields = [("title", "It breaks"), ("body", "- one\n- two"), ("label", "pilot")];
    let issue = me.submit_and_follow(new, "/pilot/demo/issues", &fields).await;
    assert!(issue.contains("It breaks") && issue.contains("<li>one</li>"), "{issue}");
    let page = "/pilot/demo/issues/1";
    let said = me.submit_and_follow(page, "/pilot/demo/issues/1/comments", &[("body", "I see it too")]).await;
    assert!(said.contains("I see it too"), "{said}");
    let nothing = me.submit(page, "/pilot/demo/issues/1/comments", &[("body", " ")]).await;
    assert_eq!(nothing.status, 422);
    me.submit_and_follow(page, "/pilot/demo/issues/1/labels", &[("label", "pilot"), ("new", "bug")]).await;
    me.submit_and_follow(page, "/pilot/demo/issues/1/comments", &[("body", "Done."), ("state", "closed")])
        .await;
    let now = world.me().get("/repos/pilot/demo/issues/1").await.expect(200);
    let labels: Vec<&str> =
        now["labels"].as_array().unwrap().iter().filter_map(|label| label["name"].as_str()).collect();
    assert_eq!(
        (now["state"].as_str(), labels, now["comments"].as_i64()),
        (Some("closed"), vec!["pilot", "bug"], Some(2))
    );
    assert!(me.page("/pilot/demo/issues").await.contains("No issues here"));
    assert!(me.page("/pilot/demo/issues?state=closed&labels=bug").await.contains("It breaks"));
    me.submit_and_follow(page, "/pilot/demo/issues/1/comments", &[("state", "open")]).await;
    let activity = me.page("/pilot/demo/activity").await;
    for words in ["opened this again", "opened <a href=\"/pilot/demo/issues/1\">#1"] {
        assert!(activity.contains(words), "{words}: {activity}");
    }
    let missing = me.submit(new, "/pilot/demo/issues", &[("title", ""), ("body", "a long text")]).await;
    assert_eq!(missing.status, 422);
    assert!(missing.text().contains("a long text"), "the input is shown again");
}

#[tokio::test(flavor = "multi_thread")]
async fn non_text_files_are_described() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &owner);
    std::os::unix::fs::symlink("/etc/passwd", tree.place.join("link")).unwrap();
    for (name, bytes) in [("empty", vec![]), ("binary", vec![0, 1, 2]), ("large", vec![b'x'; 1 << 21])] {
        std::fs::write(tree.place.join(name), bytes).unwrap();
    }
    tree.commit("long", &"line\n".repeat(20_001), "Files");
    tree.git(&["push", "--quiet", "origin", "main"]);
    let mut me = Browser::signed_in(&world, &owner.token.clone().unwrap()).await;
    for (name, words) in [
        ("link", "A link to <code>/etc/passwd</code>"),
        ("empty", "This file is empty."),
        ("binary", "Not a text."),
        ("large", "Too large to be shown."),
        ("long", "And more."),
    ] {
        let page = me.page(&format!("/pilot/demo/blob/main/{name}")).await;
        assert!(page.contains(words) && !page.contains("root:"), "{name}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_form_shows_the_error_and_a_link_back() {
    let world = World::new().await;
    world.repo("demo").await;
    let mut me = Browser::signed_in(&world, &world.me().token.unwrap()).await;
    let host = me.client.url.clone();
    let own = csrf(&me.page("/pilot/demo/releases").await);
    let fields =
        [("csrf", own.as_str()), ("tag", "v1"), ("target", "no-such-branch"), ("body", "much <work>")];
    let path = "/pilot/demo/releases";
    for (referer, back) in [
        (format!("{host}/pilot/demo/releases?page=2"), Some("/pilot/demo/releases?page=2")),
        ("http://evil.example/pilot/demo".to_owned(), None),
        (format!("{host}.evil.example/"), Some("/")),
        (format!("{host}//evil.example/"), Some("/")),
        ("javascript:alert(1)".to_owned(), None),
    ] {
        let answer = me.post(path, &[("referer", &referer)], &fields).await;
        let page = answer.text();
        assert_eq!(answer.status, 422, "{page}");
        let link = page.split_once("<a class=\"button main\" href=\"").map(|(_, rest)| rest);
        assert_eq!(link.and_then(|rest| rest.split('"').next()), back, "{referer}: {page}");
        assert!(
            page.contains("The branch or commit is not valid.") && page.contains("much &lt;work&gt;"),
            "{page}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_are_read_reviewed_and_merged() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let ann = world.user("ann").await;
    owner.put(&format!("{repo}/collaborators/ann"), json!({"permission": "push"})).await;
    let sha = world.clone_of(&repo, &owner).branch("one", ".pilot/ci.sh", "echo 'all is well'\n");
    let wish = json!({"title": "One", "head": "one", "base": "main"});
    ann.post(&format!("{repo}/pulls"), wish).await.expect(201);
    let mut me = Browser::signed_in(&world, &owner.token.clone().unwrap()).await;
    assert!(me.page("/pilot/demo/pulls").await.contains("/pilot/demo/pull/1"));
    let checks = world
        .until("a check that passed", async || {
            let found = owner.get(&format!("{repo}/commits/{sha}/check-runs")).await.expect(200);
            (found["check_runs"][0]["conclusion"] == "success").then_some(found)
        })
        .await;
    let log = me.page(&format!("/pilot/demo/checks/{}", checks["check_runs"][0]["id"])).await;
    assert!(log.contains("all is well"), "{log}");
    let files = me.page("/pilot/demo/pull/1/files").await;
    assert!(files.contains("+echo &#39;all is well&#39;"), "{files}");
    let fields = [("body", "Good."), ("event", "APPROVE")];
    let after = me.submit_and_follow("/pilot/demo/pull/1/files", "/pilot/demo/pull/1/reviews", &fields).await;
    assert!(after.contains("approved") && after.contains("Ready to merge"), "{after}");
    // A merge is refused when the head moved since the page was loaded.
    let stale = [("sha", "0000000000000000000000000000000000000000"), ("method", "squash")];
    assert_eq!(me.submit("/pilot/demo/pull/1", "/pilot/demo/pull/1/merge", &stale).await.status, 409);
    let fresh = [("sha", sha.as_str()), ("method", "squash")];
    let merged = me.submit_and_follow("/pilot/demo/pull/1", "/pilot/demo/pull/1/merge", &fresh).await;
    assert!(merged.contains("Merged"), "{merged}");
    let fields = [("tag", "v1.0.0"), ("name", "One"), ("body", "**New**")];
    let released = me.submit_and_follow("/pilot/demo/releases", "/pilot/demo/releases", &fields).await;
    assert!(released.contains("<strong>New</strong>"), "{released}");
    for path in [
        "/pilot/demo/releases/tag/v1.0.0",
        "/pilot/demo/blob/main/.pilot/ci.sh",
        "/pilot/demo/tree/main/.pilot",
    ] {
        me.page(path).await;
    }
    assert!(me.page(&format!("/pilot/demo/commit/{sha}")).await.contains(".pilot/ci.sh"));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_respect_permissions() {
    let world = World::new().await;
    let owner = world.me();
    owner
        .post("/user/repos", json!({"name": "secret", "private": true, "auto_init": true}))
        .await
        .expect(201);
    let repo = world.repo("open").await;
    owner.post(&format!("{repo}/issues"), json!({"title": "Mine"})).await.expect(201);
    let bob = world.user("bob").await;
    let mut bob = Browser::signed_in(&world, &bob.token.unwrap()).await;
    for path in
        ["/pilot/secret", "/pilot/secret/issues", "/pilot/nothing", "/nobody", "/pilot/open/issues/99"]
    {
        assert_eq!(bob.get(path).await.status, 404, "{path}");
    }
    let page = bob.page("/pilot/open/issues/1").await;
    assert!(!page.contains("value=\"closed\"") && !page.contains("New label"), "{page}");
    let refused =
        bob.submit("/pilot/open/issues/1", "/pilot/open/issues/1/comments", &[("state", "closed")]).await;
    assert_eq!(refused.status, 403);
    assert_eq!(owner.get(&format!("{repo}/issues/1")).await.expect(200)["state"], "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_security_headers() {
    let world = World::new().await;
    world.repo("demo").await;
    let mut me = Browser::signed_in(&world, &world.me().token.unwrap()).await;
    for path in [
        "/",
        "/pilot/demo",
        "/pilot/demo/issues/new",
        "/nothing/here",
        "/assets/forge.css",
        "/assets/forge.svg",
    ] {
        let answer = me.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
    }
    let page = me.page("/pilot/demo/issues/new").await;
    assert!(!page.contains("<script") && !page.contains(" style=") && !page.contains(" on"), "{page}");
    let forms = page.matches("<form").count();
    assert_eq!(page.matches("name=\"csrf\"").count(), forms, "every form holds the session's token");
    assert_eq!(csrf(&page).len(), 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_api_paths_are_not_pages() {
    let world = World::new().await;
    for path in ["/repos/x", "/user/nothing", "/search/x", "/repos/pilot/demo", "/graphql", "/users/a/b"] {
        let answer = world.me().get(path).await;
        assert_eq!((answer.status, answer.json()["message"].as_str()), (404, Some("Not Found")), "{path}");
    }
}
