//! A merge is of exactly the head that was judged, and happens once.

use pilot_link::github::{Merge, MergeMethod, MergeOrder, MergeRefusal, Number, Relation, Why};
use serde_json::json;

use super::shapes::{said, unheard};
use super::{HEAD, MERGED, OTHER, Scene, sha};
use crate::server::{ok, refuse};

#[tokio::test]
async fn every_answer_has_a_name() {
    let done = said(&json!({"sha": MERGED, "merged": true, "message": "Pull Request successfully merged"}));
    let not_done = said(&json!({"sha": MERGED, "merged": false}));
    let yes = Some(Merge::Merged(sha(MERGED)));
    let no = |refusal| Some(Merge::Refused(refusal));
    let blocked = "Required status check \\\"ci\\\" is expected.";
    let not_squash = "Squash merges are not allowed on this repository.";
    let try_again = |what: &str| format!("{what} branch was modified. Review and try the merge again.");
    for (name, act, expected) in [
        ("merges", done, yes),
        ("says that it is not merged", not_done, None),
        ("moved meanwhile", refuse(409, &try_again("Head")), no(MergeRefusal::HeadMoved)),
        ("base moved", refuse(405, &try_again("Base")), no(MergeRefusal::BaseMoved)),
        ("conflict", refuse(405, "Pull Request is not mergeable"), no(MergeRefusal::Conflict)),
        ("a draft", refuse(405, "Pull Request is still a draft"), no(MergeRefusal::Draft)),
        (
            "method",
            refuse(405, not_squash),
            no(MergeRefusal::MethodNotAllowed { message: not_squash.to_owned() }),
        ),
        ("rule", refuse(405, blocked), no(MergeRefusal::Blocked { message: blocked.replace('\\', "") })),
        ("no rights", refuse(403, "Resource not accessible by integration"), None),
        ("lost", unheard(), None),
        ("an odd answer", ok("{}"), None),
        ("a gateway gives up", refuse(504, "x"), None),
    ] {
        let scene = Scene::of([act]).await;
        let head = sha(HEAD);
        let order = MergeOrder {
            number: Number(7),
            head: &head,
            method: MergeMethod::Squash,
            title: "Add login (#7)",
            message: "",
        };
        let merged = scene.repo.merge_once(&order).await;
        let doubt = matches!(&merged, Err(error) if matches!(error.why, Why::Unknown { .. }));
        let may_have_happened =
            ["says that it is not merged", "lost", "an odd answer", "a gateway gives up"].contains(&name);
        assert_eq!((merged.ok(), doubt), (expected, may_have_happened), "{name}");
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
    let scene = Scene::of([comparison("behind"), refuse(404, "Not Found")]).await;
    let comparison = scene.repo.compare("main", HEAD).await.unwrap();
    assert_eq!(
        (comparison.relation, comparison.behind, comparison.merge_base),
        (Relation::Behind, 2, sha(OTHER))
    );
    assert!(scene.repo.contains("main", &sha(HEAD)).await.is_err(), "not found is not no");
}
