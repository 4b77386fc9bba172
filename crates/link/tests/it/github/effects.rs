//! Effects happen once, however often the answer is lost.

use pilot_link::github::{
    CommentId, IssueMade, IssueState, Label, NewIssue, NewPull, NewRelease, PullChange, PullClosed,
    PullOpened, Put, RefGone, RefMade, ReleaseMade, Why,
};
use serde_json::{Value, json};

use super::shapes::{MARK, comment, created, issue, pull, pull_with, repository, said, unheard};
use super::{HEAD, ISSUE, OTHER, Scene, marker, sha};
use crate::pace::START;
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
        (
            "the answer is cut",
            vec![Act::Say(b"HTTP/1.1 201 X\r\nContent-Length: 900\r\n\r\n{".to_vec()), after.clone()],
        ),
        ("the answer is a page", vec![ok("<html>"), after.clone()]),
        ("a gateway gives up", vec![refuse(502, "Bad Gateway"), after.clone()]),
        ("the look afterwards fails once", vec![unheard(), unheard(), after]),
    ]
}

#[tokio::test]
async fn a_comment_is_written_once() {
    let theirs = comment(1, "eve", &format!("I copied {MARK}"));
    let ours = comment(2, "pilot-bot", &format!("Started.\r\n\r\n{MARK}\r\n"));
    for (fate, acts) in fates(&json!([theirs, ours])) {
        let scene = Scene::known([said(&json!([theirs]))].into_iter().chain(acts)).await;
        let put = scene.repo.put_comment(ISSUE, &marker(), "Started.", None, START).await.unwrap();
        assert!(matches!(&put, Put::Created(comment) if comment.id == CommentId(2)), "{fate}: {put:?}");
        assert_eq!(scene.count("POST"), 1, "{fate}");
        assert_eq!(sent(&scene.server, "POST"), json!({"body": format!("Started.\n\n{MARK}\n")}));

        scene.server.then([said(&json!([theirs, ours]))]);
        let again = scene.repo.put_comment(ISSUE, &marker(), "Started.", None, START).await.unwrap();
        assert!(matches!(again, Put::Same(_)), "{fate}");
        assert_eq!(scene.count("POST"), 1, "{fate}");
    }
}

#[tokio::test]
async fn a_comment_is_edited_and_not_repeated() {
    let ours = |text: &str| comment(2, "pilot-bot", &format!("{text}\n\n{MARK}\n"));
    let scene = Scene::known([said(&json!([ours("Started.")])), said(&ours("Done."))]).await;
    let put = scene.repo.put_comment(ISSUE, &marker(), "Done.", None, START).await.unwrap();
    assert!(matches!(&put, Put::Changed(comment) if comment.id == CommentId(2)));
    assert_eq!(put.comment().body, format!("Done.\n\n{MARK}\n"));
    // Known by number it takes one call; deleted by somebody, it is looked for and written anew.
    scene.server.then([
        said(&ours("Merged.")),
        refuse(404, "Not Found"),
        said(&repository()),
        ok("[]"),
        created(&comment(3, "pilot-bot", MARK)),
    ]);
    let known = Some(CommentId(2));
    assert!(matches!(
        scene.repo.put_comment(ISSUE, &marker(), "Merged.", known, START).await.unwrap(),
        Put::Changed(_)
    ));
    let put = scene.repo.put_comment(ISSUE, &marker(), "Merged.", known, START).await.unwrap();
    assert!(matches!(put, Put::Created(comment) if comment.id == CommentId(3)));
    assert!(scene.server.is_done());
}

#[tokio::test]
async fn what_looking_does_not_find_is_a_doubt_and_not_a_second_try() {
    let scene = Scene::known([ok("[]"), unheard(), ok("[]")]).await;
    let error = scene.repo.put_comment(ISSUE, &marker(), "Started.", None, START).await.unwrap_err();
    assert!(matches!(error.why, Why::Unknown { .. }), "{error}");
    assert!(error.to_string().contains("looked for again before it is repeated"), "{error}");
    assert_eq!(scene.count("POST"), 1);

    let scene = Scene::known([ok("[]"), refuse(403, "Resource not accessible by integration")]).await;
    let error = scene.repo.put_comment(ISSUE, &marker(), "Started.", None, START).await.unwrap_err();
    assert!(matches!(error.why, Why::Forbidden { .. }), "a refusal leaves no doubt: {error}");
    let scene = Scene::known([refuse(404, "Not Found")]).await;
    assert!(scene.repo.put_comment(ISSUE, &marker(), "Started.", None, START).await.is_err());
    assert_eq!(scene.count("POST"), 0, "who cannot look does not act");
}

#[tokio::test]
async fn an_issue_is_opened_once() {
    let theirs = issue(20, "eve", MARK);
    let ours = issue(21, "Pilot-Bot", &format!("It broke.\n\n{MARK}\n"));
    for (fate, acts) in fates(&json!([theirs, ours])) {
        let scene = Scene::known([said(&json!([theirs]))].into_iter().chain(acts)).await;
        let made = scene.repo.create_issue(&NEW_ISSUE, &marker(), START).await.unwrap();
        assert!(matches!(&made, IssueMade::Found(issue) if issue.number.0 == 21), "{fate}: {made:?}");
        let body = sent(&scene.server, "POST");
        assert_eq!(body["labels"], json!(["pilot", "autopilot-fix"]));
        scene.server.then([said(&json!([ours]))]);
        assert!(matches!(
            scene.repo.create_issue(&NEW_ISSUE, &marker(), START).await.unwrap(),
            IssueMade::Found(_)
        ));
        assert_eq!(scene.count("POST"), 1, "{fate}");
        let look = &scene.server.lines()[1];
        assert!(look.contains("state=all") && look.contains("since=2026-11-15T23%3A49%3A01Z"), "{look}");
    }
    let scene = Scene::known([ok("[]"), created(&ours)]).await;
    let made = scene.repo.create_issue(&NEW_ISSUE, &marker(), START).await.unwrap();
    assert!(matches!(made, IssueMade::Created(_)));
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
async fn a_pull_request_is_changed_and_closed_at_the_head_that_was_judged() {
    let open = pull_with(&json!({}));
    let closed = pull_with(&json!({"state": "closed"}));
    let merged = pull_with(&json!({"state": "closed", "merged_at": "2026-11-15T21:00:00Z"}));
    let scene = Scene::of([said(&open)]).await;
    let change = PullChange { body: Some("new"), ..PullChange::default() };
    scene.repo.update_pull(ISSUE, &change).await.unwrap();
    assert_eq!(sent(&scene.server, "PATCH"), json!({"body": "new"}));
    for (acts, head, expected, patches) in [
        (vec![said(&open), said(&closed)], HEAD, Some(PullClosed::Closed), 1),
        (vec![said(&closed)], HEAD, Some(PullClosed::Closed), 0),
        (vec![said(&merged)], HEAD, Some(PullClosed::Merged), 0),
        (vec![said(&open), said(&merged)], HEAD, Some(PullClosed::Merged), 1),
        (vec![said(&open)], OTHER, Some(PullClosed::HeadMoved { to: sha(HEAD) }), 0),
        (vec![said(&open), said(&open)], HEAD, None, 1),
    ] {
        let scene = Scene::of(acts).await;
        let closed = scene.repo.close_pull(ISSUE, &sha(head)).await;
        assert_eq!(closed.ok(), expected);
        assert_eq!(scene.count("PATCH"), patches);
    }
}

#[tokio::test]
async fn issues_are_closed_and_reopened_by_value() {
    let mut closed = issue(12, "ada", "x");
    closed["state"] = "closed".into();
    let scene = Scene::of([refuse(502, "x"), said(&closed), said(&issue(12, "ada", "x"))]).await;
    let issue = scene.repo.close_issue(ISSUE, true).await.unwrap();
    assert_eq!(issue.state, IssueState::Closed { unplanned: false }, "what GitHub says, not what we asked");
    assert_eq!(scene.repo.reopen_issue(ISSUE).await.unwrap().state, IssueState::Open);
    let bodies: Vec<String> = scene.server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies[0], "{\"state\":\"closed\",\"state_reason\":\"not_planned\"}");
    assert_eq!(bodies[2], "{\"state\":\"open\"}");
}

#[tokio::test]
async fn labels_are_made_put_on_and_taken_off() {
    let exists = "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"Label\",\"code\":\"already_exists\",\"field\":\"name\"}]}";
    let scene = Scene::of([
        ok("{\"name\":\"pilot\"}"),
        Act::Say(answer(422, &[], exists)),
        refuse(422, "Validation Failed"),
        unheard(),
        said(&json!([{"name": "pilot"}, {"name": "pilot-in-progress"}])),
        ok("[]"),
        refuse(404, "Label does not exist"),
        refuse(404, "Not Found"),
    ])
    .await;
    let label = Label { name: "pilot", color: "1f6feb", description: "Pilot works on it" };
    assert!(scene.repo.ensure_label(&label).await.unwrap());
    assert!(!scene.repo.ensure_label(&label).await.unwrap());
    assert!(scene.repo.ensure_label(&label).await.is_err());
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
async fn a_ref_is_deleted_only_from_where_it_is_expected() {
    let none = no_reference;
    for (acts, expected, deletes) in [
        (none().to_vec(), Some(RefGone::WasGone), 0),
        (vec![reference(OTHER)], Some(RefGone::Moved { to: sha(OTHER) }), 0),
        (vec![reference(HEAD), Act::Say(answer(204, &[], ""))], Some(RefGone::Deleted), 1),
        ([vec![reference(HEAD), unheard()], none().to_vec()].concat(), Some(RefGone::Deleted), 1),
        (
            [vec![reference(HEAD), refuse(422, "Reference does not exist")], none().to_vec()].concat(),
            Some(RefGone::Deleted),
            1,
        ),
        (vec![reference(HEAD), unheard(), reference(HEAD)], None, 1),
        (vec![reference(HEAD), ok("<html>"), reference(HEAD)], None, 1),
        (vec![reference(HEAD), refuse(422, "Cannot delete this branch"), reference(HEAD)], None, 1),
    ] {
        let scene = Scene::of(acts).await;
        let gone = scene.repo.delete_ref("heads/pilot/GH-12", &sha(HEAD)).await;
        assert_eq!(gone.ok(), expected, "{:?}", scene.server.lines());
        assert_eq!(scene.count("DELETE"), deletes);
    }
}

#[tokio::test]
async fn a_tag_with_a_message_leads_to_its_commit() {
    let tag = said(&json!({"object": {"type": "tag", "sha": OTHER}}));
    let scene = Scene::of([tag, said(&json!({"object": {"type": "commit", "sha": HEAD}}))]).await;
    assert_eq!(scene.repo.reference("tags/v1").await.unwrap(), Some(sha(HEAD)));
    assert_eq!(scene.server.lines()[1], format!("GET /repos/ada/engine/git/tags/{OTHER}"));
}

#[tokio::test]
async fn a_release_is_published_once() {
    let release = json!({"id": 3, "tag_name": "v1.2.0", "name": null, "html_url": "https://x"});
    let commit = sha(HEAD);
    let new = NewRelease { tag: "v1.2.0", commit: &commit, name: "1.2", notes: "Login.", prerelease: false };
    let none = no_reference;
    let nothing = || [none(), none()].concat();
    let exists = "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"Release\",\"code\":\"already_exists\",\"field\":\"tag_name\"}]}";
    for (acts, expected, posts) in [
        (vec![said(&release)], "found", 0),
        ([nothing(), vec![created(&release)]].concat(), "created", 1),
        ([none().to_vec(), vec![reference(HEAD), created(&release)]].concat(), "created", 1),
        ([none().to_vec(), vec![reference(OTHER)]].concat(), "taken", 0),
        ([nothing(), vec![unheard(), said(&release)]].concat(), "found", 1),
        ([nothing(), vec![Act::Say(answer(422, &[], exists)), said(&release)]].concat(), "found", 1),
        ([nothing(), vec![unheard()], none().to_vec()].concat(), "unknown", 1),
    ] {
        let scene = Scene::of(acts).await;
        let made = match scene.repo.create_release(&new).await {
            Ok(ReleaseMade::Created(_)) => "created",
            Ok(ReleaseMade::Found(release)) => {
                assert_eq!(release.name, "v1.2.0");
                "found"
            }
            Ok(ReleaseMade::Taken { .. }) => "taken",
            Err(error) => {
                assert!(matches!(error.why, Why::Unknown { .. }), "{error}");
                "unknown"
            }
        };
        assert_eq!(made, expected, "{:?}", scene.server.lines());
        assert_eq!(scene.count("POST"), posts);
    }
}
