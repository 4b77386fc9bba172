//! A merge is of exactly the head that was judged, and happens once.

use pilot_link::github::{Merge, MergeMethod, MergeOrder, MergeRefusal, Number, Relation};
use serde_json::json;

use super::shapes::{pull_with, said, unheard};
use super::{HEAD, MERGED, OTHER, Scene, sha};
use crate::server::{Act, ok, refuse};

fn done() -> Act {
    said(&json!({"sha": MERGED, "merged": true, "message": "Pull Request successfully merged"}))
}

fn open() -> Act {
    said(&pull_with(&json!({})))
}

fn merged() -> Act {
    said(&pull_with(
        &json!({"state": "closed", "merged_at": "2026-11-15T21:00:00Z", "merge_commit_sha": MERGED}),
    ))
}

#[tokio::test]
async fn every_answer_has_a_name() {
    let other_head = json!({"ref": "pilot/GH-12", "sha": OTHER, "repo": null});
    let moved = || said(&pull_with(&json!({"head": other_head})));
    let merged_elsewhere = said(&pull_with(
        &json!({"head": other_head, "state": "closed", "merged_at": "2026-11-15T21:00:00Z"}),
    ));
    let yes = || Some(Merge::Merged { commit: Some(sha(MERGED)) });
    let no = |refusal| Some(Merge::Refused(refusal));
    let to_other = || MergeRefusal::HeadMoved { to: Some(sha(OTHER)) };
    let blocked = "Required status check \\\"ci\\\" is expected.";
    let not_squash = "Squash merges are not allowed on this repository.";
    for (name, acts, expected, puts) in [
        ("merges", vec![open(), done()], yes(), 1),
        ("was merged", vec![merged()], yes(), 0),
        ("was merged at another head", vec![merged_elsewhere], no(to_other()), 0),
        ("was closed", vec![said(&pull_with(&json!({"state": "closed"})))], no(MergeRefusal::Closed), 0),
        ("is a draft", vec![said(&pull_with(&json!({"draft": true})))], no(MergeRefusal::Draft), 0),
        ("moved before", vec![moved()], no(to_other()), 0),
        (
            "moved meanwhile",
            vec![open(), refuse(409, "Head branch was modified. Review and try the merge again."), moved()],
            no(to_other()),
            1,
        ),
        ("lost, but done", vec![open(), unheard(), merged()], yes(), 1),
        ("an odd answer, but done", vec![open(), ok("{}"), merged()], yes(), 1),
        ("lost and not done", vec![open(), unheard(), open()], None, 1),
        ("a gateway gives up", vec![open(), refuse(504, "x"), merged()], yes(), 1),
        (
            "somebody was faster",
            vec![open(), refuse(405, "Pull Request is not mergeable"), merged()],
            yes(),
            1,
        ),
        (
            "conflict",
            vec![open(), refuse(405, "Pull Request is not mergeable"), open()],
            no(MergeRefusal::Conflict),
            1,
        ),
        (
            "base moved",
            vec![open(), refuse(405, "Base branch was modified. Review and try the merge again."), open()],
            no(MergeRefusal::BaseMoved),
            1,
        ),
        (
            "method",
            vec![open(), refuse(405, not_squash), open()],
            no(MergeRefusal::MethodNotAllowed { message: not_squash.to_owned() }),
            1,
        ),
        (
            "rule",
            vec![open(), refuse(405, blocked), open()],
            no(MergeRefusal::Blocked { message: blocked.replace('\\', "") }),
            1,
        ),
        ("no rights", vec![open(), refuse(403, "Resource not accessible by integration")], None, 1),
        ("cannot look", vec![refuse(404, "Not Found")], None, 0),
    ] {
        let scene = Scene::of(acts).await;
        let head = sha(HEAD);
        let order = MergeOrder {
            number: Number(7),
            head: &head,
            method: MergeMethod::Squash,
            title: "Add login (#7)",
            message: "",
        };
        assert_eq!(scene.repo.merge(&order).await.ok(), expected, "{name}");
        assert_eq!(scene.count("PUT"), puts, "{name}");
        assert!(scene.server.is_done(), "{name}");
        for seen in scene.server.seen().iter().filter(|seen| seen.line().starts_with("PUT")) {
            assert!(
                seen.body.contains(&format!("\"sha\":\"{HEAD}\"")),
                "every merge is pinned: {}",
                seen.body
            );
        }
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
