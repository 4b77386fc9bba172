//! Effects are sent once where twice would be two, and as often as it takes where it would be the same.

use pilot_core::id::CommentId;
use pilot_core::observed::PrState;
use pilot_core::port::{FixMeta, Marker, NewComment, NewPull, NewTicket};
use pilot_link::error::{CallFault, LinkError};
use pilot_link::github::RefCreated;
use serde_json::{Value, json};

use super::shapes::{comment, created, issue, pull, pull_with, repository, said, unheard};
use super::{HEAD, ISSUE, OTHER, PULL, Scene, branch, sha};
use crate::server::{Act, Seen, Server, answer, ok, refuse};

fn new_ticket() -> NewTicket {
    NewTicket {
        title: "Fix CI: Add login".to_owned(),
        text: "It broke.".to_owned(),
        labels: vec!["pilot".to_owned(), "autopilot-fix".to_owned()],
        marker: Marker::Fix(FixMeta { branch: branch("pilot/GH-12"), pr: PULL, iteration: 1 }),
    }
}

fn new_pull() -> NewPull {
    NewPull {
        title: "Add login".to_owned(),
        text: "Closes #12".to_owned(),
        branch: branch("pilot/GH-12"),
        base: branch("main"),
        marker: Marker::Closed(PULL),
    }
}

fn new_comment(text: &str) -> NewComment {
    NewComment { text: text.to_owned(), marker: None }
}

fn comment_id() -> CommentId {
    CommentId::parse("2").expect("an id")
}

/// The body of the only request of this kind.
fn sent(server: &Server, start: &str) -> Value {
    let all: Vec<Seen> = server.seen().into_iter().filter(|seen| seen.line().starts_with(start)).collect();
    assert_eq!(all.len(), 1, "{:?}", server.lines());
    serde_json::from_str(&all[0].body).expect("JSON was sent")
}

/// An answer that ends in the middle.
fn cut() -> Act {
    Act::Say(b"HTTP/1.1 201 X\r\nContent-Length: 900\r\n\r\n{".to_vec())
}

/// A call that creates something; the result is its number.
async fn create(scene: &Scene, what: &str) -> Result<String, LinkError> {
    Ok(match what {
        "comment" => scene.repo.add_comment(ISSUE, &new_comment("Started.")).await?.to_string(),
        "issue" => scene.repo.create_ticket(&new_ticket()).await?.to_string(),
        _ => scene.repo.create_pull(&new_pull()).await?.number.0.to_string(),
    })
}

#[tokio::test]
async fn what_creates_something_is_sent_once_and_is_unconfirmed_when_the_reply_is_lost() {
    for (what, id, answer, sends) in [
        ("comment", "2", comment(2, "pilot-bot", "Started."), json!({"body": "Started."})),
        (
            "issue",
            "GH-2",
            issue(2, "pilot-bot", "It broke."),
            json!({"title": "Fix CI: Add login", "body": "It broke.\n\n<!-- autopilot-meta branch:pilot/GH-12 pr:7 iteration:1 -->\n", "labels": ["pilot", "autopilot-fix"]}),
        ),
        (
            "pull request",
            "2",
            pull(2, "pilot-bot", "Closes #12"),
            json!({"title": "Add login", "body": "Closes #12\n\n<!-- pilot-closed 7 -->\n", "head": "pilot/GH-12", "base": "main", "draft": false}),
        ),
    ] {
        let scene = Scene::of([created(&answer)]).await;
        assert_eq!(create(&scene, what).await.ok().as_deref(), Some(id), "{what}");
        assert_eq!(sent(&scene.server, "POST"), sends);
        for lost in [unheard(), cut(), ok("<html>"), refuse(502, "Bad Gateway")] {
            let scene = Scene::of([lost.clone()]).await;
            let error = create(&scene, what).await.unwrap_err();
            assert!(matches!(error.why, CallFault::Unconfirmed { .. }), "{what}, {lost:?}: {error}");
            assert!(error.to_string().contains("checks before it repeats it"), "{error}");
            assert_eq!(scene.count("POST"), 1, "{what}, {lost:?}");
        }
        let scene = Scene::of([refuse(403, "Resource not accessible by integration")]).await;
        let error = create(&scene, what).await.unwrap_err();
        assert!(matches!(error.why, CallFault::Forbidden { .. }), "a refusal leaves no doubt: {error}");
        // Nothing was sent, so it may be sent again.
        let scene = Scene::of([Act::Slam, Act::Slam, Act::Slam]).await;
        assert!(create(&scene, what).await.is_err());
        assert_eq!(scene.count("POST"), 0, "{what}");
    }
}

#[tokio::test]
async fn a_comment_is_changed_by_its_id_until_it_is_deleted() {
    let done = comment(2, "pilot-bot", "Done.");
    let scene = Scene::of([unheard(), said(&done), refuse(404, "Not Found"), said(&repository())]).await;
    let changed = scene.repo.edit_comment(&comment_id(), &new_comment("Done.")).await.unwrap();
    assert_eq!(changed, Some(comment_id()), "it is sent again until it arrives");
    assert_eq!(scene.repo.edit_comment(&comment_id(), &new_comment("Done.")).await.unwrap(), None);
    let scene = Scene::of([refuse(404, "Not Found"), refuse(404, "Not Found")]).await;
    let edited = scene.repo.edit_comment(&comment_id(), &new_comment("x")).await;
    assert!(edited.is_err(), "no repository is not no comment");
}

#[tokio::test]
async fn a_pull_request_that_exists_already_is_unconfirmed() {
    let exists = "{\"message\":\"Validation Failed\",\"errors\":[{\"message\":\"A pull request already exists for ada:x.\"}]}";
    let scene = Scene::of([Act::Say(answer(422, &[], exists))]).await;
    let error = scene.repo.create_pull(&new_pull()).await.unwrap_err();
    assert!(matches!(error.why, CallFault::Unconfirmed { .. }), "{error}");
}

#[tokio::test]
async fn issues_and_pull_requests_are_closed_by_value() {
    let scene = Scene::of([refuse(502, "x"), said(&issue(12, "ada", "x"))]).await;
    scene.repo.close_issue(ISSUE).await.unwrap();
    let body = &scene.server.seen()[1].body;
    assert_eq!(body, "{\"state\":\"closed\",\"state_reason\":\"completed\"}");

    let scene = Scene::of([unheard(), said(&pull_with(&json!({"state": "closed"})))]).await;
    assert_eq!(scene.repo.close_pull(PULL).await.unwrap().state, PrState::Closed);
    assert_eq!(scene.server.seen()[1].body, "{\"state\":\"closed\"}");
    assert_eq!(scene.count("PATCH /repos/ada/engine/pulls/7"), 2, "it is sent again until it arrives");
}

#[tokio::test]
async fn labels_are_added_and_removed() {
    let scene = Scene::of([
        unheard(),
        said(&json!([{"name": "pilot"}, {"name": "pilot-in-progress"}])),
        ok("[]"),
        refuse(404, "Label does not exist"),
        refuse(404, "Not Found"),
    ])
    .await;
    scene.repo.add_labels(ISSUE, &["pilot-in-progress".to_owned()]).await.unwrap();
    assert_eq!(scene.server.seen()[1].body, "{\"labels\":[\"pilot-in-progress\"]}");
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
async fn a_ref_is_created_only_where_none_exists() {
    let exists = || refuse(422, "Reference already exists");
    let none = no_reference;
    for (acts, expected, posts) in [
        (vec![reference(HEAD)], Some(RefCreated::Found), 0),
        (vec![reference(OTHER)], Some(RefCreated::Taken { at: sha(OTHER) }), 0),
        ([none().to_vec(), vec![reference(HEAD)]].concat(), Some(RefCreated::Created), 1),
        ([none().to_vec(), vec![unheard(), reference(HEAD)]].concat(), Some(RefCreated::Found), 1),
        ([none().to_vec(), vec![ok("<html>"), reference(HEAD)]].concat(), Some(RefCreated::Found), 1),
        ([none().to_vec(), vec![ok("<html>")], none().to_vec()].concat(), None, 1),
        (
            [none().to_vec(), vec![exists(), reference(OTHER)]].concat(),
            Some(RefCreated::Taken { at: sha(OTHER) }),
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
