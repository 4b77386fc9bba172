//! Effects are sent once where twice would be two, and as often as it takes where it would be the same.

use pilot_link::github::{
    CommentId, GithubError, IssueState, NewIssue, NewPull, PullOpened, PullState, RefMade, Why,
};
use serde_json::{Value, json};

use super::shapes::{MARK, comment, created, issue, pull, pull_with, repository, said, unheard};
use super::{HEAD, ISSUE, OTHER, Scene, marker, sha};
use crate::server::{Act, Seen, Server, answer, ok, refuse};

const NEW_ISSUE: NewIssue<'_> =
    NewIssue { title: "Fix CI: Add login", body: "It broke.", labels: &["pilot", "autopilot-fix"] };

const NEW_PULL: NewPull<'_> = NewPull {
    title: "Add login",
    body: "Closes #12",
    head_branch: "pilot/GH-12",
    base_branch: "main",
    draft: false,
};

/// The body of the only request of this kind.
fn sent(server: &Server, start: &str) -> Value {
    let all: Vec<Seen> = server.seen().into_iter().filter(|seen| seen.line().starts_with(start)).collect();
    assert_eq!(all.len(), 1, "{:?}", server.lines());
    serde_json::from_str(&all[0].body).expect("JSON was sent")
}

/// What may become of a creation: each with what the list shows afterwards.
fn fates(list_after: &Value) -> Vec<(&'static str, Vec<Act>)> {
    let after = said(list_after);
    vec![
        ("the answer is lost", vec![unheard(), after.clone()]),
        ("the answer is cut", vec![cut(), after.clone()]),
        ("the answer is a page", vec![ok("<html>"), after.clone()]),
        ("a gateway gives up", vec![refuse(502, "Bad Gateway"), after.clone()]),
        ("the look afterwards fails once", vec![unheard(), unheard(), after]),
    ]
}

/// An answer that ends in the middle.
fn cut() -> Act {
    Act::Say(b"HTTP/1.1 201 X\r\nContent-Length: 900\r\n\r\n{".to_vec())
}

/// A call that makes something.
async fn make(scene: &Scene, what: &str) -> Result<u64, GithubError> {
    Ok(match what {
        "comment" => scene.repo.add_comment(ISSUE, "Started.").await?.id.0,
        "issue" => scene.repo.add_issue(&NEW_ISSUE).await?.number.0,
        _ => scene.repo.add_pull(&NEW_PULL).await?.number.0,
    })
}

#[tokio::test]
async fn what_makes_something_is_sent_once_and_an_answer_that_is_lost_is_a_doubt() {
    for (what, answer, sends) in [
        ("comment", comment(2, "pilot-bot", "Started."), json!({"body": "Started."})),
        (
            "issue",
            issue(2, "pilot-bot", "It broke."),
            json!({"title": "Fix CI: Add login", "body": "It broke.", "labels": ["pilot", "autopilot-fix"]}),
        ),
        (
            "pull request",
            pull(2, "pilot-bot", "Closes #12"),
            json!({"title": "Add login", "body": "Closes #12", "head": "pilot/GH-12", "base": "main", "draft": false}),
        ),
    ] {
        let scene = Scene::of([created(&answer)]).await;
        assert_eq!(make(&scene, what).await.ok(), Some(2), "{what}");
        assert_eq!(sent(&scene.server, "POST"), sends);
        for lost in [unheard(), cut(), ok("<html>"), refuse(502, "Bad Gateway")] {
            let scene = Scene::of([lost.clone()]).await;
            let error = make(&scene, what).await.unwrap_err();
            assert!(matches!(error.why, Why::Unknown { .. }), "{what}, {lost:?}: {error}");
            assert!(error.to_string().contains("looked for again before it is repeated"), "{error}");
            assert_eq!(scene.count("POST"), 1, "{what}, {lost:?}");
        }
        let scene = Scene::of([refuse(403, "Resource not accessible by integration")]).await;
        let error = make(&scene, what).await.unwrap_err();
        assert!(matches!(error.why, Why::Forbidden { .. }), "a refusal leaves no doubt: {error}");
        // Nothing was sent, so it may be sent again.
        let scene = Scene::of([Act::Slam, Act::Slam, Act::Slam]).await;
        assert!(make(&scene, what).await.is_err());
        assert_eq!(scene.count("POST"), 0, "{what}");
    }
}

#[tokio::test]
async fn a_comment_is_changed_by_its_number_until_somebody_deletes_it() {
    let done = comment(2, "pilot-bot", "Done.");
    let scene = Scene::of([unheard(), said(&done), refuse(404, "Not Found"), said(&repository())]).await;
    let changed = scene.repo.edit_comment(CommentId(2), "Done.").await.unwrap();
    assert_eq!(changed.map(|comment| comment.body), Some("Done.".to_owned()), "the same again is as good");
    assert_eq!(scene.repo.edit_comment(CommentId(2), "Done.").await.unwrap(), None);
    let scene = Scene::of([refuse(404, "Not Found"), refuse(404, "Not Found")]).await;
    assert!(scene.repo.edit_comment(CommentId(2), "x").await.is_err(), "no repository is not no comment");
}

#[tokio::test]
async fn a_pull_request_is_opened_once() {
    let ours = pull(7, "pilot-bot", MARK);
    for (fate, acts) in fates(&json!([ours])) {
        let scene = Scene::known([ok("[]")].into_iter().chain(acts)).await;
        let opened = scene.repo.open_pull(&NEW_PULL, &marker()).await.unwrap();
        assert!(matches!(&opened, PullOpened::Found(pull) if pull.number.0 == 7), "{fate}: {opened:?}");
        assert_eq!(scene.count("POST"), 1, "{fate}");
    }
    let exists = "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"PullRequest\",\"code\":\"custom\",\
        \"message\":\"A pull request already exists for ada:pilot/GH-12.\"}]}";
    let exists = || Act::Say(answer(422, &[], exists));
    let scene = Scene::known([ok("[]"), exists(), said(&json!([ours])), ok("[]"), exists(), ok("[]")]).await;
    assert!(matches!(scene.repo.open_pull(&NEW_PULL, &marker()).await.unwrap(), PullOpened::Found(_)));
    let error = scene.repo.open_pull(&NEW_PULL, &marker()).await.unwrap_err();
    assert!(matches!(error.why, Why::Unknown { .. }), "it is there, but not in the list: {error}");
}

#[tokio::test]
async fn a_pull_request_is_ours_by_its_mark_and_not_by_its_branch() {
    let closed = pull_with(&json!({"state": "closed"}));
    let earlier = pull_with(&json!({"number": 5, "body": "<!-- pilot-key GH-12/try.0 -->"}));
    let theirs = pull(6, "eve", "mine");
    let mut elsewhere = pull(4, "eve", "to another base");
    elsewhere["base"]["ref"] = "next".into();
    let new = pull(9, "pilot-bot", MARK);
    let no_commits = Act::Say(answer(
        422,
        &[],
        "{\"message\":\"Validation Failed\",\"errors\":[{\"message\":\"No commits between main and pilot/GH-12\"}]}",
    ));
    for (list, then, expected) in [
        (json!([closed, theirs]), vec![], "found 7"),
        (json!([theirs]), vec![], "foreign 6"),
        (json!([earlier]), vec![], "foreign 5"),
        (json!([elsewhere]), vec![created(&new)], "created 9"),
        (json!([]), vec![created(&new)], "created 9"),
        (json!([]), vec![no_commits], "no commits"),
    ] {
        let scene = Scene::known([said(&list)].into_iter().chain(then)).await;
        let opened = match scene.repo.open_pull(&NEW_PULL, &marker()).await.unwrap() {
            PullOpened::Created(pull) => format!("created {}", pull.number.0),
            PullOpened::Found(pull) => format!("found {}", pull.number.0),
            PullOpened::Foreign(pull) => format!("foreign {}", pull.number.0),
            PullOpened::NoCommits => "no commits".to_owned(),
        };
        assert_eq!(opened, expected);
        assert!(scene.server.is_done());
    }
}

#[tokio::test]
async fn a_pull_request_that_exists_and_is_not_in_the_list_is_a_doubt() {
    let exists = "{\"message\":\"Validation Failed\",\"errors\":[{\"message\":\"A pull request already exists for ada:x.\"}]}";
    let scene = Scene::of([Act::Say(answer(422, &[], exists))]).await;
    let error = scene.repo.add_pull(&NEW_PULL).await.unwrap_err();
    assert!(matches!(error.why, Why::Unknown { .. }), "{error}");
}

#[tokio::test]
async fn issues_and_pull_requests_are_closed_by_value() {
    let mut closed = issue(12, "ada", "x");
    closed["state"] = "closed".into();
    let scene = Scene::of([refuse(502, "x"), said(&closed)]).await;
    let issue = scene.repo.close_issue(ISSUE, true).await.unwrap();
    assert_eq!(issue.state, IssueState::Closed { unplanned: false }, "what GitHub says, not what we asked");
    let body = &scene.server.seen()[1].body;
    assert_eq!(body, "{\"state\":\"closed\",\"state_reason\":\"not_planned\"}");

    let scene = Scene::of([unheard(), said(&pull_with(&json!({"state": "closed"})))]).await;
    assert_eq!(scene.repo.shut_pull(ISSUE).await.unwrap().state, PullState::Closed);
    assert_eq!(scene.server.seen()[1].body, "{\"state\":\"closed\"}");
    assert_eq!(scene.count("PATCH /repos/ada/engine/pulls/12"), 2, "the same again is as good");
}

#[tokio::test]
async fn labels_are_put_on_and_taken_off() {
    let scene = Scene::of([
        unheard(),
        said(&json!([{"name": "pilot"}, {"name": "pilot-in-progress"}])),
        ok("[]"),
        refuse(404, "Label does not exist"),
        refuse(404, "Not Found"),
    ])
    .await;
    let labels = scene.repo.add_labels(ISSUE, &["pilot-in-progress"]).await.unwrap();
    assert_eq!(labels, ["pilot", "pilot-in-progress"]);
    assert!(scene.repo.remove_label(ISSUE, "pilot-done").await.unwrap());
    assert!(!scene.repo.remove_label(ISSUE, "pilot-done").await.unwrap());
    assert!(scene.repo.remove_label(ISSUE, "pilot-done").await.is_err(), "no issue is not no label");
    assert!(scene.server.is_done());
}

fn reference(at: &str) -> Act {
    said(&json!({"ref": "refs/heads/x", "object": {"type": "commit", "sha": at}}))
}

fn no_reference() -> [Act; 2] {
    [refuse(404, "Not Found"), said(&repository())]
}

#[tokio::test]
async fn a_ref_is_made_only_where_there_is_none() {
    let exists = || refuse(422, "Reference already exists");
    let none = no_reference;
    for (acts, expected, posts) in [
        (vec![reference(HEAD)], Some(RefMade::Found), 0),
        (vec![reference(OTHER)], Some(RefMade::Taken { at: sha(OTHER) }), 0),
        ([none().to_vec(), vec![reference(HEAD)]].concat(), Some(RefMade::Created), 1),
        ([none().to_vec(), vec![unheard(), reference(HEAD)]].concat(), Some(RefMade::Found), 1),
        ([none().to_vec(), vec![ok("<html>"), reference(HEAD)]].concat(), Some(RefMade::Found), 1),
        ([none().to_vec(), vec![ok("<html>")], none().to_vec()].concat(), None, 1),
        (
            [none().to_vec(), vec![exists(), reference(OTHER)]].concat(),
            Some(RefMade::Taken { at: sha(OTHER) }),
            1,
        ),
        ([none().to_vec(), vec![unheard()], none().to_vec()].concat(), None, 1),
        (vec![refuse(404, "Not Found"), refuse(404, "Not Found")], None, 0),
    ] {
        let scene = Scene::of(acts).await;
        let made = scene.repo.create_ref("heads/pilot/GH-12", &sha(HEAD)).await;
        assert_eq!(made.ok(), expected, "{:?}", scene.server.lines());
        assert_eq!(scene.count("POST"), posts);
        assert_eq!(scene.server.lines()[0], "GET /repos/ada/engine/git/ref/heads/pilot/GH-12");
    }
}

#[tokio::test]
async fn a_tag_with_a_message_leads_to_its_commit() {
    let tag = said(&json!({"object": {"type": "tag", "sha": OTHER}}));
    let scene = Scene::of([tag, said(&json!({"object": {"type": "commit", "sha": HEAD}}))]).await;
    assert_eq!(scene.repo.reference("tags/v1").await.unwrap(), Some(sha(HEAD)));
    assert_eq!(scene.server.lines()[1], format!("GET /repos/ada/engine/git/tags/{OTHER}"));
}
