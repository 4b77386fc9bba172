//! What CI says, all of it, about the commit that was asked about.

use pilot_core::ci::{Check, CheckState, Required};
use serde_json::{Value, json};

use super::shapes::{repository, said};
use super::{HEAD, OTHER, Scene, sha};
use crate::server::{Act, Server, answer, ok, refuse};

fn run(id: u64, commit: &str, status: &str, conclusion: &Value) -> Value {
    json!({
        "id": id, "name": format!("check {id}"), "head_sha": commit, "status": status, "conclusion": conclusion,
        "app": {"id": 15368, "slug": "github-actions"}, "output": {"title": "1 failed", "summary": null},
        "html_url": null,
    })
}

#[tokio::test]
async fn check_runs_are_all_there_or_an_error() {
    let runs = |total: u64, runs: &[Value], next: Option<&str>| {
        let link = next.map(|next| format!("<{next}>; rel=\"next\"")).unwrap_or_default();
        Act::Say(answer(
            200,
            &[("Link", &link)],
            &json!({"total_count": total, "check_runs": runs}).to_string(),
        ))
    };
    let [one, two] = [run(1, HEAD, "completed", &json!("failure")), run(2, HEAD, "queued", &Value::Null)];
    let scene =
        Scene::of([runs(2, std::slice::from_ref(&one), Some("?page=2")), runs(2, &[two], None)]).await;
    let list = scene.repo.check_runs(&sha(HEAD)).await.unwrap();
    let states: Vec<(u64, CheckState)> = list.iter().map(|run| (run.id, run.check.state)).collect();
    assert_eq!(states, [(1, CheckState::Failed), (2, CheckState::Pending)]);
    assert!(scene.server.lines()[0].ends_with("/check-runs?filter=latest&per_page=100"));

    let scene = Scene::of([runs(2, &[one], None)]).await;
    let error = scene.repo.check_runs(&sha(HEAD)).await.unwrap_err();
    assert!(error.to_string().contains("a list of 2 ended after 1"), "{error}");
    let stale = run(1, OTHER, "completed", &json!("success"));
    let scene = Scene::of([runs(1, &[stale], None)]).await;
    let error = scene.repo.check_runs(&sha(HEAD)).await.unwrap_err();
    assert!(error.to_string().contains("got a report on"), "a verdict on another commit: {error}");
    let scene = Scene::of([runs(0, &[], None)]).await;
    assert!(scene.repo.check_runs(&sha(HEAD)).await.unwrap().is_empty());
}

#[tokio::test]
async fn statuses_are_the_latest_of_each_context() {
    let status = |id: u64, commit: &str, context: &str, state: &str| {
        let url = format!("https://forge/repos/o/r/statuses/{commit}");
        json!({"id": id, "url": url, "context": context, "state": state, "description": null, "target_url": null})
    };
    let all = [
        status(4, HEAD, "c", "maybe"),
        status(3, HEAD, "a", "success"),
        status(2, HEAD, "b", "error"),
        status(1, HEAD, "a", "failure"),
    ];
    let scene = Scene::of([said(&json!(all))]).await;
    let check = |name: &str, state| Check { name: name.to_owned(), state };
    assert_eq!(
        scene.repo.statuses(&sha(HEAD)).await.unwrap(),
        [check("a", CheckState::Passed), check("b", CheckState::Failed), check("c", CheckState::Pending)]
    );
    let scene = Scene::of([said(&json!([status(1, OTHER, "a", "success")]))]).await;
    let error = scene.repo.statuses(&sha(HEAD)).await.unwrap_err();
    assert!(error.to_string().contains("got a report on"), "a verdict on another commit: {error}");
    let scene = Scene::of([said(&json!([]))]).await;
    assert!(scene.repo.statuses(&sha(HEAD)).await.unwrap().is_empty(), "no status is no success");
}

#[tokio::test]
async fn required_checks_are_known_or_said_to_be_unknown() {
    let free = || ok("{\"name\":\"main\",\"protected\":false}");
    let checks = json!({"contexts": ["build", "lint"], "checks": [{"context": "build", "app_id": 15368}, {"context": "lint", "app_id": -1}]});
    let guarded =
        said(&json!({"protected": true, "protection": {"enabled": true, "required_status_checks": checks}}));
    let silent = || ok("{\"protected\":true}");
    let rules = said(&json!([
        {"type": "deletion"},
        {"type": "required_status_checks", "parameters": {"required_status_checks": [{"context": "e2e", "integration_id": 7}, {"context": "lint"}]}},
    ]));
    let no_rules = || ok("[]");
    let known = |names: &[&str]| Some(Required::Known(names.iter().map(|name| (*name).to_owned()).collect()));
    let forbidden = || refuse(403, "Resource not accessible by integration");
    for (acts, expected) in [
        (vec![free(), no_rules()], known(&[])),
        (vec![guarded, rules], known(&["build", "e2e", "lint"])),
        (vec![silent(), ok("{\"contexts\":[\"ci\"]}"), no_rules()], known(&["ci"])),
        (vec![free(), refuse(404, "Not Found")], known(&[])),
        (vec![silent(), refuse(404, "Not Found"), no_rules()], Some(Required::Unknown)),
        (vec![refuse(404, "Branch not found")], None),
        (vec![free(), said(&json!([{"type": "required_status_checks", "parameters": 7}]))], None),
    ] {
        let scene = Scene::of(acts).await;
        assert_eq!(scene.repo.required_checks("main").await.ok(), expected, "{:?}", scene.server.lines());
    }
    let scene = Scene::of([free(), refuse(404, "Not Found"), free()]).await;
    for _ in 0..2 {
        assert_eq!(scene.repo.required_checks("main").await.ok(), known(&[]));
    }
    assert_eq!(scene.server.seen().len(), 3, "a server without rules is asked once");
    let scene = Scene::of([silent(), forbidden(), no_rules(), free(), forbidden()]).await;
    for _ in 0..2 {
        let required = scene.repo.required_checks("feature/x").await.unwrap();
        assert_eq!(required, Required::Unknown);
    }
    assert_eq!(scene.server.lines()[0], "GET /repos/ada/engine/branches/feature%2Fx");
}

#[tokio::test]
async fn the_log_of_a_job_is_fetched_without_our_token() {
    let store = Server::start([Act::Say(answer(200, &[], "line 1\nline 2\nerror: boom\n"))]).await;
    let signed = store.at("blob?sig=s3cr3t");
    let scene = Scene::of([
        Act::Say(answer(302, &[("Location", signed.as_str())], "")),
        ok("straight away"),
        refuse(410, "Gone"),
        said(&repository()),
        refuse(404, "Not Found"),
        refuse(404, "Not Found"),
    ])
    .await;
    let tail = scene.repo.job_log(5, 12).await.unwrap().unwrap();
    assert_eq!((tail.bytes.as_slice(), tail.skipped), (b"error: boom\n".as_slice(), 14));
    assert!(store.seen()[0].header("authorization").is_none());
    assert_eq!(scene.repo.job_log(5, 5).await.unwrap().unwrap().bytes, b" away");
    assert_eq!(scene.repo.job_log(5, 12).await.unwrap(), None, "logs do not live for ever");
    assert!(scene.repo.job_log(5, 12).await.is_err(), "no repository is not no log");
    assert_eq!(scene.server.lines()[0], "GET /repos/ada/engine/actions/jobs/5/logs");
}
