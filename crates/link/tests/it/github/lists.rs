//! Lists: every page, each item once, or an error.

use pilot_link::github::{
    Actor, IssueQuery, IssueState, MergeMethod, Permission, PullState, Rights, StateFilter, Why,
};
use pilot_link::http::Moment;
use serde_json::{Value, json};

use super::shapes::{comment, issue, pull, pull_with, repository, said};
use super::{ISSUE, OTHER, Scene, sha};
use crate::server::{Act, answer, ok, refuse};

const OPEN: IssueQuery<'_> = IssueQuery { labels: &["pilot", "p1"], state: StateFilter::Open };

fn page(items: &Value, next: Option<&str>) -> Act {
    let link = next.map(|next| format!("<{next}>; rel=\"next\", </last>; rel=\"last\""));
    let headers: Vec<(&str, &str)> = link.iter().map(|link| ("Link", link.as_str())).collect();
    Act::Say(answer(200, &headers, &items.to_string()))
}

#[tokio::test]
async fn all_pages_are_read_and_no_item_twice() {
    let [one, two, three] = [1, 2, 3].map(|number| issue(number, "ada", "x"));
    let mut not_an_issue = issue(4, "ada", "x");
    not_an_issue["pull_request"] = json!({"url": "x"});
    let scene = Scene::of([
        page(&json!([one, two, not_an_issue]), Some("/repos/ada/engine/issues?page=2")),
        page(&json!([two, three]), Some("/repos/ada/engine/issues?page=3")),
        page(&json!([]), None),
    ])
    .await;
    let list = scene.repo.issues(&OPEN).await.unwrap();
    let numbers: Vec<u64> = list.items.iter().map(|issue| issue.number.0).collect();
    assert_eq!((numbers, list.unchanged), (vec![1, 2, 3], false));
    assert_eq!(
        scene.server.lines()[0],
        "GET /repos/ada/engine/issues?state=open&sort=created&direction=asc&labels=pilot%2Cp1&per_page=100"
    );
}

#[tokio::test]
async fn an_idle_poll_is_all_304s() {
    let tagged = |body: &str, next: &str| Act::Say(answer(200, &[("ETag", "\"x\""), ("Link", next)], body));
    let same = || Act::Say(answer(304, &[], ""));
    let more = "</repos/ada/engine/issues?page=2>; rel=\"next\"";
    let first = json!([issue(1, "ada", "x")]).to_string();
    let second = json!([issue(2, "ada", "x")]).to_string();
    let scene =
        Scene::of([tagged(&first, more), tagged(&second, ""), same(), same(), same(), tagged("[]", "")])
            .await;
    for (count, unchanged) in [(2, false), (2, true), (1, false)] {
        let list = scene.repo.issues(&OPEN).await.unwrap();
        assert_eq!((list.items.len(), list.unchanged), (count, unchanged));
    }
}

#[tokio::test]
async fn lists_without_an_end_are_errors() {
    let circle = Scene::of([page(&json!([]), Some("?page=2")), page(&json!([]), Some("?page=2"))]).await;
    let error = circle.repo.issues(&OPEN).await.unwrap_err();
    assert!(error.to_string().contains("in a circle"), "{error}");
    let endless = Scene::of((1..100).map(|number| page(&json!([]), Some(&format!("?page={number}"))))).await;
    let error = endless.repo.issues(&OPEN).await.unwrap_err();
    assert!(matches!(error.why, Why::TooMuch { .. }), "{error}");
    assert_eq!(endless.server.seen().len(), 50);
    let abroad = Scene::of(vec![page(&json!([]), Some("https://evil.example/?page=2")); 3]).await;
    let error = abroad.repo.issues(&OPEN).await.unwrap_err();
    assert!(error.to_string().contains("elsewhere"), "{error}");
}

#[tokio::test]
async fn a_list_whose_last_page_fails_is_no_shorter_list() {
    let scene =
        Scene::of([page(&json!([issue(1, "ada", "x")]), Some("?page=2")), refuse(404, "Not Found")]).await;
    assert!(scene.repo.issues(&OPEN).await.is_err());
}

#[tokio::test]
async fn an_issue_is_read_whole() {
    let mut closed = issue(12, "dependabot[bot]", "");
    closed["body"] = Value::Null;
    closed["state"] = "closed".into();
    closed["state_reason"] = "not_planned".into();
    let mut orphan = issue(12, "ada", "Hello");
    orphan["user"] = Value::Null;
    let scene = Scene::of([said(&closed), said(&orphan)]).await;
    let issue = scene.repo.issue(ISSUE).await.unwrap();
    assert_eq!(issue.state, IssueState::Closed { unplanned: true });
    assert_eq!((issue.body.as_str(), issue.author.is_bot, issue.is_pull), ("", true, false));
    assert_eq!(issue.labels, ["pilot", "old style"]);
    let issue = scene.repo.issue(ISSUE).await.unwrap();
    assert_eq!(issue.author, Actor { login: "ghost".to_owned(), is_bot: false });
}

#[tokio::test]
async fn a_repository_says_what_is_allowed() {
    let mut stranger = repository();
    for key in ["permissions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge"] {
        stranger.as_object_mut().unwrap().remove(key);
    }
    let scene = Scene::of([said(&repository()), said(&stranger)]).await;
    let facts = scene.repo.facts().await.unwrap();
    assert_eq!((facts.default_branch.as_str(), facts.archived), ("main", false));
    assert_eq!(facts.merge_methods, Some(vec![MergeMethod::Squash, MergeMethod::Rebase]));
    assert_eq!(facts.rights, Some(Rights { pull: true, push: true, admin: false }));
    let facts = scene.repo.facts().await.unwrap();
    assert_eq!((facts.merge_methods, facts.rights), (None, None), "not told is not forbidden");
}

#[tokio::test]
async fn rights_of_somebody() {
    let scene = Scene::of([
        ok("{\"permission\":\"write\",\"role_name\":\"maintain\"}"),
        refuse(404, "nobody is not a user"),
        said(&repository()),
        refuse(404, "nobody is not a user"),
        said(&repository()),
        refuse(404, "Not Found"),
        said(&repository()),
        ok("{\"permission\":\"write\",\"role_name\":\"write\"}"),
        refuse(404, "Not Found"),
        refuse(404, "Not Found"),
        refuse(403, "Must have push access to view collaborator permission."),
    ])
    .await;
    assert_eq!(scene.repo.permission("ada").await.unwrap(), Permission::Maintain);
    assert_eq!(scene.repo.permission("nobody").await.unwrap(), Permission::None);
    let late = scene.repo.permission("ada").await.unwrap();
    assert_eq!(late, Permission::Write, "one answer that nobody is there is not believed");
    let gone = scene.repo.permission("ada").await.unwrap_err();
    assert!(matches!(gone.why, Why::NotFound { .. }), "the repository itself is not there: {gone}");
    assert!(scene.repo.permission("ada").await.is_err(), "not told is not nothing");
}

#[tokio::test]
async fn pull_requests_of_a_branch_are_those_of_our_own_branch() {
    let from = |number: u64, head: Value| {
        let mut pull = pull(number, "ada", "x");
        pull["head"] = head;
        pull
    };
    let own = json!({"ref": "pilot/GH-12", "sha": OTHER, "repo": {"full_name": "Ada/Engine"}});
    let fork = json!({"ref": "pilot/GH-12", "sha": OTHER, "repo": {"full_name": "eve/engine"}});
    let lost = json!({"ref": "pilot/GH-12", "sha": OTHER, "repo": null});
    let other = json!({"ref": "pilot/GH-1", "sha": OTHER, "repo": {"full_name": "ada/engine"}});
    let list = json!([from(1, own), from(2, fork), from(3, lost), from(4, other)]);
    let scene = Scene::of([said(&list)]).await;
    let pulls = scene.repo.pulls_from("pilot/GH-12").await.unwrap().items;
    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [1]);
    assert_eq!(
        scene.server.lines(),
        [
            "GET /repos/ada/engine/pulls?head=ada%3Apilot%2FGH-12&state=all&sort=created&direction=desc&per_page=100"
        ]
    );
}

#[tokio::test]
async fn a_pull_request_that_was_merged_says_so_in_every_list() {
    let merged = pull_with(
        &json!({"state": "closed", "merged_at": "2026-11-15T21:00:00Z", "merge_commit_sha": OTHER}),
    );
    let closed = pull_with(&json!({"state": "closed", "number": 8}));
    let scene = Scene::of([said(&json!([merged, closed]))]).await;
    let pulls = scene.repo.pulls_from("pilot/GH-12").await.unwrap().items;
    assert!(matches!(&pulls[0].state, PullState::Merged { commit, .. } if *commit == Some(sha(OTHER))));
    assert_eq!(pulls[1].state, PullState::Closed);
}

#[tokio::test]
async fn comments_say_what_they_are_on() {
    let on = |id: u64, url: &str| {
        let mut comment = comment(id, "ada", "/pilot why");
        comment["issue_url"] = url.into();
        comment
    };
    let comments =
        json!([on(9, "https://h/repos/ada/engine/issues/12"), on(10, "https://h/repos/ada/engine/issues/7")]);
    let nowhere = json!([on(11, "https://h/")]);
    let scene = Scene::of([said(&comments), said(&json!([comment(9, "ada", "hm")])), said(&nowhere)]).await;
    let since = Moment::from_seconds(1_794_787_141);
    let posted = scene.repo.comments_since(since).await.unwrap().items;
    let on: Vec<u64> = posted.iter().map(|posted| posted.on.0).collect();
    assert_eq!(on, [12, 7]);
    assert_eq!(
        scene.server.lines(),
        [
            "GET /repos/ada/engine/issues/comments?since=2026-11-15T23%3A59%3A01Z&sort=created&direction=asc&per_page=100"
        ]
    );
    assert_eq!(scene.repo.comments(ISSUE).await.unwrap().items[0].body, "hm");
    assert!(scene.repo.comments_since(since).await.is_err(), "a comment on nothing is no answer");
}

#[tokio::test]
async fn pull_requests_for_a_branch_are_open_and_for_that_one() {
    let closed = pull_with(&json!({"state": "closed", "number": 8}));
    let mut elsewhere = pull(9, "ada", "x");
    elsewhere["base"]["ref"] = "next".into();
    let scene = Scene::of([said(&json!([pull(7, "ada", "x"), closed, elsewhere]))]).await;
    let pulls = scene.repo.pulls_onto("main").await.unwrap().items;
    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [7]);
    assert_eq!(scene.server.lines(), ["GET /repos/ada/engine/pulls?base=main&per_page=100"]);
}
