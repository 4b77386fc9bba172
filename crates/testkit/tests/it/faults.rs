//! Every effect under every fault of the forge: looked for and called until it answers, it has happened once.

use std::time::Duration;

use pilot_link::github::{
    GithubError, IssueQuery, IssueState, Marker, Merge, MergeMethod, MergeOrder, NewIssue, NewPull, Number,
    PullOpened, PullState, Repo, Sha, StateFilter, Why,
};
use pilot_link::http::{Method, Pace};
use serde_json::{Value, json};

use crate::world::World;

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

/// Calls as whoever performs effects does: a hold is waited for, a doubt is looked into, a wall is told to somebody.
async fn perform<T>(
    world: &World,
    mut call: impl AsyncFnMut() -> Result<T, GithubError>,
) -> Result<T, GithubError> {
    for _ in 0..MOST_CALLS {
        match call().await {
            Ok(done) => return Ok(done),
            Err(GithubError { why: Why::RateLimited { until, .. }, .. }) => {
                world.pace.pass(world.pace.now().until(until));
            }
            Err(GithubError {
                why:
                    Why::Unknown { .. } | Why::Unreachable { .. } | Why::Server { .. } | Why::Malformed { .. },
                ..
            }) => world.pace.pass(Duration::from_secs(60)),
            Err(error) => return Err(error),
        }
    }
    panic!("{MOST_CALLS} calls were not enough")
}

/// Lets one call under each fault, on the effect itself and on the look before it, and counts what there is afterwards.
/// A wall may stop the first round; without the fault the next one gets through.
async fn once_each(
    world: &World,
    routes: &[(&str, &str)],
    mut act: impl AsyncFnMut(usize) -> Result<(), GithubError>,
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

/// What a text of a round says.
fn mark(round: usize) -> String {
    format!("It broke.\n\n<!-- round/{round} -->")
}

fn is_marked(body: &str, round: usize) -> bool {
    body.replace('\r', "").trim_end() == mark(round)
}

const ALL: IssueQuery<'_> = IssueQuery { labels: &[], state: StateFilter::All };

/// How many issues of a round there are.
async fn issues(repo: &Repo, round: usize) -> Result<usize, GithubError> {
    let issues = repo.issues(&ALL).await?.items;
    Ok(issues.iter().filter(|issue| is_marked(&issue.body, round)).count())
}

/// How many comments of a round there are.
async fn comments(repo: &Repo, on: Number, round: usize) -> Result<usize, GithubError> {
    let comments = repo.comments(on).await?.items;
    Ok(comments.iter().filter(|comment| is_marked(&comment.body, round)).count())
}

async fn open_issue(world: &World, round: usize) -> Result<(), GithubError> {
    let new = NewIssue { title: "Fix CI", body: &mark(round), labels: &["pilot"] };
    match issues(&world.repo, round).await? {
        0 => world.repo.add_issue(&new).await.map(drop),
        _ => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issues_and_comments() {
    let world = World::new().await;
    let act = async |round: usize| open_issue(&world, round).await;
    let count = async |round: usize| issues(&world.fresh_repo(), round).await.expect("the issues");
    once_each(&world, &[("POST", ISSUES), ("GET", ISSUES)], act, count).await;

    let on = Number(1);
    let act = async |round: usize| match comments(&world.repo, on, round).await? {
        0 => world.repo.add_comment(on, &mark(round)).await.map(drop),
        _ => Ok(()),
    };
    let count = async |round: usize| comments(&world.fresh_repo(), on, round).await.expect("the comments");
    once_each(&world, &[("POST", COMMENTS), ("GET", COMMENTS)], act, count).await;
    world.stop().await;
}

/// The reply is lost and the list does not show it yet: who waits before the next look finds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_lags_behind_a_lost_reply() {
    let world = World::new().await;
    world
        .faults(&json!([
            {"method": "POST", "route": ISSUES, "calls": [1], "fault": "lose_reply"},
            {"method": "GET", "route": ISSUES, "calls": [2], "fault": "without_newest"},
        ]))
        .await;
    let doubt = open_issue(&world, 0).await.unwrap_err();
    assert!(matches!(doubt.why, Why::Unknown { .. }), "{doubt}");
    assert_eq!(issues(&world.repo, 0).await.unwrap(), 0, "the list lags");
    open_issue(&world, 0).await.unwrap();
    assert_eq!(issues(&world.fresh_repo(), 0).await.unwrap(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_the_state_of_an_issue() {
    let world = World::new().await;
    open_issue(&world, 0).await.unwrap();
    let number = Number(1);
    let name = |round: usize| format!("label-{round}");
    let act = async |round: usize| {
        world.repo.add_labels(number, &[&name(round)]).await?;
        world.repo.close_issue(number, false).await.map(drop)
    };
    let count = async |round: usize| {
        let issue = world.fresh_repo().issue(number).await.expect("the issue");
        let on = issue.labels.iter().filter(|label| **label == name(round)).count();
        world.repo.remove_label(number, &name(round)).await.expect("it comes off");
        world.own(Method::PATCH, "/issues/1", &json!({"state": "open"})).await;
        if issue.state == IssueState::Open { 0 } else { on }
    };
    let of_issue = "/repos/{owner}/{repo}/issues/{number}/labels";
    let routes = [("POST", of_issue), ("PATCH", "/repos/{owner}/{repo}/issues/{number}")];
    once_each(&world, &routes, act, count).await;

    let act = async |round: usize| {
        world.repo.add_labels(number, &[&name(round)]).await?;
        world.repo.remove_label(number, &name(round)).await.map(drop)
    };
    let gone = async |round: usize| {
        let issue = world.fresh_repo().issue(number).await.expect("the issue");
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
    let open = async |round: usize| {
        let head = format!("pilot/round-{round}");
        let key = Marker::new(&head)?;
        let new = NewPull { title: "Add", body: "x", head_branch: &head, base_branch: "main", draft: false };
        let opened = world.repo.open_pull(&new, &key).await?;
        assert!(matches!(opened, PullOpened::Created(_) | PullOpened::Found(_)), "{opened:?}");
        Ok(())
    };
    let pulls_of = async |round: usize| {
        let head = format!("pilot/round-{round}");
        world.fresh_repo().pulls_from(&head).await.expect("the pull requests").items
    };
    let count = async |round: usize| pulls_of(round).await.len();
    once_each(&world, &[("POST", PULLS), ("GET", PULLS)], open, count).await;

    let merge = async |round: usize| {
        let number = pulls_of(round).await[0].number;
        let order = MergeOrder {
            number,
            head: &heads[round],
            method: MergeMethod::Squash,
            title: "Add",
            message: "",
        };
        if let PullState::Merged { .. } = world.repo.pull(number).await?.state {
            return Ok(());
        }
        match world.repo.merge_once(&order).await? {
            Merge::Merged(_) => Ok(()),
            // A fault may say 409 or 405 in anybody's name; then it is tried again.
            Merge::Refused(refusal) => Err(GithubError {
                what: "merge".to_owned(),
                why: Why::Conflict { message: format!("{refusal:?}") },
            }),
        }
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
    let comparison = world.repo.compare(&first, main.as_str()).await.unwrap();
    assert_eq!(comparison.ahead, rounds as u64, "one commit for each, and no other");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags() {
    let world = World::new().await;
    let main: Sha = world.repo.reference("heads/main").await.unwrap().unwrap();
    let act = async |round: usize| world.repo.create_ref(&format!("tags/r{round}"), &main).await.map(drop);
    let count = async |round: usize| {
        let tags = world.fresh_repo().tags().await.expect("the tags").items;
        tags.iter().filter(|tag| tag.name == format!("r{round}")).count()
    };
    let routes =
        [("POST", "/repos/{owner}/{repo}/git/refs"), ("GET", "/repos/{owner}/{repo}/git/ref/{ref*}")];
    once_each(&world, &routes, act, count).await;

    world.stop().await;
}
