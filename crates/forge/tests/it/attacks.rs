//! Attacks on the API, the pages and git, and that they have no effect.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::browser::{Browser, csrf, encode};
use crate::client::Client;
use crate::world::{World, git};

/// Markup that breaks out of text and attributes if it is not escaped.
const SCRIPT: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";

#[tokio::test(flavor = "multi_thread")]
async fn text_is_never_rendered_as_markup() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let pages = fill_with_script(&world, &owner, &repo).await;
    let mut me = Browser::signed_in(&world, &owner.token.clone().unwrap()).await;
    for path in pages {
        let page = me.page(&path).await;
        for bad in ["<script", "<img", "onerror=alert(1)>", "onerror=\"", "href=\"javascript:", "<svg onload"]
        {
            let clean = page.replace("&lt;script", "").replace("&lt;img src=x onerror=alert(1)&gt;", "");
            assert!(!clean.contains(bad), "{path}: {bad} in {page}");
        }
        assert!(page.contains("&lt;script&gt;"), "{path} shows what was written: {page}");
    }
}

/// Puts the script into every field; returns the pages that show it.
async fn fill_with_script(world: &World, owner: &Client, repo: &str) -> Vec<String> {
    owner.patch(repo, json!({"description": SCRIPT})).await.expect(200);
    let label = "<script>alert(1)</script>";
    owner.post(&format!("{repo}/labels"), json!({"name": label, "description": SCRIPT})).await.expect(201);
    let markdown = format!(
        "{SCRIPT}\n[x](javascript:alert(1))\n# {SCRIPT}\n- {SCRIPT}\n> {SCRIPT}\n`{SCRIPT}` **{SCRIPT}**\n```\n{SCRIPT}"
    );
    let issue = json!({"title": SCRIPT, "body": markdown, "labels": [label]});
    owner.post(&format!("{repo}/issues"), issue).await.expect(201);
    owner.patch(&format!("{repo}/issues/1"), json!({"title": format!("{SCRIPT}2")})).await.expect(200);
    owner.post(&format!("{repo}/issues/1/comments"), json!({"body": markdown})).await.expect(201);
    let tree = world.clone_of(repo, owner);
    tree.git(&["checkout", "--quiet", "-b", "<script>alert(1)</script>"]);
    std::fs::write(tree.place.join("<script>.txt"), format!("{SCRIPT}\n")).expect("a file");
    let sha = tree.commit("README.md", SCRIPT, SCRIPT);
    tree.git(&["push", "--quiet", "origin", "HEAD", "HEAD:main"]);
    // Git removes angle brackets from names.
    let author = "--author=x\" onerror=\"alert(1) <x@example.org>";
    tree.git(&["commit", "--quiet", "--allow-empty", author, "-m", SCRIPT]);
    std::fs::write(tree.place.join("<img src=x onerror=alert(1)>"), SCRIPT).expect("a file");
    let head = tree.commit("other.txt", SCRIPT, SCRIPT);
    tree.git(&["push", "--quiet", "origin", "HEAD"]);
    let wish = json!({"title": SCRIPT, "body": markdown, "head": label, "base": "main"});
    owner.post(&format!("{repo}/pulls"), wish).await.expect(201);
    let review = json!({"body": markdown, "event": "COMMENT", "comments": [
        {"path": "other.txt", "line": 1, "body": markdown},
    ]});
    owner.post(&format!("{repo}/pulls/2/reviews"), review).await.expect(200);
    let check = json!({
        "name": SCRIPT, "head_sha": head, "status": "completed", "conclusion": "failure",
        "details_url": "javascript:alert(1)", "output": {"title": SCRIPT, "summary": markdown, "text": SCRIPT},
    });
    let check = owner.post(&format!("{repo}/check-runs"), check).await.expect(201);
    let script = tree.commit(".pilot/ci.sh", &format!("cat <<'END'\n{SCRIPT}\nEND\nexit 1\n"), SCRIPT);
    tree.git(&["push", "--quiet", "origin", "HEAD:refs/heads/<b>ci"]);
    let checks = format!("{repo}/commits/{script}/check-runs");
    let ended = async || {
        let run = owner.get(&checks).await.expect(200)["check_runs"][0].clone();
        (run["status"] == "completed").then_some(run)
    };
    let ran = world.until("CI", ended).await;
    let status = json!({"state": "failure", "context": SCRIPT, "description": "<script>"});
    owner.post(&format!("{repo}/statuses/{head}"), status).await.expect(201);
    let release = json!({"tag_name": "<script>", "name": SCRIPT, "body": markdown});
    owner.post(&format!("{repo}/releases"), release).await.expect(201);
    [
        "".to_owned(),
        "/tree/main".to_owned(),
        format!("/blob/main/{}", encode("<script>.txt")),
        format!("/commit/{sha}"),
        "/issues".to_owned(),
        format!("/issues?labels={}", encode(label)),
        "/issues/new".to_owned(),
        "/issues/1".to_owned(),
        "/pulls".to_owned(),
        "/pull/2".to_owned(),
        "/pull/2/files".to_owned(),
        format!("/checks/{}", check["id"]),
        format!("/checks/{}", ran["id"]),
        format!("/commit/{script}"),
        "/releases".to_owned(),
        format!("/releases/tag/{}", encode("<script>")),
        "/activity".to_owned(),
    ]
    .into_iter()
    .map(|path| format!("/pilot/demo{path}"))
    .chain(["/".to_owned()])
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn request_paths_are_never_rendered_as_markup() {
    let world = World::new().await;
    let mut me = Browser::signed_in(&world, &world.me().token.unwrap()).await;
    let script = encode(SCRIPT);
    world.repo("demo").await;
    for path in [
        format!("/{script}"),
        format!("/pilot/{script}"),
        format!("/pilot/demo/issues?labels={script}"),
        format!("/pilot/demo/issues?page={script}&x={script}"),
        format!("/pilot/demo/blob/{script}/{script}"),
        format!("/login/{script}"),
        format!("/login?to={script}"),
    ] {
        let page = me.get(&path).await.text();
        assert!(!page.contains("<script") && !page.contains("<img"), "{path}: {page}");
    }
    let page = me.submit("/", "/", &[("name", SCRIPT), ("description", SCRIPT)]).await;
    assert_eq!(page.status, 422);
    assert!(!page.text().contains("<script"), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_forms_are_refused() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let token = owner.token.clone().unwrap();
    let (mut me, mut other) =
        (Browser::signed_in(&world, &token).await, Browser::signed_in(&world, &token).await);
    let own = csrf(&me.page("/pilot/demo/issues/new").await);
    let foreign = csrf(&other.page("/pilot/demo/issues/new").await);
    assert_ne!(own, foreign);
    let (path, title) = ("/pilot/demo/issues", ("title", "forged"));
    let own_token = ("csrf", own.as_str());
    let bearer = format!("Bearer {token}");
    type Pairs<'a> = Vec<(&'a str, &'a str)>;
    let attempts: [(&str, Pairs<'_>, Pairs<'_>); 9] = [
        ("no token", vec![], vec![title]),
        ("an empty token", vec![], vec![title, ("csrf", "")]),
        ("a wrong token", vec![], vec![title, ("csrf", "00")]),
        ("the token of another session", vec![], vec![title, ("csrf", &foreign)]),
        ("another origin", vec![("origin", "http://evil.example")], vec![title, own_token]),
        ("no origin at all", vec![("origin", "null")], vec![title, own_token]),
        ("another site", vec![("sec-fetch-site", "cross-site")], vec![title, own_token]),
        ("a token but no session", vec![("cookie", ""), ("authorization", &bearer)], vec![title, own_token]),
        ("no form", vec![("content-type", "text/plain")], vec![title, own_token]),
    ];
    for (what, headers, fields) in attempts {
        let answer = me.post(path, &headers, &fields).await;
        assert!([403, 415].contains(&answer.status), "{what}: {} {}", answer.status, answer.text());
    }
    for (what, path) in [("login", "/login"), ("logout", "/logout"), ("home", "/")] {
        let answer =
            me.post(path, &[("origin", "http://evil.example")], &[own_token, ("token", &token)]).await;
        assert_eq!(answer.status, 403, "{what}");
    }
    assert_eq!(
        owner.get(&format!("{repo}/issues?state=all")).await.expect(200),
        json!([]),
        "nothing was made"
    );
    // The API does not accept session cookies.
    let cookie = me.cookie.clone();
    let body = b"{\"title\":\"x\"}".to_vec();
    let (issues, headers) = (format!("{repo}/issues"), [("cookie", cookie.as_str())]);
    let tried = me.client.ask(Method::POST, &issues, &headers, Some(body)).await;
    assert_eq!(tried.expect("an answer").status, 401);
    let host = me.client.url.strip_prefix("http://").unwrap().to_owned();
    let fine = me.post(path, &[("origin", &format!("http://{host}"))], &[("title", "real"), own_token]).await;
    assert_eq!(fine.status, 303, "{}", fine.text());
}

/// Pages with a form, and the action of the form.
const FORMS: [(&str, &str); 10] = [
    ("/", "/"),
    ("/", "/logout"),
    ("/pilot/demo/issues/new", "/pilot/demo/issues"),
    ("/pilot/demo/issues/1", "/pilot/demo/issues/1/comments"),
    ("/pilot/demo/issues/1", "/pilot/demo/issues/1/labels"),
    ("/pilot/demo/pull/2", "/pilot/demo/issues/2/comments"),
    ("/pilot/demo/pull/2/files", "/pilot/demo/pull/2/reviews"),
    ("/pilot/demo/pull/2", "/pilot/demo/pull/2/merge"),
    ("/pilot/demo/releases", "/pilot/demo/releases"),
    ("/pilot/demo/checks/1", "/pilot/demo/checks/1/rerun"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_form_refuses_forgeries() {
    let world = World::with(|options| options.ci.command = Some("true".to_owned())).await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    owner.post(&format!("{repo}/issues"), json!({"title": "real"})).await.expect(201);
    let sha = world.clone_of(&repo, &owner).branch("one", "one.txt", "one");
    let wish = json!({"title": "One", "head": "one", "base": "main"});
    owner.post(&format!("{repo}/pulls"), wish).await.expect(201);
    let checks = format!("{repo}/commits/{sha}/check-runs");
    let done =
        async || (owner.get(&checks).await.json()["check_runs"][0]["status"] == "completed").then_some(());
    world.until("CI", done).await;
    let token = owner.token.clone().unwrap();
    let (mut me, mut other) =
        (Browser::signed_in(&world, &token).await, Browser::signed_in(&world, &token).await);
    let foreign = csrf(&other.page("/").await);
    let state = async || {
        let mut all = Vec::new();
        for path in [
            "issues?state=all",
            "issues/1/comments",
            "issues/2/comments",
            "pulls/2",
            "pulls/2/reviews",
            "releases",
            "actions/runs",
        ] {
            all.push(owner.get(&format!("{repo}/{path}")).await.expect(200));
        }
        all.push(owner.get("/user/repos").await.expect(200));
        all
    };
    let before = state().await;
    let fields = [
        ("name", "forged"),
        ("title", "forged"),
        ("body", "forged"),
        ("state", "closed"),
        ("new", "forged"),
        ("event", "COMMENT"),
        ("sha", &sha),
        ("method", "squash"),
        ("tag", "v9"),
    ];
    for (page, action) in FORMS {
        let page = me.page(page).await;
        assert!(page.contains(&format!("method=\"post\" action=\"{action}\"")), "{action} is on its page");
        let own = csrf(&page);
        for (what, headers, csrf) in [
            ("no token", vec![], ""),
            ("another session's token", vec![], foreign.as_str()),
            ("another origin", vec![("origin", "http://evil.example")], own.as_str()),
            ("another site", vec![("sec-fetch-site", "cross-site")], own.as_str()),
            ("text", vec![("content-type", "text/plain")], own.as_str()),
        ] {
            let mut all = vec![("csrf", csrf)];
            all.extend(fields);
            let answer = me.post(action, &headers, &all).await;
            assert!([403, 415].contains(&answer.status), "{action}, {what}: {}", answer.status);
        }
    }
    assert_eq!(state().await, before, "nothing was done");
    me.page("/pilot/demo").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_host_names_get_no_page() {
    let world = World::new().await;
    let token = world.me().token.unwrap();
    let me = Browser::signed_in(&world, &token).await;
    let host = me.client.url.strip_prefix("http://").unwrap();
    let port = host.rsplit(':').next().unwrap();
    for (name, expect) in [
        (format!("evil.example:{port}"), "421"),
        ("evil.example".to_owned(), "421"),
        (format!("localhost:{port}"), "200"),
    ] {
        let request =
            format!("GET / HTTP/1.1\r\nHost: {name}\r\nCookie: {}\r\nConnection: close\r\n\r\n", me.cookie);
        let answer = raw(&me.client, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expect}")), "{name}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_outside_the_root_are_not_reachable() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let token = owner.token.clone().unwrap();
    let mut me = Browser::signed_in(&world, &token).await;
    for path in [
        "/repos/../../token",
        "/repos/pilot/..%2F..%2Ftoken",
        "/repos/..%2F..%2Ftoken/demo",
        "/repos/pilot/demo/contents/..%2F..%2F..%2Ftoken",
        "/repos/pilot/demo/contents/../../token",
        "/repos/pilot/demo/contents/.git/config",
        "/repos/pilot/demo/contents//etc/passwd",
        "/repos/pilot/demo/contents/%00",
        "/repos/pilot/demo/git/ref/..%2F..%2FHEAD",
        "/repos/pilot/demo/git/ref/heads/..%2F..%2F..%2Ftoken",
        "/repos/pilot/demo/git/trees/..%2F..%2Ftoken",
        "/repos/pilot/demo/git/blobs/..%2F..%2Ftoken",
        "/repos/pilot/demo/commits/..%2F..%2Ftoken",
        "/repos/pilot/demo/releases/tags/..%2F..%2Ftoken",
        "/_forge/logs/..%2F..%2Ftoken/x",
        "/_forge/logs/1/../../token",
        "/pilot/demo.git/../../token",
        "/pilot/demo.git/objects/..%2F..%2F..%2Ftoken",
        "/pilot/..%2F..%2Ftoken/info/refs?service=git-upload-pack",
        "/..%2F..%2Ftoken/demo.git/info/refs?service=git-upload-pack",
        "/pilot/1.git/info/refs?service=git-upload-pack",
        "/assets/..%2Ftoken",
        "/assets/../token",
        "/pilot/demo/blob/main/..%2F..%2F..%2Ftoken",
        "/pilot/demo/blob/..%2F..%2Ftoken/x",
        "/pilot/demo/tree/main/.git",
        "/pilot/demo/checks/..%2F..%2Ftoken",
        // Must be decoded only once.
        "/repos/pilot/%252e%252e%252f%252e%252e%252ftoken",
        "/repos/%252e%252e%252ftoken/demo",
        "/repos/pilot/demo/contents/%252e%252e%252f%252e%252e%252ftoken",
        "/repos/pilot/demo/contents/x?ref=%252e%252e%252ftoken",
        "/repos/pilot/demo/git/ref/heads%252f..%252f..%252ftoken",
        "/repos/pilot/demo/compare/..%2F..%2Ftoken...main",
        "/repos/pilot/demo/compare/%252e%252e%252ftoken...main",
        "/pilot/%252e%252e%252f%252e%252e%252ftoken/info/refs?service=git-upload-pack",
        "/pilot/demo.git/info/refs?service=../../token",
        "/pilot/demo/blob/main/%252e%252e%252f%252e%252e%252ftoken",
        "/pilot/demo/blob/main/%2e%2e/%2e%2e/token",
        "/pilot/demo/tree/%252e%252e%252ftoken",
        "/pilot/demo/releases/tag/..%2F..%2Ftoken",
        "/_forge/logs/%252e%252e%252ftoken/x",
        "/assets/%252e%252e%252ftoken",
    ] {
        for answer in [owner.get(path).await, me.get(path).await] {
            assert!((300..500).contains(&answer.status), "{path}: {}", answer.status);
            let text = answer.text();
            assert!(!text.contains(&token) && !text.contains("root:"), "{path}: {text}");
        }
    }
    for name in ["../x", "a/b", "..", ".", "x.git", "-x", "a\0b", "a b"] {
        let made = owner.post("/user/repos", json!({"name": name})).await;
        assert_eq!(made.status, 422, "{name:?}: {}", made.text());
    }
    for path in ["../x", ".git/hooks/post-update", "a/../../x", "a/.GIT/config", "%2e%2e/x"] {
        let write = json!({"message": "x", "content": "eA=="});
        let made = owner.put(&format!("{repo}/contents/{}", encode(path)), write).await;
        assert!([404, 422].contains(&made.status) || path.starts_with('%'), "{path}: {}", made.status);
        let tree = json!({"tree": [{"path": path, "mode": "100644", "type": "blob", "content": "x"}]});
        let made = owner.post(&format!("{repo}/git/trees"), tree).await;
        assert!([404, 422].contains(&made.status) || path.starts_with('%'), "{path}: {}", made.status);
    }
    let done = git(&world.root().join("repos/1.git"), &["fsck", "--strict"]);
    assert!(done.ok, "{}", done.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_never_git_options() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let mark = world.home.path().join("mark");
    let touch = format!("touch {}", mark.display());
    let output = format!("--output={}", mark.display());
    let names = [
        format!("--upload-pack={touch}"),
        format!("--exec={touch}"),
        format!("-oProxyCommand={touch}"),
        format!("ext::sh -c '{touch}'"),
        format!("$({touch})"),
        format!("`{touch}`"),
        format!("x; {touch}"),
        format!("x\n{touch}"),
        output.clone(),
        "--help".to_owned(),
        "-".to_owned(),
        "@{-1}".to_owned(),
        ":/x".to_owned(),
    ];
    for name in &names {
        let path = encode(name);
        for answer in [
            owner.post(&format!("{repo}/git/refs"), json!({"ref": name, "sha": "0".repeat(40)})).await,
            owner.post(&format!("{repo}/pulls"), json!({"title": "x", "head": name, "base": "main"})).await,
            owner.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "main", "base": name})).await,
            owner.post(&format!("{repo}/releases"), json!({"tag_name": name})).await,
            owner
                .post(&format!("{repo}/releases"), json!({"tag_name": "v9", "target_commitish": name}))
                .await,
            owner
                .put(
                    &format!("{repo}/contents/f"),
                    json!({"message": "x", "content": "eA==", "branch": name}),
                )
                .await,
            owner.patch(&repo, json!({"default_branch": name})).await,
            owner.get(&format!("{repo}/contents?ref={path}")).await,
            owner.get(&format!("{repo}/commits?sha={path}")).await,
            owner.get(&format!("{repo}/commits/{path}")).await,
            owner.get(&format!("{repo}/commits/{path}/status")).await,
            owner.get(&format!("{repo}/compare/{path}...main")).await,
            owner.get(&format!("{repo}/git/ref/{path}")).await,
            owner.get(&format!("{repo}/git/trees/{path}")).await,
            owner.get(&format!("{repo}/branches/{path}")).await,
        ] {
            assert!((400..500).contains(&answer.status), "{name:?}: {} {}", answer.status, answer.text());
        }
    }
    // Git itself accepts such branches.
    let tree = world.clone_of(&repo, &owner);
    for name in ["refs/heads/--upload-pack=x", "refs/heads/-x", "refs/tags/--output=x"] {
        let said = tree.git_fails(&["push", "origin", &format!("HEAD:{name}")]);
        assert!(said.contains("must not begin with a dash"), "{said}");
    }
    // Fields for free text accept the names without effect.
    for name in &names {
        owner.get(&format!("{repo}/git/matching-refs/{}", encode(name))).await;
        owner.get(&format!("{repo}/commits?path={}", encode(name))).await;
        let message = json!({"message": name, "content": "eA==", "committer": {"name": name, "email": name}});
        owner.put(&format!("{repo}/contents/{}", uuid::Uuid::now_v7()), message).await;
        let headers = [("git-protocol", output.as_str()), ("content-encoding", "gzip")];
        let asked =
            owner.ask(Method::GET, "/pilot/demo.git/info/refs?service=git-upload-pack", &headers, None);
        assert_eq!(asked.await.expect("an answer").status, 200);
    }
    assert!(!mark.exists(), "a command was run");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_refused() {
    let world = World::new().await;
    let owner = world.me();
    owner
        .post("/user/repos", json!({"name": "secret", "private": true, "auto_init": true}))
        .await
        .expect(201);
    let token = owner.token.clone().unwrap();
    for wrong in ["x", &token[..token.len() - 1], &format!("{token}x"), &token.to_uppercase(), "' OR 1=1 --"]
    {
        let answer = owner.with_token(wrong).get("/repos/pilot/secret").await;
        assert_eq!(answer.status, 401, "{wrong:?}");
    }
    assert_eq!(owner.anonymous().get("/repos/pilot/secret").await.status, 404);
    assert_eq!(
        owner.anonymous().get("/pilot/secret.git/info/refs?service=git-upload-pack").await.status,
        401
    );
    for path in ["/_forge/requests", "/_forge/faults"] {
        assert_eq!(owner.anonymous().get(path).await.status, 401, "{path}");
        assert_eq!(world.user(&format!("bob{}", path.len())).await.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_requests_are_refused() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let host = owner.url.strip_prefix("http://").unwrap().to_owned();
    let head = |more: &str| format!("GET /user HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
    let long = head(&format!("X-Long: {}\r\n", "x".repeat(200 << 10)));
    let many = head(&"X-Many: x\r\n".repeat(500));
    let far = format!("GET /{} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", "x".repeat(200 << 10));
    for (what, request) in [("a long header", long), ("many headers", many), ("a long address", far)] {
        let answer = raw(&owner, request.as_bytes()).await;
        let refused =
            ["HTTP/1.1 431", "HTTP/1.1 414", "HTTP/1.1 400"].iter().any(|status| answer.starts_with(status));
        assert!(refused || answer.is_empty(), "{what}: {answer}");
    }
    let body = vec![b'x'; 26 << 20];
    let answer = owner.ask(Method::POST, &format!("{repo}/issues"), &[], Some(body)).await;
    assert!(answer.is_none_or(|answer| answer.status == 413), "a body larger than any may be");
    let mut me = Browser::signed_in(&world, &owner.token.clone().unwrap()).await;
    let form = csrf(&me.page("/pilot/demo/issues/new").await);
    let text = "x".repeat(70_000);
    let answer =
        me.post("/pilot/demo/issues", &[], &[("csrf", &form), ("title", "x"), ("body", &text)]).await;
    assert_eq!(answer.status, 422, "a form with too much text");
    assert!(answer.text().contains("readonly") && answer.text().contains(&text), "the input is shown again");
    let body = [b"csrf=&title=".to_vec(), vec![b'x'; 26 << 20]].concat();
    let headers = [("cookie", me.cookie.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    let answer = me.client.ask(Method::POST, "/pilot/demo/issues", &headers, Some(body)).await;
    assert!(answer.is_none_or(|answer| [403, 413].contains(&answer.status)), "a form larger than any may be");
    let deep = format!("{{\"title\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let answer = owner.ask(Method::POST, &format!("{repo}/issues"), &[], Some(deep.into_bytes())).await;
    assert_eq!(answer.expect("an answer").status, 400, "brackets in brackets");
    let title = owner.post(&format!("{repo}/issues"), json!({"title": "x".repeat(257)})).await;
    assert_eq!(title.status, 422);
    let body = owner.post(&format!("{repo}/issues"), json!({"title": "x", "body": "x".repeat(65_537)})).await;
    assert_eq!(body.status, 422);
    assert_eq!(owner.get("/user").await.status, 200, "the forge still answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_smuggling_is_refused() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let (host, token) = (owner.url.strip_prefix("http://").unwrap().to_owned(), owner.token.clone().unwrap());
    let hidden = format!(
        "POST {repo}/issues HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {token}\r\nContent-Length: 18\r\n\r\n{{\"title\":\"hidden\"}}"
    );
    let start = format!("POST /user/x HTTP/1.1\r\nHost: {host}\r\n");
    let length = hidden.len();
    for (what, request) in [
        ("two lengths", format!("{start}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{hidden}")),
        ("two lengths in one", format!("{start}Content-Length: 0, {length}\r\n\r\n{hidden}")),
        ("a length that is none", format!("{start}Content-Length: +0\r\n\r\n{hidden}")),
        ("a coding that is none", format!("{start}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}")),
        (
            "chunked, but not at the end",
            format!("{start}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a space before the colon",
            format!("{start}Transfer-Encoding : chunked\r\nContent-Length: {length}\r\n\r\n{hidden}"),
        ),
        ("a chunk of a wrong size", format!("{start}Transfer-Encoding: chunked\r\n\r\nzz\r\n{hidden}")),
        ("a header on two lines", format!("{start}Content-Length:\r\n {length}\r\n\r\n{hidden}")),
    ] {
        let answer = raw(&owner, request.as_bytes()).await;
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1 && !answer.contains("HTTP/1.1 201"), "{what}: {answer}");
    }
    let made = owner.get(&format!("{repo}/issues?state=all")).await.expect(200);
    assert_eq!(made, json!([]), "no hidden request was processed");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_block_others() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    let host = owner.url.strip_prefix("http://").unwrap();
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(b"POST /user/repos HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
        slow.push(stream);
    }
    for _ in 0..200 {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = format!("POST {repo}/issues HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    for number in 1..=5 {
        let made = owner.post(&format!("{repo}/issues"), json!({"title": "in time"})).await.expect(201);
        assert_eq!(made["number"], number);
    }
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_accept_only_http_urls() {
    let world = World::new().await;
    let (owner, repo) = (world.me(), world.repo("demo").await);
    for url in ["file:///etc/passwd", "gopher://x", "javascript:alert(1)", "", "http://", "http://x\r\nX: y"]
    {
        let hook = json!({"config": {"url": url}, "events": ["push"]});
        let made = owner.post(&format!("{repo}/hooks"), hook).await;
        assert_eq!(made.status, 422, "{url:?}: {}", made.text());
    }
    assert_eq!(owner.get(&format!("{repo}/hooks")).await.expect(200), Value::Array(Vec::new()));
}

/// Sends bytes; returns what the server sends until it closes the connection or five seconds pass.
async fn raw(client: &Client, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(client.url.strip_prefix("http://").expect("plain HTTP"))
        .await
        .expect("it listens");
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(request).await;
    let mut bytes = Vec::new();
    // A server that waits for more input sends nothing; that is a valid result.
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
