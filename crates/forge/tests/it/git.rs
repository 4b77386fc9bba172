//! Git clients, and git through the API.

use hyper::Method;
use serde_json::json;

use crate::world::{World, clone_url, git};

#[tokio::test(flavor = "multi_thread")]
async fn full_shallow_and_partial_clones() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    for number in 0..5 {
        tree.commit("file", &number.to_string(), &format!("Commit {number}"));
    }
    tree.git(&["push", "--quiet", "origin", "main"]);
    let url = clone_url(&repo, &me);
    for (place, flags, commits) in [
        ("deep", vec![], "6"),
        ("shallow", vec!["--depth=2"], "2"),
        ("partial", vec!["--filter=blob:none"], "6"),
    ] {
        let place = world.home.path().join(place);
        let mut args = vec!["clone", "--quiet"];
        args.extend(flags);
        args.extend([url.as_str(), place.to_str().unwrap()]);
        let done = git(world.home.path(), &args);
        assert!(done.ok, "{}", done.text);
        assert_eq!(git(&place, &["rev-list", "--count", "HEAD"]).text.trim(), commits);
    }
    let anonymous = clone_url(&repo, &me.anonymous());
    assert!(git(world.home.path(), &["ls-remote", &anonymous]).ok, "a public repository needs no token");
    assert!(git(world.home.path(), &["-c", "protocol.version=0", "ls-remote", &anonymous]).ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_pushes_are_streamed() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    // Incompressible data, larger than git's post buffer.
    let mut noise = vec![0_u8; 8 << 20];
    let mut state = 7_u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = state.to_be_bytes()[0];
    }
    std::fs::write(tree.place.join("noise"), &noise).unwrap();
    let sha = tree.commit("x", "x", "Noise");
    tree.git(&["push", "--quiet", "origin", "main"]);
    assert_eq!(
        me.get(&format!("{repo}/git/ref/heads/main")).await.expect(200)["object"]["sha"],
        sha.as_str()
    );
    let copy = world.clone_of(&repo, &me);
    assert_eq!(std::fs::read(copy.place.join("noise")).unwrap(), noise);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_need_a_token_and_a_public_ref() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    tree.commit("x", "x", "x");
    let anonymous = clone_url(&repo, &me.anonymous());
    tree.git_fails(&["push", &anonymous, "main"]);
    tree.git_fails(&["push", &clone_url(&repo, &me.with_token("wrong")), "main"]);
    let refused = tree.git_fails(&["push", "origin", "main:refs/pull/9/head"]);
    assert!(refused.contains("hidden ref"), "{refused}");
    let before = me.get(&format!("{repo}/commits")).await.expect(200);
    assert_eq!(before.as_array().unwrap().len(), 1, "nothing arrived");
    assert_eq!(me.get("/pilot/demo.git/HEAD").await.status, 404, "files are not served");
    assert_eq!(me.get("/pilot/demo.git/info/refs").await.status, 403, "nor is the old protocol");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_and_written() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let file = format!("{repo}/contents/dir/a b.txt").replace(' ', "%20");
    let made = me.put(&file, json!({"message": "make", "content": "b25l"})).await.expect(201);
    let sha = made["content"]["sha"].as_str().unwrap().to_owned();
    assert_eq!(made["content"]["path"], "dir/a b.txt");
    me.put(&file, json!({"message": "again", "content": "dHdv"})).await.expect(422);
    me.put(&file, json!({"message": "again", "content": "dHdv", "sha": "0".repeat(40)})).await.expect(409);
    me.put(&file, json!({"message": "again", "content": "dHdv", "sha": sha})).await.expect(200);
    let shown = me.get(&file).await.expect(200);
    assert_eq!((shown["content"].as_str(), shown["type"].as_str()), (Some("dHdv\n"), Some("file")));
    let raw =
        me.ask(Method::GET, &file, &[("accept", "application/vnd.github.raw+json")], None).await.unwrap();
    assert_eq!(raw.text(), "two");
    let list = me.get(&format!("{repo}/contents/dir")).await.expect(200);
    assert_eq!(list[0]["name"], "a b.txt");
    assert_eq!(me.get(&format!("{repo}/contents")).await.expect(200).as_array().unwrap().len(), 2);
    let gone = json!({"message": "gone", "sha": shown["sha"]}).to_string().into_bytes();
    let removed = me.ask(Method::DELETE, &file, &[], Some(gone)).await.unwrap().expect(200);
    assert!(removed["content"].is_null());
    me.get(&file).await.expect(404);
    let commits = me.get(&format!("{repo}/commits?path=dir")).await.expect(200);
    assert_eq!(commits.as_array().unwrap().len(), 3);
    me.put(&format!("{repo}/contents/x"), json!({"message": "m", "content": "no base64!"})).await.expect(422);
    // Files over 1 MiB have no content in JSON.
    let large = format!("{repo}/contents/large");
    let zeros = "AAAA".repeat(400_000);
    me.put(&large, json!({"message": "large", "content": zeros})).await.expect(201);
    let shown = me.get(&large).await.expect(200);
    assert_eq!((shown["encoding"].as_str(), shown["size"].as_i64()), (Some("none"), Some(1_200_000)));
    let raw = me.ask(Method::GET, &large, &[("accept", "application/vnd.github.raw")], None).await.unwrap();
    assert_eq!(raw.body.len(), 1_200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_and_objects() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let main = me.get(&format!("{repo}/git/ref/heads/main")).await.expect(200)["object"]["sha"].clone();
    let base = me.get(&format!("{repo}/git/commits/{}", main.as_str().unwrap())).await.expect(200);
    let tree = json!({"base_tree": base["tree"]["sha"], "tree": [
        {"path": "new.txt", "mode": "100644", "type": "blob", "content": "new"},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": null},
    ]});
    let tree = me.post(&format!("{repo}/git/trees"), tree).await.expect(201);
    assert_eq!(tree["tree"].as_array().unwrap().len(), 1, "one added, one removed");
    let commit = json!({"message": "By hand", "tree": tree["sha"], "parents": [main]});
    let commit = me.post(&format!("{repo}/git/commits"), commit).await.expect(201)["sha"].clone();
    let refs = format!("{repo}/git/refs");
    me.post(&refs, json!({"ref": "refs/heads/a/b", "sha": commit})).await.expect(201);
    me.post(&refs, json!({"ref": "refs/heads/a/b", "sha": commit})).await.expect(422);
    me.post(&refs, json!({"ref": "refs/heads/c", "sha": "1".repeat(40)})).await.expect(422);
    me.post(&refs, json!({"ref": "refs/heads/c", "sha": tree["sha"]})).await.expect(422);
    let one = format!("{refs}/heads/a/b");
    me.patch(&one, json!({"sha": main})).await.expect(422);
    me.patch(&one, json!({"sha": main, "force": true})).await.expect(200);
    let compared = me.get(&format!("{repo}/compare/main...{}", commit.as_str().unwrap())).await.expect(200);
    assert_eq!((compared["status"].as_str(), compared["ahead_by"].as_i64()), (Some("ahead"), Some(1)));
    assert_eq!(
        me.get(&format!("{repo}/git/matching-refs/heads/a")).await.expect(200).as_array().unwrap().len(),
        1
    );
    assert_eq!(me.delete(&one).await.status, 204);
    me.delete(&one).await.expect(422);
    me.delete(&format!("{refs}/heads/main")).await.expect(422);
    let tag = json!({"tag": "v1", "message": "One", "object": main, "type": "commit"});
    let tag = me.post(&format!("{repo}/git/tags"), tag).await.expect(201);
    me.post(&refs, json!({"ref": "refs/tags/v1", "sha": tag["sha"]})).await.expect(201);
    assert_eq!(me.get(&format!("{repo}/tags")).await.expect(200)[0]["commit"]["sha"], main);
    let done = git(&world.root().join("repos/1.git"), &["fsck", "--strict"]);
    assert!(done.ok, "{}", done.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn diffs_and_patches_as_text() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    let first = tree.git(&["rev-parse", "HEAD"]);
    let sha = tree.branch("one", "one.txt", "one\n");
    me.post(&format!("{repo}/pulls"), json!({"title": "One", "head": "one", "base": "main"}))
        .await
        .expect(201);
    let as_text = async |path: &str, form: &str| {
        let accept = format!("application/vnd.github.{form}");
        let answer =
            me.ask(Method::GET, &format!("{repo}/{path}"), &[("accept", &accept)], None).await.unwrap();
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, format!("{accept}; charset=utf-8").as_str())
        );
        answer.text()
    };
    for path in ["pulls/1".to_owned(), format!("commits/{sha}"), "compare/main...one".to_owned()] {
        let diff = as_text(&path, "diff").await;
        assert!(
            diff.starts_with("diff --git a/one.txt b/one.txt\n") && diff.ends_with("+one\n"),
            "{path}: {diff}"
        );
        let patch = as_text(&path, "patch").await;
        assert!(patch.starts_with(&format!("From {sha} ")), "{path}: {patch}");
        assert!(patch.contains("\nSubject: [PATCH] Change one.txt\n"), "{path}: {patch}");
    }
    assert!(as_text(&format!("commits/{first}"), "patch").await.starts_with(&format!("From {first} ")));
    assert_eq!(as_text("commits/one", "sha").await, sha);
    // Git accepts the patch.
    let patch_file = world.home.path().join("one.patch");
    std::fs::write(&patch_file, as_text("pulls/1", "patch").await).unwrap();
    tree.git(&["checkout", "--quiet", "-B", "again", "origin/main"]);
    tree.git(&["am", "--quiet", patch_file.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(tree.place.join("one.txt")).unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_create_their_tags() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let releases = format!("{repo}/releases");
    me.get(&format!("{releases}/latest")).await.expect(404);
    let made =
        me.post(&releases, json!({"tag_name": "v1.0.0", "name": "One", "body": "first"})).await.expect(201);
    let main = me.get(&format!("{repo}/commits/main")).await.expect(200)["sha"].clone();
    assert_eq!(me.get(&format!("{repo}/git/ref/tags/v1.0.0")).await.expect(200)["object"]["sha"], main);
    let again = me.post(&releases, json!({"tag_name": "v1.0.0"})).await.expect(422);
    assert_eq!(again["errors"][0]["code"], "already_exists");
    me.post(&releases, json!({"tag_name": "-x"})).await.expect(422);
    let draft = me.post(&releases, json!({"tag_name": "v2", "draft": true})).await.expect(201);
    me.get(&format!("{repo}/git/ref/tags/v2")).await.expect(404);
    let one = format!("{releases}/{}", draft["id"]);
    me.anonymous().get(&one).await.expect(404);
    me.patch(&one, json!({"draft": false})).await.expect(200);
    me.get(&format!("{repo}/git/ref/tags/v2")).await.expect(200);
    assert_eq!(me.get(&format!("{releases}/latest")).await.expect(200)["tag_name"], "v2");
    assert_eq!(me.get(&format!("{releases}/tags/v1.0.0")).await.expect(200)["id"], made["id"]);
    assert_eq!(me.delete(&one).await.status, 204);
}
