//! Issues, labels, comments, milestones and events.

use serde_json::json;

use crate::world::{World, numbers};

#[tokio::test(flavor = "multi_thread")]
async fn issues_are_created_edited_and_closed() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let made = me.post(&format!("{repo}/issues"), json!({"title": "Add login", "labels": ["pilot"]})).await;
    assert_eq!(made.header("location"), format!("{}{repo}/issues/1", me.url));
    let made = made.expect(201);
    assert_eq!((made["number"].as_i64(), made["state"].as_str()), (Some(1), Some("open")));
    assert_eq!(made["labels"][0]["name"], "pilot");

    let issue = format!("{repo}/issues/1");
    let edited = me.patch(&issue, json!({"title": "Add a login", "body": "please"})).await.expect(200);
    assert_eq!((edited["title"].as_str(), edited["body"].as_str()), (Some("Add a login"), Some("please")));
    let closed =
        me.patch(&issue, json!({"state": "closed", "state_reason": "not_planned"})).await.expect(200);
    assert_eq!(
        (closed["state"].as_str(), closed["state_reason"].as_str()),
        (Some("closed"), Some("not_planned"))
    );
    assert_eq!(closed["closed_by"]["login"], me.login.as_str());
    me.patch(&issue, json!({"state": "open"})).await.expect(200);

    let events = me.get(&format!("{issue}/events")).await.expect(200);
    let words: Vec<&str> =
        events.as_array().unwrap().iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(words, ["labeled", "renamed", "closed", "reopened"]);
    assert_eq!(events[0]["actor"]["login"], me.login.as_str(), "the event names the user");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_issues_are_refused_with_the_field() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let issues = format!("{repo}/issues");
    for (body, field, code) in [
        (json!({}), "title", "missing_field"),
        (json!({"title": "  "}), "title", "missing_field"),
        (json!({"title": "x".repeat(257)}), "title", "custom"),
        (json!({"title": "x", "body": "x".repeat(65_537)}), "body", "custom"),
        (json!({"title": "x", "milestone": 9}), "milestone", "invalid"),
        (json!({"title": "x", "labels": ["a,b"]}), "name", "invalid"),
    ] {
        let refused = me.post(&issues, body.clone()).await.expect(422);
        assert_eq!(refused["errors"][0]["field"], field, "{body}");
        assert_eq!(refused["errors"][0]["code"], code, "{body}");
    }
    assert_eq!(me.get(&issues).await.expect(200), json!([]), "nothing was kept");
    me.get(&format!("{issues}/1")).await.expect(404);
    me.get(&format!("{issues}/x")).await.expect(404);
    me.get(&format!("{issues}?state=ajar")).await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_and_paged() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let issues = format!("{repo}/issues");
    for number in 1..=5 {
        let labels = if number % 2 == 0 { json!(["even", "any"]) } else { json!(["any"]) };
        me.post(&issues, json!({"title": format!("Issue {number}"), "labels": labels})).await.expect(201);
    }
    me.patch(&format!("{issues}/2"), json!({"state": "closed"})).await.expect(200);
    for (query, expect) in [
        ("", vec![5, 4, 3, 1]),
        ("?state=all", vec![5, 4, 3, 2, 1]),
        ("?state=closed", vec![2]),
        ("?labels=even", vec![4]),
        ("?labels=even,any&state=all", vec![4, 2]),
        ("?labels=EVEN&state=closed", vec![2]),
        ("?labels=odd", vec![]),
        ("?direction=asc", vec![1, 3, 4, 5]),
        ("?sort=updated&state=all&per_page=1", vec![2]),
        ("?creator=nobody", vec![]),
        ("?per_page=2&page=2&state=all", vec![3, 2]),
        ("?per_page=2&page=9&state=all", vec![]),
        ("?since=2999-01-01T00:00:00Z", vec![]),
    ] {
        let found = me.get(&format!("{issues}{query}")).await.expect(200);
        assert_eq!(numbers(&found), expect, "{query}");
    }
    let middle = me.get(&format!("{issues}?per_page=2&page=2&state=all")).await;
    let link = |page: i64, relation: &str| {
        format!("<{}{issues}?per_page=2&state=all&page={page}>; rel=\"{relation}\"", me.url)
    };
    let expect = [link(1, "prev"), link(3, "next"), link(3, "last"), link(1, "first")].join(", ");
    assert_eq!(middle.header("link"), expect);
    assert_eq!(me.get(&format!("{issues}?state=all")).await.header("link"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_issues_appear_in_lists_after_the_lag() {
    let world = World::with(|options| options.lags.lists = std::time::Duration::from_secs(3600)).await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.post(&format!("{repo}/issues"), json!({"title": "New"})).await.expect(201);
    me.get(&format!("{repo}/issues/1")).await.expect(200);
    assert_eq!(me.get(&format!("{repo}/issues")).await.expect(200), json!([]));
    let search = me.get("/search/issues?q=repo:pilot/demo+is:issue").await.expect(200);
    assert_eq!(search["total_count"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_are_made_edited_listed_and_removed() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let other = world.user("bob").await;
    me.post(&format!("{repo}/issues"), json!({"title": "Talk"})).await.expect(201);
    let comments = format!("{repo}/issues/1/comments");
    let made = other.post(&comments, json!({"body": "hello <!-- mark -->"})).await.expect(201);
    let one = format!("{repo}/issues/comments/{}", made["id"]);
    assert_eq!(made["author_association"], "NONE");
    assert_eq!(me.get(&one).await.expect(200)["body"], "hello <!-- mark -->");
    other.patch(&one, json!({"body": "better"})).await.expect(200);
    me.post(&comments, json!({"body": " "})).await.expect(422);
    assert_eq!(me.get(&comments).await.expect(200)[0]["body"], "better");
    assert_eq!(me.get(&format!("{repo}/issues/1")).await.expect(200)["comments"], 1);
    let third = world.user("eve").await;
    third.patch(&one, json!({"body": "not mine"})).await.expect(403);
    assert_eq!(me.delete(&one).await.status, 204);
    assert_eq!(me.get(&format!("{repo}/issues/1")).await.expect(200)["comments"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_milestones_and_assignees() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let labels = format!("{repo}/labels");
    me.post(&labels, json!({"name": "bug", "color": "ff0000"})).await.expect(201);
    assert_eq!(
        me.post(&labels, json!({"name": "BUG"})).await.expect(422)["errors"][0]["code"],
        "already_exists"
    );
    me.post(&labels, json!({"name": "x", "color": "red"})).await.expect(422);
    me.patch(&format!("{labels}/bug"), json!({"new_name": "defect"})).await.expect(200);
    me.get(&format!("{labels}/bug")).await.expect(404);

    me.post(&format!("{repo}/milestones"), json!({"title": "v1", "due_on": "2030-01-01T00:00:00Z"}))
        .await
        .expect(201);
    let issue = json!({"title": "T", "milestone": 1, "assignees": [me.login, "nobody"]});
    let made = me.post(&format!("{repo}/issues"), issue).await.expect(201);
    assert_eq!(made["milestone"]["title"], "v1");
    assert_eq!(made["assignees"].as_array().unwrap().len(), 1, "users without permission are ignored");
    let one = format!("{repo}/issues/1");
    let put = me.put(&format!("{one}/labels"), json!({"labels": ["defect", "new"]})).await.expect(200);
    assert_eq!(put.as_array().unwrap().len(), 2);
    me.delete(&format!("{one}/labels/new")).await.expect(200);
    me.delete(&format!("{one}/labels/new")).await.expect(404);
    let shown = me.get(&format!("{repo}/milestones/1")).await.expect(200);
    assert_eq!(
        (shown["open_issues"].as_i64(), shown["due_on"].as_str()),
        (Some(1), Some("2030-01-01T00:00:00Z"))
    );
    me.patch(&one, json!({"milestone": null, "labels": [], "assignees": []})).await.expect(200);
    let bare = me.get(&one).await.expect(200);
    assert!(bare["milestone"].is_null() && bare["assignee"].is_null() && bare["labels"] == json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_find_by_label_and_word() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    me.post(&format!("{repo}/issues"), json!({"title": "Fix login", "labels": ["pilot"]})).await.expect(201);
    me.post(&format!("{repo}/issues"), json!({"title": "Other", "body": "about LOGIN"})).await.expect(201);
    for (query, expect) in [
        ("repo:pilot/demo", vec![2, 1]),
        ("repo:pilot/demo+label:pilot", vec![1]),
        ("repo:pilot/demo+login", vec![2, 1]),
        ("repo:pilot/demo+is:pr", vec![]),
        ("repo:pilot/demo+is:closed", vec![]),
    ] {
        let found = me.get(&format!("/search/issues?q={query}")).await.expect(200);
        assert_eq!(numbers(&found["items"]), expect, "{query}");
        assert_eq!(found["total_count"], expect.len());
    }
    me.get("/search/issues?q=label:pilot").await.expect(422);
    me.get("/search/issues?q=repo:pilot/secret").await.expect(422);
}
