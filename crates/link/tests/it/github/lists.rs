//! Lists: every page, each item once, or an error.

use pilot_core::id::{PrNumber, TaskKey};
use pilot_core::observed::{Author, AuthorKind, PrState, TicketState, Trust};
use pilot_core::policy::MergeMethod;
use pilot_core::port::CommentPlace;
use pilot_core::time::Timestamp;
use pilot_link::error::CallFault;
use serde_json::{Value, json};

use super::shapes::{comment, issue, pull, pull_with, repository, said};
use super::{ISSUE, OTHER, Scene, branch, sha};
use crate::server::{Act, answer, ok, refuse};

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
    let scene = Scene::known([
        page(&json!([one, two, not_an_issue]), Some("/repos/ada/engine/issues?page=2")),
        page(&json!([two, three]), Some("/repos/ada/engine/issues?page=3")),
        page(&json!([]), None),
    ])
    .await;
    let list = scene.repo.labelled("pilot").await.unwrap();
    let keys: Vec<&str> = list.items.iter().map(|ticket| ticket.key.as_str()).collect();
    assert_eq!((keys, list.unchanged), (vec!["GH-1", "GH-2", "GH-3"], false));
    assert_eq!(
        scene.server.lines()[1],
        "GET /repos/ada/engine/issues?state=open&sort=created&direction=asc&labels=pilot&per_page=100"
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
        Scene::known([tagged(&first, more), tagged(&second, ""), same(), same(), same(), tagged("[]", "")])
            .await;
    for (count, unchanged) in [(2, false), (2, true), (1, false)] {
        let list = scene.repo.labelled("pilot").await.unwrap();
        assert_eq!((list.items.len(), list.unchanged), (count, unchanged));
    }
}

#[tokio::test]
async fn lists_without_an_end_are_errors() {
    let circle = Scene::of([page(&json!([]), Some("?page=2")), page(&json!([]), Some("?page=2"))]).await;
    let error = circle.repo.labelled("pilot").await.unwrap_err();
    assert!(error.to_string().contains("form a loop"), "{error}");
    let endless = Scene::of((1..100).map(|number| page(&json!([]), Some(&format!("?page={number}"))))).await;
    let error = endless.repo.labelled("pilot").await.unwrap_err();
    assert!(matches!(error.why, CallFault::TooMuch { .. }), "{error}");
    assert_eq!(endless.server.seen().len(), 50);
    let abroad = Scene::of(vec![page(&json!([]), Some("https://evil.example/?page=2")); 3]).await;
    let error = abroad.repo.labelled("pilot").await.unwrap_err();
    assert!(error.to_string().contains("elsewhere"), "{error}");
}

#[tokio::test]
async fn a_list_whose_last_page_fails_is_no_shorter_list() {
    let scene =
        Scene::of([page(&json!([issue(1, "ada", "x")]), Some("?page=2")), refuse(404, "Not Found")]).await;
    assert!(scene.repo.labelled("pilot").await.is_err());
}

#[tokio::test]
async fn a_ticket_is_read_whole() {
    let mut closed = issue(12, "dependabot[bot]", "");
    closed["body"] = Value::Null;
    closed["state"] = "closed".into();
    let mut orphan = issue(12, "ada", "Hello");
    orphan["user"] = Value::Null;
    let own = issue(12, "Pilot-Bot", "Hello");
    let mut not_an_issue = issue(12, "ada", "x");
    not_an_issue["pull_request"] = json!({"url": "x"});
    let scene = Scene::known([said(&closed), said(&orphan), said(&own), said(&not_an_issue)]).await;
    let ticket = scene.repo.ticket(ISSUE).await.unwrap().unwrap();
    assert_eq!((ticket.text.as_str(), ticket.has_comments), ("", false));
    let ticket = ticket.ticket;
    assert_eq!((ticket.state, ticket.author.kind), (TicketState::Closed, AuthorKind::Bot));
    assert_eq!(ticket.labels.into_iter().collect::<Vec<_>>(), ["old style", "pilot"]);
    let ticket = scene.repo.ticket(ISSUE).await.unwrap().unwrap().ticket;
    assert_eq!(ticket.author, Author { login: "ghost".to_owned(), kind: AuthorKind::Person });
    let ticket = scene.repo.ticket(ISSUE).await.unwrap().unwrap().ticket;
    assert_eq!(ticket.author.kind, AuthorKind::Me);
    assert_eq!(scene.repo.ticket(ISSUE).await.unwrap(), None, "a pull request is no ticket");
}

#[tokio::test]
async fn a_repository_says_what_is_allowed() {
    let mut stranger = repository();
    for key in ["permissions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge"] {
        stranger.as_object_mut().unwrap().remove(key);
    }
    let scene = Scene::known([said(&repository()), said(&stranger)]).await;
    let facts = scene.repo.facts().await.unwrap();
    assert_eq!((facts.default_branch.as_str(), facts.is_archived), ("main", false));
    assert_eq!(facts.own_login, "pilot-bot");
    assert_eq!(facts.merge_methods, Some(vec![MergeMethod::Squash, MergeMethod::Rebase]));
    assert_eq!(facts.may_push, Some(true));
    let facts = scene.repo.facts().await.unwrap();
    assert_eq!((facts.merge_methods, facts.may_push), (None, None), "not told is not forbidden");
}

#[tokio::test]
async fn write_access_is_trust_and_an_unknown_account_is_asked_for_twice() {
    let scene = Scene::of([
        ok("{\"permission\":\"write\",\"role_name\":\"maintain\"}"),
        refuse(404, "eve is not a user"),
        said(&repository()),
        refuse(404, "eve is not a user"),
        said(&repository()),
        refuse(404, "Not Found"),
        said(&repository()),
        ok("{\"permission\":\"write\",\"role_name\":\"write\"}"),
        refuse(404, "Not Found"),
        refuse(404, "Not Found"),
        refuse(403, "Must have push access to view collaborator permission."),
    ])
    .await;
    assert_eq!(scene.repo.trust("ada").await.unwrap(), Trust::Trusted);
    assert_eq!(scene.repo.trust("eve").await.unwrap(), Trust::Untrusted);
    let late = scene.repo.trust("ada").await.unwrap();
    assert_eq!(late, Trust::Trusted, "one \"not found\" is not enough");
    let gone = scene.repo.trust("ada").await.unwrap_err();
    assert!(matches!(gone.why, CallFault::NotFound { .. }), "the repository itself is not found: {gone}");
    assert!(scene.repo.trust("ada").await.is_err(), "forbidden is not untrusted");
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
    let pulls = scene.repo.pulls_from(&branch("pilot/GH-12")).await.unwrap();
    assert_eq!(pulls.iter().map(|seen| seen.pr.number.0).collect::<Vec<_>>(), [1]);
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
    let pulls = scene.repo.pulls_from(&branch("pilot/GH-12")).await.unwrap();
    assert_eq!(pulls[0].pr.state, PrState::Merged { commit: sha(OTHER) });
    assert_eq!((&pulls[1].pr.state, pulls[1].pr.number), (&PrState::Closed, PrNumber(8)));
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
    let scene = Scene::of([said(&comments), said(&nowhere)]).await;
    let since = Timestamp(1_794_787_141_000_000);
    let posted = scene.repo.comments_since(since).await.unwrap().items;
    let on: Vec<CommentPlace> = posted.into_iter().map(|posted| posted.on).collect();
    assert_eq!(on, [12, 7].map(|number| CommentPlace::Ticket(TaskKey::numbered("GH", number))));
    assert_eq!(
        scene.server.lines(),
        [
            "GET /repos/ada/engine/issues/comments?since=2026-11-15T23%3A59%3A01Z&sort=created&direction=asc&per_page=100"
        ]
    );
    assert!(scene.repo.comments_since(since).await.is_err(), "a comment without an issue is an error");
}

#[tokio::test]
async fn pull_requests_for_a_branch_are_open_and_for_that_one() {
    let closed = pull_with(&json!({"state": "closed", "number": 8}));
    let mut elsewhere = pull(9, "ada", "x");
    elsewhere["base"]["ref"] = "next".into();
    let scene = Scene::of([said(&json!([pull(7, "ada", "x"), closed, elsewhere]))]).await;
    let pulls = scene.repo.pulls_onto(&branch("main")).await.unwrap();
    assert_eq!(pulls.iter().map(|seen| seen.pr.number.0).collect::<Vec<_>>(), [7]);
    assert_eq!(scene.server.lines(), ["GET /repos/ada/engine/pulls?base=main&per_page=100"]);
}
