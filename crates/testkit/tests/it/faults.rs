//! Every effect under every fault of the forge: looked for and called until it answers, it has happened once.

use std::time::Duration;

use pilot_core::id::{PrNumber, Sha};
use pilot_core::observed::{Failure, FailureKind, PrState, TicketState};
use pilot_core::policy::MergeMethod;
use pilot_core::port::{Marker, NewComment, NewTicket};
use pilot_link::github::Repo;
use pilot_link::http::{Method, Pace};
use serde_json::{Value, json};

use crate::github::{fix_marker, new_pull};
use crate::world::{World, branch};

/// More calls than this means that it never ends.
const MOST_CALLS: usize = 6;

/// What may go wrong once with a call, and whether it is worth calling again. First one of each kind; the others only when
/// the long version of the tests was asked for.
fn faults() -> Vec<(Value, bool)> {
    let status = |status: u16| json!({"fault": "status", "status": status});
    let mut faults = vec![
        (json!({"fault": "refuse"}), true),
        (json!({"fault": "lose_reply"}), true),
        (json!({"fault": "truncated_json"}), true),
        (json!({"fault": "html", "status": 200}), true),
        (status(502), true),
        (json!({"fault": "status", "status": 403, "reason": "secondary_limit", "retry_after": 30}), true),
        (status(404), false),
        (status(422), false),
    ];
    if is_full() {
        faults.extend([
            (json!({"fault": "reset_mid_body"}), true),
            (json!({"fault": "html", "status": 502}), true),
            (json!({"fault": "delay", "ms": 20}), true),
            (status(500), true),
            (status(503), true),
            (status(504), true),
            (json!({"fault": "status", "status": 403, "reason": "primary_limit"}), true),
            (json!({"fault": "status", "status": 403, "reason": "secondary_limit"}), true),
            (json!({"fault": "status", "status": 429, "retry_after": 5}), true),
            (json!({"fault": "stale_read"}), true),
            (status(401), false),
            (json!({"fault": "status", "status": 403, "reason": "rights"}), false),
            (json!({"fault": "status", "status": 403, "reason": "archived"}), false),
            (status(409), false),
            (status(410), false),
        ]);
    }
    faults
}

/// Whether the long version of the tests was asked for.
#[expect(clippy::disallowed_methods, reason = "the tests' one switch")]
fn is_full() -> bool {
    std::env::var_os("PILOT_TEST_FULL").is_some_and(|value| value == "1")
}

/// Calls as the daemon does: waits for a limit's end, looks again after an unconfirmed effect, gives up on a refusal.
async fn perform<T>(world: &World, mut call: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..MOST_CALLS {
        match call().await {
            Ok(done) => return Ok(done),
            Err(Failure { retry_at: Some(until), .. }) => {
                world.pace.pass(until.since(world.pace.now()));
            }
            Err(Failure { kind: FailureKind::Lost | FailureKind::NotSent | FailureKind::Server, .. }) => {
                world.pace.pass(Duration::from_secs(60));
            }
            Err(failure) => return Err(failure),
        }
    }
    panic!("{MOST_CALLS} calls were not enough")
}

/// Lets one call under each fault, on the effect itself and on the look before it, and counts what there is afterwards.
/// A wall may stop the first round; without the fault the next one gets through.
async fn once_each(
    world: &World,
    routes: &[(&str, &str)],
    mut act: impl AsyncFnMut(usize) -> Result<(), Failure>,
    mut count: impl AsyncFnMut(usize) -> usize,
) {
    let mut round = 0;
    for (method, route) in routes {
        for (fault, passes) in faults() {
            let mut rule = fault.clone();
            rule["method"] = (*method).into();
            rule["route"] = (*route).into();
            rule["calls"] = json!([1]);
            world.faults(&json!([rule])).await;
            let first = perform(world, async || act(round).await).await;
            world.faults(&json!([])).await;
            if let Err(error) = first {
                assert!(!passes, "{fault} on {method} {route}: {error}");
                let second = perform(world, async || act(round).await).await;
                assert!(second.is_ok(), "after {fault} on {method} {route}: {second:?}");
            }
            assert_eq!(count(round).await, 1, "{fault} on {method} {route}");
            round += 1;
        }
    }
}

const ISSUES: &str = "/repos/{owner}/{repo}/issues";
const COMMENTS: &str = "/repos/{owner}/{repo}/issues/{number}/comments";
const PULLS: &str = "/repos/{owner}/{repo}/pulls";

/// What the text of a round is known by.
fn marker(round: usize) -> Marker {
    fix_marker(u32::try_from(round).expect("few rounds") + 1)
}

/// How many issues of a round there are.
async fn issues(repo: &Repo, round: usize) -> Result<usize, Failure> {
    let issues = repo.own_tickets("pilot").await?;
    Ok(issues.iter().filter(|issue| issue.marker == Some(marker(round))).count())
}

/// How many comments of a round there are.
async fn comments(repo: &Repo, on: u64, round: usize) -> Result<usize, Failure> {
    let comments = repo.comments(on).await?;
    Ok(comments.iter().filter(|comment| comment.marker == Some(marker(round))).count())
}

async fn open_issue(world: &World, round: usize) -> Result<(), Failure> {
    let new = NewTicket {
        title: "Fix CI".to_owned(),
        text: "It broke.".to_owned(),
        labels: vec!["pilot".to_owned()],
        marker: marker(round),
    };
    match issues(&world.repo, round).await? {
        0 => Ok(world.repo.create_ticket(&new).await.map(drop)?),
        _ => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issues_and_comments() {
    let world = World::new().await;
    let act = async |round: usize| open_issue(&world, round).await;
    let count = async |round: usize| issues(&world.fresh_repo(), round).await.expect("the issues");
    once_each(&world, &[("POST", ISSUES), ("GET", ISSUES)], act, count).await;

    let on = 1;
    let act = async |round: usize| {
        let new = NewComment { text: "It broke.".to_owned(), marker: Some(marker(round)) };
        match comments(&world.repo, on, round).await? {
            0 => Ok(world.repo.add_comment(on, &new).await.map(drop)?),
            _ => Ok(()),
        }
    };
    let count = async |round: usize| comments(&world.fresh_repo(), on, round).await.expect("the comments");
    once_each(&world, &[("POST", COMMENTS), ("GET", COMMENTS)], act, count).await;
    world.stop().await;
}

/// The reply is lost and the list does not show the issue yet: a look after a wait finds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_lags_behind_a_lost_reply() {
    let world = World::new().await;
    world
        .faults(&json!([
            {"method": "POST", "route": ISSUES, "calls": [1], "fault": "lose_reply"},
            {"method": "GET", "route": ISSUES, "calls": [2], "fault": "without_newest"},
        ]))
        .await;
    let lost = open_issue(&world, 0).await.unwrap_err();
    assert_eq!(lost.kind, FailureKind::Lost, "{lost}");
    assert_eq!(issues(&world.repo, 0).await.unwrap(), 0, "the list lags");
    open_issue(&world, 0).await.unwrap();
    assert_eq!(issues(&world.fresh_repo(), 0).await.unwrap(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_the_state_of_an_issue() {
    let world = World::new().await;
    open_issue(&world, 0).await.unwrap();
    let number = 1;
    let name = |round: usize| format!("label-{round}");
    let act = async |round: usize| {
        world.repo.add_labels(number, &[name(round)]).await?;
        Ok(world.repo.close_issue(number).await?)
    };
    let count = async |round: usize| {
        let issue = world.fresh_repo().ticket(number).await.expect("a reply").expect("the issue").ticket;
        let on = issue.labels.iter().filter(|label| **label == name(round)).count();
        world.repo.remove_label(number, &name(round)).await.expect("it comes off");
        world.own(Method::PATCH, "/issues/1", &json!({"state": "open"})).await;
        if issue.state == TicketState::Open { 0 } else { on }
    };
    let of_issue = "/repos/{owner}/{repo}/issues/{number}/labels";
    let routes = [("POST", of_issue), ("PATCH", "/repos/{owner}/{repo}/issues/{number}")];
    once_each(&world, &routes, act, count).await;

    let act = async |round: usize| {
        world.repo.add_labels(number, &[name(round)]).await?;
        Ok(world.repo.remove_label(number, &name(round)).await.map(drop)?)
    };
    let gone = async |round: usize| {
        let issue = world.fresh_repo().ticket(number).await.expect("a reply").expect("the issue").ticket;
        usize::from(!issue.labels.contains(&name(round)))
    };
    once_each(&world, &[("DELETE", "/repos/{owner}/{repo}/issues/{number}/labels/{name*}")], act, gone).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_and_their_merges() {
    let world = World::new().await;
    let rounds = faults().len() * 2;
    let heads = world.publish_many(rounds);
    let name = |round: usize| format!("pilot/round-{round}");
    let open = async |round: usize| {
        let found = world.repo.pulls_from(&branch(&name(round))).await?;
        if found.is_empty() {
            world.repo.create_pull(&new_pull(&name(round), "x")).await?;
        }
        Ok(())
    };
    let pulls_of = async |round: usize| {
        world.fresh_repo().pulls_from(&branch(&name(round))).await.expect("the pull requests")
    };
    let count = async |round: usize| pulls_of(round).await.len();
    once_each(&world, &[("POST", PULLS), ("GET", PULLS)], open, count).await;

    let merge = async |round: usize| {
        let number: PrNumber = pulls_of(round).await[0].pr.number;
        if let PrState::Merged { .. } = world.repo.pull(number).await?.state {
            return Ok(());
        }
        world.repo.merge(number, &heads[round], MergeMethod::Squash, "Add").await.map(drop)
    };
    let merged = async |round: usize| {
        let file = format!("contents/file-{round}");
        let there = world.own(Method::GET, &format!("/{file}"), &Value::Null).await;
        usize::from(there["type"] == "file")
    };
    let routes = [
        ("PUT", "/repos/{owner}/{repo}/pulls/{number}/merge"),
        ("GET", "/repos/{owner}/{repo}/pulls/{number}"),
    ];
    once_each(&world, &routes, merge, merged).await;
    let main = world.repo.reference("heads/main").await.unwrap().unwrap();
    let first = world.git(&["rev-parse", "refs/pilot/base/main"]);
    let path = format!("/compare/{first}...{main}");
    let comparison = world.own(Method::GET, &path, &Value::Null).await;
    assert_eq!(comparison["ahead_by"], rounds, "one commit for each, and no other");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags() {
    let world = World::new().await;
    let main: Sha = world.repo.reference("heads/main").await.unwrap().unwrap();
    let act =
        async |round: usize| Ok(world.repo.create_ref(&format!("tags/r{round}"), &main).await.map(drop)?);
    let count = async |round: usize| {
        let tags = world.fresh_repo().tags().await.expect("the tags");
        tags.iter().filter(|tag| tag.name == format!("r{round}")).count()
    };
    let routes =
        [("POST", "/repos/{owner}/{repo}/git/refs"), ("GET", "/repos/{owner}/{repo}/git/ref/{ref*}")];
    once_each(&world, &routes, act, count).await;

    world.stop().await;
}
