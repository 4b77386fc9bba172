//! A merge is of exactly the head that was judged, and happens once.

use pilot_core::observed::FailureKind;
use pilot_core::policy::MergeMethod;
use serde_json::json;

use super::shapes::{said, unheard};
use super::{HEAD, MERGED, OTHER, PULL, Scene, sha};
use crate::server::{ok, refuse};

#[tokio::test]
async fn every_reply_to_a_merge_has_a_meaning() {
    let done = said(&json!({"sha": MERGED, "merged": true, "message": "Pull Request successfully merged"}));
    let not_done = said(&json!({"sha": MERGED, "merged": false}));
    let blocked = "Required status check \\\"ci\\\" is expected.";
    let not_squash = "Squash merges are not allowed on this repository.";
    let try_again = |what: &str| format!("{what} branch was modified. Review and try the merge again.");
    for (name, act, expected) in [
        ("merges", done, None),
        ("a success that is not merged", not_done, Some((FailureKind::Lost, "not merged"))),
        ("head moved", refuse(409, &try_again("Head")), Some((FailureKind::Conflict, "its head moved"))),
        ("base moved", refuse(405, &try_again("Base")), Some((FailureKind::NotSent, "moved just now"))),
        (
            "conflict",
            refuse(405, "Pull Request is not mergeable"),
            Some((FailureKind::Conflict, "conflicts")),
        ),
        ("a draft", refuse(405, "Pull Request is still a draft"), Some((FailureKind::Refused, "a draft"))),
        ("method", refuse(405, not_squash), Some((FailureKind::Refused, not_squash))),
        ("rule", refuse(405, blocked), Some((FailureKind::Refused, "\"ci\" is expected"))),
        (
            "no permission",
            refuse(403, "Resource not accessible by integration"),
            Some((FailureKind::Forbidden, "give the token")),
        ),
        ("lost", unheard(), Some((FailureKind::Lost, ""))),
        ("an odd reply", ok("{}"), Some((FailureKind::Lost, ""))),
        ("a gateway gives up", refuse(504, "x"), Some((FailureKind::Lost, ""))),
    ] {
        let scene = Scene::of([act]).await;
        let merged = scene.repo.merge(PULL, &sha(HEAD), MergeMethod::Squash, "Add login (#7)").await;
        match (&merged, expected) {
            (Ok(commit), None) => assert_eq!(*commit, sha(MERGED)),
            (Err(failure), Some((kind, words))) => {
                assert_eq!(failure.kind, kind, "{name}: {failure}");
                assert!(failure.detail.contains(words), "{name}: {failure}");
            }
            (merged, expected) => panic!("{name}: {merged:?} instead of {expected:?}"),
        }
        assert_eq!(scene.server.lines(), ["PUT /repos/ada/engine/pulls/7/merge"], "{name}: once");
        let body = &scene.server.seen()[0].body;
        assert!(body.contains(&format!("\"sha\":\"{HEAD}\"")), "every merge is pinned: {body}");
    }
}

#[tokio::test]
async fn whether_a_branch_has_a_commit() {
    let comparison = |status: &str| {
        said(&json!({"status": status, "ahead_by": 0, "behind_by": 2, "merge_base_commit": {"sha": OTHER}}))
    };
    for (status, expected) in [
        ("identical", Some(true)),
        ("behind", Some(true)),
        ("ahead", Some(false)),
        ("diverged", Some(false)),
        ("upside down", None),
    ] {
        let scene = Scene::of([comparison(status)]).await;
        assert_eq!(scene.repo.contains("release/1", &sha(HEAD)).await.ok(), expected, "{status}");
        assert_eq!(
            scene.server.lines(),
            [format!("GET /repos/ada/engine/compare/release%2F1...{HEAD}?per_page=1")]
        );
    }
    let scene = Scene::of([refuse(404, "Not Found")]).await;
    assert!(scene.repo.contains("main", &sha(HEAD)).await.is_err(), "not found is not no");
}
