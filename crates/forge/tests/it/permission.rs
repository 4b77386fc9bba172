//! Permissions and the errors without them.

use serde_json::json;

use crate::world::{World, clone_url, git};

#[tokio::test(flavor = "multi_thread")]
async fn requests_need_valid_tokens() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    assert_eq!(me.with_token("wrong").get("/user").await.expect(401)["message"], "Bad credentials");
    me.anonymous().get("/user").await.expect(401);
    me.anonymous().get(&repo).await.expect(200);
    me.anonymous().post(&format!("{repo}/issues"), json!({"title": "x"})).await.expect(401);
    me.anonymous().post("/_forge/users", json!({"login": "x"})).await.expect(401);
    let other = world.user("bob").await;
    other.get("/_forge/requests").await.expect(404);
    other.post("/_forge/users", json!({"login": "x"})).await.expect(404);
}

/// `download_url` serves the file, only to users who may see the repository.
#[tokio::test(flavor = "multi_thread")]
async fn raw_files_need_read_permission() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    for (name, content, kind) in [
        ("a.PNG", "iVBORw0KGgo=", "image/png"),
        ("b.html", "PHNjcmlwdD4=", "text/plain; charset=utf-8"),
        ("c.svg", "PHN2Zz4=", "text/plain; charset=utf-8"),
    ] {
        let file = json!({"message": "m", "content": content});
        let made = me.put(&format!("{repo}/contents/{name}"), file).await.expect(201);
        let url = made["content"]["download_url"].as_str().expect("an address");
        let path = url.strip_prefix(&me.url).expect("of this forge");
        let got = me.get(path).await;
        assert_eq!((got.status, got.header("content-type")), (200, kind), "{name}");
        assert!(got.header("content-security-policy").contains("sandbox"), "{name}");
        assert_eq!(me.anonymous().get(path).await.body, got.body, "{name}");
    }
    let raw = |path: &str| format!("{}/raw/{path}", repo.replacen("/repos", "", 1));
    assert_eq!(&me.get(&raw("main/a.PNG")).await.body[..], b"\x89PNG\r\n\x1a\n");
    for path in ["main/none", "nowhere/a.PNG", "main/..%2f..%2fforge.db", "main/.git/config", "main/%00"] {
        assert_eq!(me.get(&raw(path)).await.status, 404, "{path}");
    }
    me.patch(&repo, json!({"private": true})).await.expect(200);
    assert_eq!(me.anonymous().get(&raw("main/a.PNG")).await.status, 404);
    assert_eq!(world.user("eve").await.get(&raw("main/a.PNG")).await.status, 404);
    assert_eq!(me.get(&raw("main/a.PNG")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_permission_level_allows_more() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let bob = world.user("bob").await;
    let role = async || me.get(&format!("{repo}/collaborators/bob/permission")).await.expect(200);
    me.post(&format!("{repo}/issues"), json!({"title": "x"})).await.expect(201);

    assert_eq!(role().await["permission"], "read");
    bob.post(&format!("{repo}/issues"), json!({"title": "by bob", "labels": ["pilot"]})).await.expect(201);
    assert_eq!(
        me.get(&format!("{repo}/issues/2")).await.expect(200)["labels"],
        json!([]),
        "labels are ignored"
    );
    bob.post(&format!("{repo}/issues/1/labels"), json!({"labels": ["a"]})).await.expect(403);
    bob.patch(&format!("{repo}/issues/1"), json!({"state": "closed"})).await.expect(403);
    bob.patch(&format!("{repo}/issues/2"), json!({"state": "closed"})).await.expect(200);

    assert_eq!(
        me.put(&format!("{repo}/collaborators/bob"), json!({"permission": "triage"})).await.status,
        201
    );
    assert_eq!(role().await["role_name"], "triage");
    bob.post(&format!("{repo}/issues/1/labels"), json!({"labels": ["a"]})).await.expect(200);
    let file = json!({"message": "m", "content": "eA=="});
    bob.put(&format!("{repo}/contents/x"), file.clone()).await.expect(403);

    assert_eq!(me.put(&format!("{repo}/collaborators/bob"), json!({"permission": "push"})).await.status, 204);
    bob.put(&format!("{repo}/contents/x"), file).await.expect(201);
    bob.patch(&repo, json!({"archived": true})).await.expect(403);
    me.delete(&format!("{repo}/collaborators/bob")).await;
    assert_eq!(role().await["permission"], "read");
}

#[tokio::test(flavor = "multi_thread")]
async fn private_repositories_are_hidden_from_others() {
    let world = World::new().await;
    let me = world.me();
    me.post("/user/repos", json!({"name": "secret", "private": true, "auto_init": true})).await.expect(201);
    let (repo, bob) = ("/repos/pilot/secret", world.user("bob").await);
    for who in [&bob, &me.anonymous()] {
        who.get(repo).await.expect(404);
        who.get(&format!("{repo}/issues")).await.expect(404);
        assert!(!git(world.home.path(), &["ls-remote", &clone_url(repo, who)]).ok);
    }
    assert!(git(world.home.path(), &["ls-remote", &clone_url(repo, &me)]).ok);
    me.put(&format!("{repo}/collaborators/bob"), json!({"permission": "pull"})).await;
    bob.get(repo).await.expect(200);
    let tree = world.clone_of(repo, &bob);
    tree.commit("x", "x", "x");
    assert!(tree.git_fails(&["push", "origin", "main"]).contains("403"));
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_and_renamed_repositories() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    me.patch(&repo, json!({"name": "better"})).await.expect(200);
    let moved = me.get(&format!("{repo}/issues?state=all")).await;
    assert_eq!(moved.status, 301);
    let target = moved.header("location").strip_prefix(&me.url).unwrap().to_owned();
    assert_eq!(target, "/repositories/1/issues?state=all");
    me.get(&target).await.expect(200);
    assert_eq!(me.post(&format!("{repo}/issues"), json!({"title": "x"})).await.status, 307);
    tree.commit("x", "x", "x");
    tree.git(&["push", "--quiet", "origin", "main"]);
    let repo = "/repos/pilot/better";
    me.patch(repo, json!({"archived": true})).await.expect(200);
    let refused = me.post(&format!("{repo}/issues"), json!({"title": "x"})).await.expect(403);
    assert_eq!(refused["message"], "Repository was archived so is read-only.");
    tree.commit("y", "y", "y");
    tree.git_fails(&["push", "origin", "main"]);
    me.patch(repo, json!({"archived": false})).await.expect(200);
    tree.git(&["push", "--quiet", "origin", "main"]);
}
