//! Protected branches, over git and over the API.

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

async fn protect(me: &Client, repo: &str, rules: Value) {
    let mut all = json!({
        "required_status_checks": null, "enforce_admins": null, "required_pull_request_reviews": null,
        "restrictions": null,
    });
    all.as_object_mut().expect("it is there").extend(rules.as_object().expect("it is there").clone());
    me.put(&format!("{repo}/branches/main/protection"), all).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_force_push_and_no_deletion() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    let first = tree.git(&["rev-parse", "HEAD"]);
    tree.commit("a", "a", "a");
    tree.git(&["push", "--quiet", "origin", "main"]);
    protect(&me, &repo, json!({})).await;
    tree.commit("b", "b", "b");
    tree.git(&["push", "--quiet", "origin", "main"]);
    tree.git(&["checkout", "--quiet", "-B", "main", &first]);
    let refused = tree.git_fails(&["push", "--force", "origin", "main"]);
    assert!(refused.contains("GH006") && refused.contains("Cannot force-push"), "{refused}");
    let refused = tree.git_fails(&["push", "origin", ":main"]);
    assert!(refused.contains("Cannot delete this protected branch"), "{refused}");
    let main = format!("{repo}/git/refs/heads/main");
    me.patch(&main, json!({"sha": first, "force": true})).await.expect(422);
    tree.git(&["push", "--quiet", "origin", "HEAD:refs/heads/other"]);
    assert_eq!(me.get(&format!("{repo}/commits")).await.expect(200).as_array().unwrap().len(), 3);
    assert_eq!(me.get(&format!("{repo}/branches/main")).await.expect(200)["protected"], true);
    assert_eq!(me.delete(&format!("{repo}/branches/main/protection")).await.status, 204);
    tree.git(&["push", "--quiet", "--force", "origin", "main"]);
    me.get(&format!("{repo}/branches/main/protection")).await.expect(404);
    assert_eq!(
        me.get(&format!("{repo}/rules/branches/main")).await.expect(200),
        json!([]),
        "the forge has no rulesets"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn required_checks_and_reviews_block_a_merge() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let bob = world.user("bob").await;
    me.put(&format!("{repo}/collaborators/bob"), json!({"permission": "push"})).await;
    let tree = world.clone_of(&repo, &bob);
    let head = tree.branch("one", "a", "a");
    let body = json!({"title": "x", "head": "one", "base": "main"});
    bob.post(&format!("{repo}/pulls"), body).await.expect(201);
    let rules = json!({
        "required_status_checks": {"strict": false, "contexts": ["build", "lint"]},
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "enforce_admins": true,
    });
    protect(&me, &repo, rules).await;
    let shown = me.get(&format!("{repo}/branches/main/protection/required_status_checks")).await.expect(200);
    assert_eq!(shown["contexts"], json!(["build", "lint"]));
    tree.git(&["checkout", "--quiet", "main"]);
    tree.commit("direct", "x", "x");
    assert!(
        tree.git_fails(&["push", "origin", "main"]).contains("Changes must be made through a pull request")
    );
    let file = json!({"message": "m", "content": "eA=="});
    me.put(&format!("{repo}/contents/direct"), file).await.expect(422);

    let merge = format!("{repo}/pulls/1/merge");
    let why = async || bob.put(&merge, json!({})).await.expect(405)["message"].as_str().unwrap().to_owned();
    assert_eq!(why().await, "Required status check \"build\" is expected.");
    assert_eq!(me.get(&format!("{repo}/pulls/1")).await.expect(200)["mergeable_state"], "blocked");
    let check = json!({"name": "build", "head_sha": head, "conclusion": "success"});
    me.post(&format!("{repo}/check-runs"), check).await.expect(201);
    let status = |state: &str| json!({"state": state, "context": "lint"});
    me.post(&format!("{repo}/statuses/{head}"), status("failure")).await.expect(201);
    assert_eq!(why().await, "Required status check \"lint\" is failing.");
    me.post(&format!("{repo}/statuses/{head}"), status("success")).await.expect(201);
    assert!(why().await.starts_with("At least 1 approving review"));
    me.post(&format!("{repo}/pulls/1/reviews"), json!({"event": "REQUEST_CHANGES", "body": "no"}))
        .await
        .expect(200);
    assert!(why().await.starts_with("Changes were requested"));
    me.post(&format!("{repo}/pulls/1/reviews"), json!({"event": "APPROVE"})).await.expect(200);
    assert_eq!(me.get(&format!("{repo}/pulls/1")).await.expect(200)["mergeable_state"], "clean");
    bob.put(&merge, json!({})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_are_exempt_unless_enforce_admins_is_set() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let tree = world.clone_of(&repo, &me);
    tree.branch("one", "a", "a");
    me.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "one", "base": "main"})).await.expect(201);
    let strict = json!({"strict": true, "contexts": []});
    protect(&me, &repo, json!({"required_status_checks": strict, "enforce_admins": true})).await;
    tree.git(&["checkout", "--quiet", "main"]);
    tree.commit("direct", "x", "x");
    tree.git_fails(&["push", "origin", "main"]);
    protect(&me, &repo, json!({"required_status_checks": strict, "enforce_admins": false})).await;
    tree.git(&["push", "--quiet", "origin", "main"]);
    // Now the branch is behind its base.
    assert_eq!(me.get(&format!("{repo}/pulls/1")).await.expect(200)["mergeable_state"], "behind");
    protect(&me, &repo, json!({"required_status_checks": strict, "enforce_admins": true})).await;
    let refused = me.put(&format!("{repo}/pulls/1/merge"), json!({})).await.expect(405);
    assert!(refused["message"].as_str().unwrap().contains("out of date"));
    me.put(&format!("{repo}/pulls/1/update-branch"), json!({})).await.expect(202);
    protect(&me, &repo, json!({"required_linear_history": true})).await;
    me.put(&format!("{repo}/pulls/1/merge"), json!({"merge_method": "merge"})).await.expect(405);
    me.put(&format!("{repo}/pulls/1/merge"), json!({"merge_method": "squash"})).await.expect(200);
}
