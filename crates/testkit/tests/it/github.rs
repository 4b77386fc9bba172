//! Every call of GitHub's client, against a forge that is nobody's mock.

use pilot_exec::git::Pushed;
use pilot_link::github::{
    CheckRun, CheckState, Conclusion, IssueQuery, IssueState, Marker, Merge, MergeMethod, MergeOrder,
    MergeRefusal, Mergeability, NewIssue, NewPull, Number, Permission, Pull, PullOpened, PullState, RefMade,
    Relation, Required, RequiredCheck, Sha, StateFilter, StatusState, Why,
};
use pilot_link::http::Method;
use serde_json::{Value, json};

use crate::world::{World, branch, until};

fn marker(key: &str) -> Marker {
    Marker::new(key).expect("a key")
}

const LABELLED: IssueQuery<'_> = IssueQuery { labels: &["pilot"], state: StateFilter::Open };

async fn open_issue(world: &World) -> Number {
    let new = NewIssue { title: "Add login", body: "Please.", labels: &["pilot"] };
    world.repo.add_issue(&new).await.expect("an issue").number
}

async fn open_pull(world: &World, head: &str) -> Pull {
    let new = NewPull {
        title: "Add login",
        body: "Closes #1",
        head_branch: head,
        base_branch: "main",
        draft: false,
    };
    let opened = world.repo.open_pull(&new, &marker(head)).await.expect("a pull request");
    let PullOpened::Created(pull) = opened else { panic!("{opened:?}") };
    pull
}

async fn checked(world: &World, sha: &Sha) -> CheckRun {
    until(async || {
        let runs = world.repo.check_runs(sha).await.expect("check runs").items;
        runs.into_iter().find(|run| matches!(run.state, CheckState::Ended(_)))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repository_its_people_and_its_issues() {
    let world = World::new().await;
    let repo = &world.repo;
    assert_eq!(world.github.login().await.unwrap(), "pilot");
    let facts = repo.facts().await.unwrap();
    assert_eq!((facts.default_branch.as_str(), facts.archived), ("main", false));
    assert!(facts.rights.is_some_and(|rights| rights.push) && facts.merge_methods.is_some());

    let ada = world.user("ada").await;
    assert_eq!(repo.permission("pilot").await.unwrap(), Permission::Admin);
    assert!(repo.permission("ada").await.unwrap() < Permission::Write);
    assert_eq!(repo.permission("nobody-of-that-name").await.unwrap(), Permission::None);
    let new = NewIssue { title: "Add login", body: "Please.\n\nDepends on: #7", labels: &[] };
    let issue = ada.add_issue(&new).await.unwrap();
    let number = issue.number;
    assert!(issue.author.is("ada") && !issue.is_pull && issue.state == IssueState::Open);
    assert!(repo.issues(&LABELLED).await.unwrap().items.is_empty());
    let labels = repo.add_labels(number, &["pilot", "pilot-in-progress"]).await.unwrap();
    assert_eq!(labels.len(), 2);
    assert!(repo.remove_label(number, "pilot-in-progress").await.unwrap());
    assert!(!repo.remove_label(number, "pilot-in-progress").await.unwrap());
    let gone = repo.remove_label(Number(4711), "pilot").await.unwrap_err();
    assert!(matches!(gone.why, Why::NotFound { .. }), "{gone}");

    let first = repo.issues(&LABELLED).await.unwrap();
    assert_eq!((first.items.len(), first.unchanged), (1, false));
    assert_eq!(first.items[0].labels, ["pilot"]);
    assert!(repo.issues(&LABELLED).await.unwrap().unchanged, "an idle poll is a 304");
    assert_eq!(repo.issue(number).await.unwrap().body.matches("Depends on: #7").count(), 1);

    let closed = repo.close_issue(number, true).await.unwrap();
    assert_eq!(closed.state, IssueState::Closed { unplanned: true });
    assert_eq!(repo.close_issue(number, false).await.unwrap().number, number);
    assert!(repo.issues(&LABELLED).await.unwrap().items.is_empty());
    let all = IssueQuery { labels: &[], state: StateFilter::All };
    assert_eq!(repo.issues(&all).await.unwrap().items.len(), 1);
    assert_eq!(repo.find_issue(Number(4711)).await.unwrap(), None);

    let refused = ada.add_labels(number, &["pilot"]).await.unwrap_err();
    assert!(matches!(refused.why, Why::Forbidden { .. } | Why::NotFound { .. }), "{refused}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_are_written_changed_and_listed() {
    let world = World::new().await;
    let repo = &world.repo;
    let number = open_issue(&world).await;
    let comment = repo.add_comment(number, "Started.").await.unwrap();
    let changed = repo.edit_comment(comment.id, "Merged.").await.unwrap().expect("it is there");
    assert!(changed.id == comment.id && changed.body == "Merged.");
    let ordered = world.user("ada").await.add_comment(number, "/pilot why").await.unwrap();
    let listed: Vec<String> =
        repo.comments(number).await.unwrap().items.into_iter().map(|it| it.body).collect();
    assert_eq!(listed, ["Merged.", "/pilot why"]);
    let posted = repo.comments_since(world.start).await.unwrap();
    assert_eq!(
        posted.items.iter().map(|posted| posted.comment.id).collect::<Vec<_>>(),
        [comment.id, ordered.id]
    );
    assert!(posted.items.iter().all(|posted| posted.on == number));
    assert!(repo.comments_since(world.start).await.unwrap().unchanged, "an idle poll is a 304");
    let path = format!("/issues/comments/{}", comment.id.0);
    world.own(Method::DELETE, &path, &Value::Null).await;
    assert_eq!(repo.edit_comment(comment.id, "Done.").await.unwrap(), None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_from_push_to_merge() {
    let world = World::with_ci("echo building; echo done").await;
    let repo = &world.repo;
    let issue = open_issue(&world).await;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let pull = open_pull(&world, "pilot/GH-1").await;
    assert_eq!((&pull.head, pull.base_branch.as_str(), pull.draft), (&head, "main", false));
    let new = NewPull { title: "x", body: "y", head_branch: "pilot/GH-1", base_branch: "main", draft: false };
    let found = world.fresh_repo().open_pull(&new, &marker("pilot/GH-1")).await.unwrap();
    assert!(matches!(&found, PullOpened::Found(found) if found.number == pull.number), "{found:?}");
    let foreign = repo.open_pull(&new, &marker("pilot/GH-1.2")).await.unwrap();
    assert!(matches!(foreign, PullOpened::Foreign(_)), "{foreign:?}");
    assert_eq!(repo.pulls_from("pilot/GH-1").await.unwrap().items.len(), 1);
    assert_eq!(repo.pulls_onto("main").await.unwrap().items.len(), 1);
    assert!(repo.pulls_onto("next").await.unwrap().items.is_empty());
    let clean = async || {
        let pull = repo.pull(pull.number).await.expect("it is there");
        (pull.mergeable != Mergeability::Unknown).then_some(pull.mergeable)
    };
    assert_eq!(until(clean).await, Mergeability::Clean);
    assert_eq!(checked(&world, &head).await.state, CheckState::Ended(Conclusion::Success));

    let other = Sha::parse(&"1".repeat(40)).unwrap();
    let order = |head| MergeOrder {
        number: pull.number,
        head,
        method: MergeMethod::Squash,
        title: "Add login (#2)",
        message: "",
    };
    let refused = repo.merge_once(&order(&other)).await.unwrap();
    assert_eq!(refused, Merge::Refused(MergeRefusal::HeadMoved));
    let Merge::Merged(commit) = repo.merge_once(&order(&head)).await.unwrap() else { panic!("not merged") };
    let again = world.fresh_repo().merge_once(&order(&head)).await.unwrap();
    assert!(matches!(again, Merge::Refused(_)), "once is enough: {again:?}");
    assert!(repo.contains("main", &commit).await.unwrap());
    assert!(!repo.contains("main", &head).await.unwrap(), "squashed");
    let comparison = repo.compare("main", head.as_str()).await.unwrap();
    assert_eq!((comparison.relation, comparison.ahead, comparison.behind), (Relation::Diverged, 1, 1));
    let merged = repo.pull(pull.number).await.unwrap();
    assert!(
        matches!(&merged.state, PullState::Merged { commit: Some(at), .. } if *at == commit),
        "{merged:?}"
    );
    let closed =
        until(async || Some(repo.issue(issue).await.ok()?).filter(|issue| issue.state != IssueState::Open))
            .await;
    assert_eq!(closed.state, IssueState::Closed { unplanned: false }, "`Closes #1` closes it");
    let fetched =
        world.courier(|courier| courier.fetch(&branch("main"), "refs/pilot/base/main")).await.unwrap();
    assert_eq!(fetched.as_str(), commit.as_str());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_that_are_not_merged_say_why() {
    let world = World::new().await;
    let repo = &world.repo;
    let merge = async |pull: &Pull, method| {
        let order = MergeOrder { number: pull.number, head: &pull.head, method, title: "x", message: "" };
        repo.merge_once(&order).await.expect("an answer")
    };
    world.publish("pilot/one", "same.rs").await;
    let one = open_pull(&world, "pilot/one").await;
    world.commit("pilot/two", "same.rs");
    std::fs::write(world.checkout().join("same.rs"), "other\n").unwrap();
    world.git(&["commit", "-q", "-a", "--amend", "-m", "other"]);
    let two = pilot_exec::git::Sha::parse(&world.git(&["rev-parse", "HEAD"])).unwrap();
    assert_eq!(world.push("pilot/two", Some(&two), None).await, Pushed::Pushed);
    let two = open_pull(&world, "pilot/two").await;
    world.own(Method::PATCH, "", &json!({"allow_rebase_merge": false})).await;
    let refused = merge(&one, MergeMethod::Rebase).await;
    assert!(matches!(&refused, Merge::Refused(MergeRefusal::MethodNotAllowed { .. })), "{refused:?}");
    assert!(matches!(merge(&one, MergeMethod::Squash).await, Merge::Merged(_)));
    let conflict = async || {
        Some(merge(&two, MergeMethod::Squash).await)
            .filter(|merge| *merge != Merge::Refused(MergeRefusal::BaseMoved))
    };
    assert_eq!(until(conflict).await, Merge::Refused(MergeRefusal::Conflict));
    for _ in 0..2 {
        assert_eq!(repo.shut_pull(two.number).await.unwrap().state, PullState::Closed);
    }
    assert!(matches!(merge(&two, MergeMethod::Squash).await, Merge::Refused(_)));

    let main = repo.reference("heads/main").await.unwrap().unwrap();
    assert_eq!(repo.create_ref("heads/pilot/empty", &main).await.unwrap(), RefMade::Created);
    let new =
        NewPull { title: "x", body: "y", head_branch: "pilot/empty", base_branch: "main", draft: false };
    assert_eq!(repo.open_pull(&new, &marker("empty")).await.unwrap(), PullOpened::NoCommits);
    let nowhere = NewPull { head_branch: "pilot/nowhere", ..new };
    let error = repo.open_pull(&nowhere, &marker("nowhere")).await.unwrap_err();
    assert!(matches!(error.why, Why::Validation { .. }), "{error}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ci_says() {
    let world = World::with_ci("echo compiling; echo 'error: it broke' >&2; exit 1").await;
    let repo = &world.repo;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let pull = open_pull(&world, "pilot/GH-1").await;
    let run = checked(&world, &head).await;
    assert_eq!(run.state, CheckState::Ended(Conclusion::Failure));
    let log = repo.job_log(run.id, 1000).await.unwrap().expect("a log");
    assert!(String::from_utf8_lossy(&log.bytes).contains("error: it broke"), "{log:?}");
    assert_eq!(repo.job_log(4711, 1000).await.unwrap(), None);
    let check = json!({
        "name": "lint", "head_sha": head.as_str(), "status": "completed", "conclusion": "neutral",
        "output": {"title": "t", "summary": "s"},
    });
    world.own(Method::POST, "/check-runs", &check).await;
    let runs = repo.check_runs(&head).await.unwrap().items;
    assert!(runs.iter().any(|run| run.name == "lint" && run.state == CheckState::Ended(Conclusion::Neutral)));
    assert!(repo.statuses(&head).await.unwrap().items.is_empty());
    for state in ["pending", "error"] {
        let status = json!({"state": state, "context": "deploy", "description": "d"});
        world.own(Method::POST, &format!("/statuses/{head}"), &status).await;
    }
    let statuses = repo.statuses(&head).await.unwrap().items;
    assert_eq!((statuses.len(), &statuses[0].state), (1, &StatusState::Error));

    assert_eq!(repo.required_checks("main").await.unwrap(), Required::Known(vec![]));
    let protection = json!({
        "required_status_checks": {"strict": false, "contexts": ["ci"]}, "enforce_admins": true,
        "required_pull_request_reviews": null, "restrictions": null,
    });
    world.own(Method::PUT, "/branches/main/protection", &protection).await;
    let Required::Known(required) = repo.required_checks("main").await.unwrap() else { panic!("unknown") };
    assert_eq!(required, [RequiredCheck { name: "ci".to_owned(), app_id: None }]);
    let order =
        MergeOrder { number: pull.number, head: &head, method: MergeMethod::Squash, title: "x", message: "" };
    let refused = repo.merge_once(&order).await.unwrap();
    assert!(matches!(refused, Merge::Refused(MergeRefusal::Blocked { .. })), "{refused:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_tags() {
    let world = World::new().await;
    let repo = &world.repo;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let main = repo.reference("heads/main").await.unwrap().unwrap();
    assert_eq!(repo.reference("heads/nope").await.unwrap(), None);
    assert_eq!(repo.create_ref("tags/v1.0.0", &main).await.unwrap(), RefMade::Created);
    assert_eq!(repo.create_ref("tags/v1.0.0", &main).await.unwrap(), RefMade::Found);
    assert_eq!(repo.create_ref("tags/v1.0.0", &head).await.unwrap(), RefMade::Taken { at: main.clone() });
    let tags = repo.tags().await.unwrap().items;
    assert_eq!((tags[0].name.as_str(), &tags[0].commit), ("v1.0.0", &main));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_pushes_with_the_token_and_only_from_where_it_was() {
    let world = World::new().await;
    let one = world.commit("pilot/GH-1", "one.rs");
    assert_eq!(world.push("pilot/GH-1", Some(&one), None).await, Pushed::Pushed);
    assert_eq!(world.push("pilot/GH-1", Some(&one), None).await, Pushed::UpToDate);
    let two = world.commit("pilot/GH-1", "two.rs");
    assert_eq!(world.push("pilot/GH-1", Some(&two), None).await, Pushed::Stale { at: Some(one.clone()) });
    assert_eq!(world.push("pilot/GH-1", Some(&two), Some(&one)).await, Pushed::Pushed);
    let protection = json!({
        "required_status_checks": null, "enforce_admins": true, "required_pull_request_reviews": null, "restrictions": null,
    });
    world.own(Method::PUT, "/branches/pilot%2FGH-1/protection", &protection).await;
    let pushed = world.push("pilot/GH-1", Some(&one), Some(&two)).await;
    assert!(matches!(pushed, Pushed::Rejected { .. }), "{pushed:?}");
    world.own(Method::DELETE, "/branches/pilot%2FGH-1/protection", &Value::Null).await;
    assert_eq!(world.push("pilot/GH-1", None, Some(&two)).await, Pushed::Pushed);
    assert_eq!(world.push("pilot/GH-1", None, Some(&two)).await, Pushed::UpToDate);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walls_of_the_repository_have_names() {
    let world = World::new().await;
    let number = open_issue(&world).await;
    world.own(Method::PATCH, "", &json!({"archived": true})).await;
    let error = world.repo.add_labels(number, &["pilot"]).await.unwrap_err();
    assert_eq!(error.why, Why::Archived, "{error}");
    assert!(world.repo.facts().await.unwrap().archived);
    world.own(Method::PATCH, "", &json!({"archived": false})).await;
    world.own(Method::PATCH, "", &json!({"name": "machine"})).await;
    let error = world.repo.issue(number).await.unwrap_err();
    assert!(matches!(&error.why, Why::Renamed { to: Some(to) } if to.name() == "machine"), "{error}");
    world.stop().await;
}
