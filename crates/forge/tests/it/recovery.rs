//! Recovery after a crash.

use std::time::Duration;

use serde_json::json;

use crate::world::{World, git};

#[tokio::test(flavor = "multi_thread")]
async fn confirmed_changes_survive_a_crash() {
    let mut world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.post(&format!("{repo}/issues"), json!({"title": "kept"})).await.expect(201);
    let sha = world.clone_of(&repo, &me).branch("one", "a", "a");
    me.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "one", "base": "main"})).await.expect(201);
    world.crash();
    world.start().await;
    let me = world.me();
    assert_eq!(me.get(&format!("{repo}/issues/1")).await.expect(200)["title"], "kept");
    assert_eq!(me.get(&format!("{repo}/pulls/2")).await.expect(200)["head"]["sha"], sha.as_str());
    world.stop().await;
    world.start().await;
    world.me().get(&format!("{repo}/issues/1")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_that_moved_during_a_crash_are_reconciled() {
    let mut world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.post(&format!("{repo}/issues"), json!({"title": "to close"})).await.expect(201);
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    me.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "one", "base": "main"})).await.expect(201);
    world.crash();
    // The state after a crash between git and the database in a push.
    let bare = world.root().join("repos/1.git");
    let new = tree.commit("b", "b", "Closes #1");
    tree.git(&["push", "--quiet", bare.to_str().unwrap(), "one"]);
    tree.git(&["push", "--quiet", bare.to_str().unwrap(), "one:main"]);
    // Leftovers of git processes that were killed.
    std::fs::write(bare.join("refs/heads/one.lock"), "").unwrap();
    std::fs::create_dir(world.root().join("repos/draft-x.git")).unwrap();
    std::fs::create_dir(world.root().join("repos/99.git")).unwrap();
    world.start().await;
    let me = world.me();
    let pull = me.get(&format!("{repo}/pulls/2")).await.expect(200);
    assert_eq!(pull["merged"], true, "its head is on its base");
    assert_eq!(me.get(&format!("{repo}/issues/1")).await.expect(200)["state"], "closed");
    me.patch(&format!("{repo}/git/refs/heads/one"), json!({"sha": new})).await.expect(200);
    assert_eq!(
        std::fs::read_dir(world.root().join("repos")).unwrap().count(),
        1,
        "directories without a row are removed"
    );
    let done = git(&bare, &["fsck", "--strict"]);
    assert!(done.ok, "{}", done.text);
}

/// A client that disconnects must not interrupt its request: git would leave locks behind.
#[tokio::test(flavor = "multi_thread")]
async fn requests_complete_after_the_client_disconnects() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    for number in 0..24 {
        let name = format!("b{number}");
        tree.git(&["checkout", "--quiet", "-B", &name, "origin/main"]);
        tree.commit(&name, &name, &name);
        tree.git(&["push", "--quiet", "origin", &name]);
        let body = json!({"title": "x", "head": name, "base": "main"});
        me.post_and_disconnect(&format!("{repo}/pulls"), &body, Duration::from_millis(number)).await;
    }
    let pulls = format!("{repo}/pulls?per_page=100");
    let all = async || (me.get(&pulls).await.expect(200).as_array().map(Vec::len) == Some(24)).then_some(());
    world.until("every pull request", all).await;
    let refs = git(&world.root().join("repos/1.git"), &["for-each-ref", "refs/pull/*/head"]).text;
    assert_eq!(refs.lines().count(), 24, "{refs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_runs_start_again() {
    let mut world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let gate = world.home.path().join("gate");
    let script = format!("echo begun; while [ ! -e {} ]; do sleep 0.02; done", gate.display());
    let sha = world.clone_of(&repo, &me).branch("one", ".pilot/ci.sh", &script);
    let runs = format!("{repo}/actions/runs?head_sha={sha}");
    let status = async |world: &World| {
        let found = world.me().get(&runs).await.expect(200);
        found["workflow_runs"][0]["status"].as_str().unwrap_or_default().to_owned()
    };
    world.until("a run", async || (status(&world).await == "in_progress").then_some(())).await;
    world.crash();
    world.start().await;
    world.until("the run again", async || (status(&world).await == "in_progress").then_some(())).await;
    std::fs::write(&gate, "").unwrap();
    world.until("its end", async || (status(&world).await == "completed").then_some(())).await;
    let found = world.me().get(&runs).await.expect(200);
    assert_eq!(
        (found["total_count"].as_i64(), found["workflow_runs"][0]["conclusion"].as_str()),
        (Some(1), Some("success"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_forges_do_not_share_a_root() {
    let world = World::new().await;
    let options = pilot_forge::Options::new(world.root(), env!("PATH"));
    let refused = pilot_forge::Forge::start(options).await.expect_err("the root is locked");
    assert!(refused.to_string().contains("another forge is running there"), "{refused}");
    for (user, token) in
        [("a/b", None), ("repos", None), ("ok", Some("short")), ("ok", Some("with space and more"))]
    {
        let home = tempfile::tempdir().unwrap();
        let mut options = pilot_forge::Options::new(home.path(), env!("PATH"));
        options.user = user.to_owned();
        options.token = token.map(str::to_owned);
        assert!(pilot_forge::Forge::start(options).await.is_err(), "{user} {token:?}");
    }
}
