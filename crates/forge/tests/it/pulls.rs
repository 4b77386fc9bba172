//! Pull requests from branch to merge.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::{World, numbers};

/// Opens a pull request to main.
async fn open(me: &Client, repo: &str, head: &str, body: &str) -> Value {
    let body = json!({"title": format!("Pull {head}"), "head": head, "base": "main", "body": body});
    me.post(&format!("{repo}/pulls"), body).await.expect(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_squashed_and_closes_its_issue() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.post(&format!("{repo}/issues"), json!({"title": "Add a file"})).await.expect(201);
    let tree = world.clone_of(&repo, &me);
    let head = tree.branch("pilot/GH-1", "a.txt", "one\ntwo\n");
    let made = open(&me, &repo, "pilot/GH-1", "Closes #1").await;
    assert_eq!((made["number"].as_i64(), made["head"]["sha"].as_str()), (Some(2), Some(head.as_str())));
    assert_eq!((made["additions"].as_i64(), made["changed_files"].as_i64()), (Some(2), Some(1)));

    let pull = format!("{repo}/pulls/2");
    let files = me.get(&format!("{pull}/files")).await.expect(200);
    assert_eq!((files[0]["filename"].as_str(), files[0]["status"].as_str()), (Some("a.txt"), Some("added")));
    assert_eq!(files[0]["patch"], "@@ -0,0 +1,2 @@\n+one\n+two");
    assert_eq!(me.get(&format!("{pull}/commits")).await.expect(200)[0]["sha"], head.as_str());
    let found = me.get(&format!("{repo}/pulls?head=pilot:pilot/GH-1&state=open")).await.expect(200);
    assert_eq!(numbers(&found), [2]);

    let merged =
        me.put(&format!("{pull}/merge"), json!({"merge_method": "squash", "sha": head})).await.expect(200);
    let sha = merged["sha"].as_str().unwrap();
    let shown = me.get(&pull).await.expect(200);
    assert_eq!((shown["merged"].as_bool(), shown["state"].as_str()), (Some(true), Some("closed")));
    assert_eq!(shown["merge_commit_sha"], sha);
    assert_eq!(shown["additions"], 2, "the diff is still known");
    assert_eq!(me.get(&format!("{repo}/issues/1")).await.expect(200)["state"], "closed");
    let closed = me.get(&format!("{repo}/issues/1/events")).await.expect(200);
    assert_eq!(closed[0]["commit_id"], sha);
    tree.git(&["fetch", "--quiet"]);
    assert_eq!(tree.git(&["rev-parse", "origin/main"]), sha);
    assert_eq!(tree.git(&["log", "-1", "--format=%s", sha]), "Change a.txt (#2)");
    assert_eq!(tree.git(&["rev-list", "--count", "origin/main"]), "2");
    let of_commit = me.get(&format!("{repo}/commits/{sha}/pulls")).await.expect(200);
    assert_eq!(numbers(&of_commit), [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_merge_methods() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    for (number, method, parents, commits) in
        [(1, "merge", 2, "3"), (2, "squash", 1, "4"), (3, "rebase", 1, "6")]
    {
        tree.branch(method, &format!("{method}.txt"), "x");
        if method == "rebase" {
            tree.commit("second.txt", "x", "Second");
            tree.git(&["push", "--quiet", "origin", "rebase"]);
        }
        open(&me, &repo, method, "").await;
        let done = me
            .put(&format!("{repo}/pulls/{number}/merge"), json!({"merge_method": method}))
            .await
            .expect(200);
        let sha = done["sha"].as_str().unwrap();
        let commit = me.get(&format!("{repo}/commits/{sha}")).await.expect(200);
        assert_eq!(commit["parents"].as_array().unwrap().len(), parents, "{method}");
        tree.git(&["fetch", "--quiet"]);
        assert_eq!(tree.git(&["rev-list", "--count", "origin/main"]), commits, "{method}");
    }
    me.patch(&repo, json!({"allow_merge_commit": false})).await.expect(200);
    tree.branch("last", "last.txt", "x");
    open(&me, &repo, "last", "").await;
    let refused =
        me.put(&format!("{repo}/pulls/4/merge"), json!({"merge_method": "merge"})).await.expect(405);
    assert_eq!(refused["message"], "Merge commits are not allowed on this repository.");
    me.put(&format!("{repo}/pulls/4/merge"), json!({"merge_method": "octopus"})).await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_pull_requests_are_refused() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    open(&me, &repo, "one", "").await;
    tree.git(&["push", "--quiet", "origin", "origin/main:refs/heads/same"]);
    for (head, base, words) in [
        ("one", "main", "A pull request already exists for pilot:one."),
        ("same", "main", "No commits between main and same"),
    ] {
        let body = json!({"title": "x", "head": head, "base": base});
        let refused = me.post(&format!("{repo}/pulls"), body).await.expect(422);
        assert_eq!(refused["errors"][0]["message"], words);
    }
    for (head, base, field) in [("none", "main", "head"), ("one", "none", "base")] {
        let body = json!({"title": "x", "head": head, "base": base});
        let refused = me.post(&format!("{repo}/pulls"), body).await.expect(422);
        assert_eq!(
            (refused["errors"][0]["field"].as_str(), refused["errors"][0]["code"].as_str()),
            (Some(field), Some("invalid"))
        );
    }
    assert_eq!(numbers(&me.get(&format!("{repo}/pulls?state=all")).await.expect(200)), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unmergeable_pull_requests_are_refused() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    let (left, right) = (tree.branch("left", "same.txt", "left"), tree.branch("right", "same.txt", "right"));
    open(&me, &repo, "left", "").await;
    open(&me, &repo, "right", "").await;
    let merge = |number: i64| format!("{repo}/pulls/{number}/merge");
    let stale = me.put(&merge(1), json!({"sha": right})).await.expect(409);
    assert_eq!(stale["message"], "Head branch was modified. Review and try the merge again.");
    me.put(&merge(1), json!({"sha": left})).await.expect(200);
    let conflict = me.get(&format!("{repo}/pulls/2")).await.expect(200);
    assert_eq!(
        (conflict["mergeable"].as_bool(), conflict["mergeable_state"].as_str()),
        (Some(false), Some("dirty"))
    );
    for method in ["merge", "squash", "rebase"] {
        me.put(&merge(2), json!({"merge_method": method})).await.expect(405);
    }
    me.put(&merge(1), json!({})).await.expect(405);
    me.put(&merge(9), json!({})).await.expect(404);
    let draft = tree.branch("draft", "d", "d");
    let body = json!({"title": "x", "head": "draft", "base": "main", "draft": true});
    me.post(&format!("{repo}/pulls"), body).await.expect(201);
    assert_eq!(me.get(&format!("{repo}/pulls/3")).await.expect(200)["mergeable_state"], "draft");
    me.put(&merge(3), json!({"sha": draft})).await.expect(405);
    tree.git(&["fetch", "--quiet"]);
    assert_eq!(tree.git(&["rev-list", "--count", "origin/main"]), "3", "one merge, two commits");
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_follow_their_branches() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    open(&me, &repo, "one", "").await;
    let second = tree.commit("b", "b", "Second");
    tree.git(&["push", "--quiet", "origin", "one"]);
    let pull = format!("{repo}/pulls/1");
    assert_eq!(me.get(&pull).await.expect(200)["head"]["sha"], second.as_str());
    // The base moves, and the branch is updated from it.
    let file = json!({"message": "on main", "content": "eA=="});
    me.put(&format!("{repo}/contents/main.txt"), file).await.expect(201);
    me.put(&format!("{pull}/update-branch"), json!({"expected_head_sha": "0".repeat(40)})).await.expect(422);
    me.put(&format!("{pull}/update-branch"), json!({"expected_head_sha": second})).await.expect(202);
    let updated = me.get(&pull).await.expect(200);
    assert_ne!(updated["head"]["sha"], second.as_str());
    let first = tree.git(&["rev-parse", "origin/main"]);
    assert_eq!(updated["base"]["sha"], first.as_str(), "the base at creation");
    me.put(&format!("{pull}/update-branch"), json!({})).await.expect(422);
    // Deleting the branch closes its pull request, whose commits can still be fetched.
    tree.git(&["push", "--quiet", "origin", ":one"]);
    let closed = me.get(&pull).await.expect(200);
    assert_eq!((closed["state"].as_str(), closed["merged"].as_bool()), (Some("closed"), Some(false)));
    me.patch(&pull, json!({"state": "open"})).await.expect(422);
    tree.git(&["fetch", "--quiet", "origin", "pull/1/head"]);
    assert_eq!(tree.git(&["rev-parse", "FETCH_HEAD"]), updated["head"]["sha"].as_str().unwrap());
    tree.git(&["push", "--quiet", "origin", "FETCH_HEAD:refs/heads/one"]);
    me.patch(&pull, json!({"state": "open"})).await.expect(200);
    // A merge by push is detected.
    tree.git(&["fetch", "--quiet"]);
    tree.git(&["push", "--quiet", "origin", "origin/one:refs/heads/main"]);
    assert_eq!(me.get(&pull).await.expect(200)["merged"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_are_deleted_on_merge_if_configured() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.patch(&repo, json!({"delete_branch_on_merge": true})).await.expect(200);
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    open(&me, &repo, "one", "").await;
    me.put(&format!("{repo}/pulls/1/merge"), json!({})).await.expect(200);
    me.get(&format!("{repo}/branches/one")).await.expect(404);
    assert_eq!(me.get(&format!("{repo}/pulls/1")).await.expect(200)["merged"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn mergeable_is_unknown_until_the_lag_passes() {
    let world = World::with(|options| options.lags.mergeable = Duration::from_secs(3600)).await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    world.clone_of(&repo, &me).branch("one", "a", "a");
    open(&me, &repo, "one", "").await;
    let shown = me.get(&format!("{repo}/pulls/1")).await.expect(200);
    assert!(shown["mergeable"].is_null());
    assert_eq!(shown["mergeable_state"], "unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_comments_and_requests() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let bob = world.user("bob").await;
    me.put(&format!("{repo}/collaborators/bob"), json!({"permission": "push"})).await;
    world.clone_of(&repo, &me).branch("one", "a.txt", "one\ntwo\n");
    open(&me, &repo, "one", "").await;
    let pull = format!("{repo}/pulls/1");
    me.post(&format!("{pull}/requested_reviewers"), json!({"reviewers": ["bob"]})).await.expect(201);
    me.post(&format!("{pull}/requested_reviewers"), json!({"reviewers": ["pilot"]})).await.expect(422);
    assert_eq!(me.get(&pull).await.expect(200)["requested_reviewers"][0]["login"], "bob");
    me.post(&format!("{pull}/reviews"), json!({"event": "APPROVE"})).await.expect(422);
    let outside = json!({"event": "COMMENT", "comments": [{"path": "a.txt", "line": 9, "body": "?"}]});
    bob.post(&format!("{pull}/reviews"), outside).await.expect(422);
    let review = json!({
        "event": "REQUEST_CHANGES", "body": "please", "comments": [{"path": "a.txt", "line": 2, "body": "why?"}],
    });
    let made = bob.post(&format!("{pull}/reviews"), review).await.expect(200);
    assert_eq!(made["state"], "CHANGES_REQUESTED");
    let comments = me.get(&format!("{pull}/comments")).await.expect(200);
    assert_eq!((comments[0]["line"].as_i64(), comments[0]["body"].as_str()), (Some(2), Some("why?")));
    assert_eq!(comments[0]["diff_hunk"], "@@ -0,0 +1,2 @@\n+one\n+two");
    let answer = format!("{pull}/comments/{}/replies", comments[0]["id"]);
    let answered = me.post(&answer, json!({"body": "because"})).await.expect(201);
    assert_eq!(answered["in_reply_to_id"], comments[0]["id"]);
    assert_eq!(
        me.get(&pull).await.expect(200)["requested_reviewers"],
        json!([]),
        "the review removes the request"
    );
    let pending = bob.post(&format!("{pull}/reviews"), json!({})).await.expect(200);
    let one = format!("{pull}/reviews/{}", pending["id"]);
    me.get(&one).await.expect(404);
    bob.post(&format!("{one}/events"), json!({"event": "APPROVE"})).await.expect(200);
    assert_eq!(me.get(&one).await.expect(200)["state"], "APPROVED");
    let dismissed = me.put(&format!("{one}/dismissals"), json!({"message": "old"})).await.expect(200);
    assert_eq!(dismissed["state"], "DISMISSED");
    let timeline = me.get(&format!("{repo}/issues/1/timeline")).await.expect(200);
    let words: Vec<&str> =
        timeline.as_array().unwrap().iter().filter_map(|item| item["event"].as_str()).collect();
    assert!(words.contains(&"reviewed") && words.contains(&"review_requested"), "{words:?}");
}
