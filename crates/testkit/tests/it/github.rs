//! Every call of GitHub's client, against a forge that is no mock.

use pilot_core::ci::{Check, CheckState, Required};
use pilot_core::id::{PrNumber, Sha, TaskKey};
use pilot_core::observed::{FailureKind, Mergeable, Pr, PrState, TicketState, Trust};
use pilot_core::policy::MergeMethod;
use pilot_core::port::{CommentPlace, FixMeta, Marker, NewComment, NewPull, NewTicket};
use pilot_exec::git::PushResult;
use pilot_link::error::CallFault;
use pilot_link::github::{CheckRun, RefCreated};
use pilot_link::http::Method;
use serde_json::{Value, json};

use crate::world::{World, branch, until};

pub(crate) fn fix_marker(iteration: u32) -> Marker {
    Marker::Fix(FixMeta { branch: branch("pilot/GH-1"), pr: PrNumber(1), iteration })
}

pub(crate) fn new_pull(head: &str, text: &str) -> NewPull {
    NewPull {
        branch: branch(head),
        base: branch("main"),
        title: "Add login".to_owned(),
        text: text.to_owned(),
        marker: Marker::Task(TaskKey::numbered("GH", 1)),
    }
}

fn new_comment(text: &str) -> NewComment {
    NewComment { text: text.to_owned(), marker: None }
}

/// Opens the issue of a test; the first in its repository.
async fn open_issue(world: &World) -> u64 {
    let new = NewTicket {
        title: "Add login".to_owned(),
        text: "Please.".to_owned(),
        labels: vec!["pilot".to_owned()],
        marker: fix_marker(1),
    };
    let key = world.repo.create_ticket(&new).await.expect("an issue");
    key.number_with("GH").expect("a number")
}

async fn open_pull(world: &World, head: &str) -> Pr {
    world.repo.create_pull(&new_pull(head, "Closes #1")).await.expect("a pull request")
}

async fn checked(world: &World, sha: &Sha) -> CheckRun {
    until(async || {
        let runs = world.repo.check_runs(sha).await.expect("check runs");
        runs.into_iter().find(|run| run.check.state != CheckState::Pending)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repository_its_accounts_and_its_issues() {
    let world = World::new().await;
    let repo = &world.repo;
    let facts = repo.facts().await.unwrap();
    assert_eq!((facts.default_branch.as_str(), facts.is_archived), ("main", false));
    assert_eq!((facts.own_login.as_str(), facts.may_push), ("pilot", Some(true)));
    assert!(facts.merge_methods.is_some());

    let ada = world.user("ada").await;
    assert_eq!(repo.trust("pilot").await.unwrap(), Trust::Trusted);
    assert_eq!(repo.trust("ada").await.unwrap(), Trust::Untrusted);
    assert_eq!(repo.trust("an-unknown-account").await.unwrap(), Trust::Untrusted);
    let number = 1;
    let new = NewTicket {
        title: "Add login".to_owned(),
        text: "Please.\n\nDepends on: #7".to_owned(),
        labels: Vec::new(),
        marker: fix_marker(1),
    };
    assert_eq!(ada.create_ticket(&new).await.unwrap(), TaskKey::numbered("GH", number));
    assert!(repo.labelled("pilot").await.unwrap().items.is_empty());
    let labels = ["pilot", "pilot-in-progress"].map(str::to_owned);
    repo.add_labels(number, &labels).await.unwrap();
    assert!(repo.remove_label(number, "pilot-in-progress").await.unwrap());
    assert!(!repo.remove_label(number, "pilot-in-progress").await.unwrap());
    let gone = repo.remove_label(4711, "pilot").await.unwrap_err();
    assert!(matches!(gone.why, CallFault::NotFound { .. }), "{gone}");

    let first = repo.labelled("pilot").await.unwrap();
    assert_eq!((first.items.len(), first.unchanged), (1, false));
    let ticket = &first.items[0];
    assert_eq!((ticket.author.login.as_str(), ticket.state), ("ada", TicketState::Open));
    assert_eq!(ticket.labels, ["pilot".to_owned()].into());
    assert!(repo.labelled("pilot").await.unwrap().unchanged, "an idle poll is a 304");
    let read = repo.ticket(number).await.unwrap().expect("the issue");
    assert_eq!(read.text.matches("Depends on: #7").count(), 1);
    assert_eq!(read.ticket.body.depends_on, [TaskKey::numbered("GH", 7)].into());

    for _ in 0..2 {
        repo.close_issue(number).await.unwrap();
    }
    assert_eq!(repo.ticket(number).await.unwrap().expect("the issue").ticket.state, TicketState::Closed);
    assert!(repo.labelled("pilot").await.unwrap().items.is_empty());
    assert!(repo.own_tickets("pilot").await.unwrap().is_empty(), "ada wrote it");
    assert_eq!(repo.ticket(4711).await.unwrap(), None);
    let own = open_issue(&world).await;
    let tickets = repo.own_tickets("pilot").await.unwrap();
    assert_eq!(tickets.len(), 1);
    assert_eq!((&tickets[0].key, &tickets[0].marker), (&TaskKey::numbered("GH", own), &Some(fix_marker(1))));

    let refused = ada.add_labels(number, &labels).await.unwrap_err();
    assert!(matches!(refused.why, CallFault::Forbidden { .. } | CallFault::NotFound { .. }), "{refused}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_are_written_changed_and_listed() {
    let world = World::new().await;
    let repo = &world.repo;
    let number = open_issue(&world).await;
    let comment = repo.add_comment(number, &new_comment("Started.")).await.unwrap();
    let marker = Marker::Status(TaskKey::numbered("GH", number));
    let new = NewComment { text: "Merged.".to_owned(), marker: Some(marker.clone()) };
    assert_eq!(repo.edit_comment(&comment, &new).await.unwrap(), Some(comment.clone()));
    let command = world.user("ada").await.add_comment(number, &new_comment("/pilot why")).await.unwrap();
    let listed = repo.comments(number).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|seen| (seen.id, seen.marker)).collect();
    assert_eq!(listed, [(comment.clone(), Some(marker)), (command.clone(), None)]);
    let posted = repo.comments_since(world.start).await.unwrap();
    let texts: Vec<_> = posted.items.iter().map(|posted| (&posted.id, posted.text.lines().next())).collect();
    assert_eq!(texts, [(&comment, Some("Merged.")), (&command, Some("/pilot why"))]);
    assert!(
        posted.items.iter().all(|posted| posted.on == CommentPlace::Ticket(TaskKey::numbered("GH", number)))
    );
    assert!(repo.comments_since(world.start).await.unwrap().unchanged, "an idle poll is a 304");
    world.own(Method::DELETE, &format!("/issues/comments/{comment}"), &Value::Null).await;
    assert_eq!(repo.edit_comment(&comment, &new).await.unwrap(), None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_from_push_to_merge() {
    let world = World::with_ci("echo building; echo done").await;
    let repo = &world.repo;
    let issue = open_issue(&world).await;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let pull = open_pull(&world, "pilot/GH-1").await;
    assert_eq!((&pull.head, &pull.branch), (&head, &branch("pilot/GH-1")));
    let again = world.fresh_repo().create_pull(&new_pull("pilot/GH-1", "y")).await.unwrap_err();
    assert!(matches!(again.why, CallFault::Unconfirmed { .. }), "one exists: {again}");
    let pulls = repo.pulls_from(&branch("pilot/GH-1")).await.unwrap();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].marker, Some(Marker::Task(TaskKey::numbered("GH", 1))));
    assert_eq!(repo.pulls_onto(&branch("main")).await.unwrap().len(), 1);
    assert!(repo.pulls_onto(&branch("next")).await.unwrap().is_empty());
    let said = repo.add_comment(pull.number.0, &new_comment("/pilot why")).await.unwrap();
    let posted = repo.comments_since(world.start).await.unwrap().items;
    let posted: Vec<_> = posted.into_iter().map(|posted| (posted.on, posted.id)).collect();
    assert_eq!(posted, [(CommentPlace::Pull(pull.number), said)]);
    let mergeable = async || {
        let pull = repo.pull(pull.number).await.expect("the pull request");
        (pull.mergeable != Mergeable::Unknown).then_some(pull.mergeable)
    };
    assert_eq!(until(mergeable).await, Mergeable::Yes);
    assert_eq!(checked(&world, &head).await.check.state, CheckState::Passed);

    let other = Sha::parse(&"1".repeat(40)).unwrap();
    let merge = async |head: &Sha| repo.merge(pull.number, head, MergeMethod::Squash, "Add login (#2)").await;
    let moved = merge(&other).await.unwrap_err();
    assert_eq!((moved.kind, moved.detail.as_str()), (FailureKind::Conflict, "its head moved"));
    let commit = merge(&head).await.unwrap();
    let again = merge(&head).await.unwrap_err();
    assert!(!again.kind.may_have_happened(), "once is enough: {again}");
    assert!(repo.contains("main", &commit).await.unwrap());
    assert!(!repo.contains("main", &head).await.unwrap(), "squashed");
    assert_eq!(repo.pull(pull.number).await.unwrap().state, PrState::Merged { commit: commit.clone() });
    let is_closed = async || {
        let read = repo.ticket(issue).await.ok()??;
        (read.ticket.state == TicketState::Closed).then_some(())
    };
    until(is_closed).await;
    let fetched =
        world.with_remote(|session| session.fetch(&branch("main"), "refs/pilot/base/main")).await.unwrap();
    assert_eq!(fetched.as_str(), commit.as_str());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_is_not_merged_has_a_reason() {
    let world = World::new().await;
    let repo = &world.repo;
    let merge = async |pull: &Pr, method| repo.merge(pull.number, &pull.head, method, "x").await;
    world.publish("pilot/one", "same.rs").await;
    let one = open_pull(&world, "pilot/one").await;
    world.commit("pilot/two", "same.rs");
    std::fs::write(world.checkout().join("same.rs"), "other\n").unwrap();
    world.git(&["commit", "-q", "-a", "--amend", "-m", "other"]);
    let two = Sha::parse(&world.git(&["rev-parse", "HEAD"])).unwrap();
    assert_eq!(world.push("pilot/two", Some(&two), None).await, PushResult::Pushed);
    let two = open_pull(&world, "pilot/two").await;
    world.own(Method::PATCH, "", &json!({"allow_rebase_merge": false})).await;
    let refused = merge(&one, MergeMethod::Rebase).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused, "{refused}");
    assert!(refused.detail.contains("allow this method there"), "{refused}");
    merge(&one, MergeMethod::Squash).await.unwrap();
    let conflict = async || {
        let failure = merge(&two, MergeMethod::Squash).await.unwrap_err();
        (failure.kind != FailureKind::NotSent).then_some(failure)
    };
    let conflict = until(conflict).await;
    assert_eq!(conflict.detail, "it conflicts with the base branch");
    for _ in 0..2 {
        assert_eq!(repo.close_pull(two.number).await.unwrap().state, PrState::Closed);
    }
    assert!(merge(&two, MergeMethod::Squash).await.is_err());

    let main = repo.reference("heads/main").await.unwrap().unwrap();
    assert_eq!(repo.create_ref("heads/pilot/empty", &main).await.unwrap(), RefCreated::Created);
    for (head, words) in [("pilot/empty", "No commits between"), ("pilot/nowhere", "")] {
        let error = repo.create_pull(&new_pull(head, "y")).await.unwrap_err();
        assert!(matches!(error.why, CallFault::Validation { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_their_logs_and_what_is_required() {
    let world = World::with_ci("echo compiling; echo 'error: it broke' >&2; exit 1").await;
    let repo = &world.repo;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let pull = open_pull(&world, "pilot/GH-1").await;
    let run = checked(&world, &head).await;
    assert_eq!(run.check.state, CheckState::Failed);
    let log = repo.job_log(run.id, 1000).await.unwrap().expect("a log");
    assert!(String::from_utf8_lossy(&log.bytes).contains("error: it broke"), "{log:?}");
    assert_eq!(repo.job_log(4711, 1000).await.unwrap(), None);
    let check = json!({
        "name": "lint", "head_sha": head.as_str(), "status": "completed", "conclusion": "neutral",
        "output": {"title": "t", "summary": "s"},
    });
    world.own(Method::POST, "/check-runs", &check).await;
    let runs = repo.check_runs(&head).await.unwrap();
    let lint = Check { name: "lint".to_owned(), state: CheckState::Ignored };
    assert!(runs.iter().any(|run| run.check == lint), "{runs:?}");
    assert!(repo.statuses(&head).await.unwrap().is_empty());
    for state in ["pending", "error"] {
        let status = json!({"state": state, "context": "deploy", "description": "d"});
        world.own(Method::POST, &format!("/statuses/{head}"), &status).await;
    }
    let deploy = Check { name: "deploy".to_owned(), state: CheckState::Failed };
    assert_eq!(repo.statuses(&head).await.unwrap(), [deploy]);

    assert_eq!(repo.required_checks("main").await.unwrap(), Required::Known([].into()));
    let protection = json!({
        "required_status_checks": {"strict": false, "contexts": ["ci"]}, "enforce_admins": true,
        "required_pull_request_reviews": null, "restrictions": null,
    });
    world.own(Method::PUT, "/branches/main/protection", &protection).await;
    assert_eq!(repo.required_checks("main").await.unwrap(), Required::Known(["ci".to_owned()].into()));
    let refused = repo.merge(pull.number, &head, MergeMethod::Squash, "x").await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused, "{refused}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_tags() {
    let world = World::new().await;
    let repo = &world.repo;
    let head = world.publish("pilot/GH-1", "login.rs").await;
    let main = repo.reference("heads/main").await.unwrap().unwrap();
    assert_eq!(repo.reference("heads/nope").await.unwrap(), None);
    assert_eq!(repo.create_ref("tags/v1.0.0", &main).await.unwrap(), RefCreated::Created);
    assert_eq!(repo.create_ref("tags/v1.0.0", &main).await.unwrap(), RefCreated::Found);
    assert_eq!(repo.create_ref("tags/v1.0.0", &head).await.unwrap(), RefCreated::Taken { at: main.clone() });
    let tags = repo.tags().await.unwrap();
    assert_eq!((tags[0].name.as_str(), &tags[0].commit), ("v1.0.0", &main));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_pushes_with_the_token_and_only_from_where_it_was() {
    let world = World::new().await;
    let one = world.commit("pilot/GH-1", "one.rs");
    assert_eq!(world.push("pilot/GH-1", Some(&one), None).await, PushResult::Pushed);
    assert_eq!(world.push("pilot/GH-1", Some(&one), None).await, PushResult::UpToDate);
    let two = world.commit("pilot/GH-1", "two.rs");
    assert_eq!(world.push("pilot/GH-1", Some(&two), None).await, PushResult::Stale { at: Some(one.clone()) });
    assert_eq!(world.push("pilot/GH-1", Some(&two), Some(&one)).await, PushResult::Pushed);
    let protection = json!({
        "required_status_checks": null, "enforce_admins": true, "required_pull_request_reviews": null, "restrictions": null,
    });
    world.own(Method::PUT, "/branches/pilot%2FGH-1/protection", &protection).await;
    let pushed = world.push("pilot/GH-1", Some(&one), Some(&two)).await;
    assert!(matches!(pushed, PushResult::Rejected { .. }), "{pushed:?}");
    world.own(Method::DELETE, "/branches/pilot%2FGH-1/protection", &Value::Null).await;
    assert_eq!(world.push("pilot/GH-1", None, Some(&two)).await, PushResult::Pushed);
    assert_eq!(world.push("pilot/GH-1", None, Some(&two)).await, PushResult::UpToDate);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_and_renamed_repositories_are_errors() {
    let world = World::new().await;
    let number = open_issue(&world).await;
    world.own(Method::PATCH, "", &json!({"archived": true})).await;
    let error = world.repo.add_labels(number, &["pilot".to_owned()]).await.unwrap_err();
    assert_eq!(error.why, CallFault::Archived, "{error}");
    assert!(world.repo.facts().await.unwrap().is_archived);
    world.own(Method::PATCH, "", &json!({"archived": false})).await;
    world.own(Method::PATCH, "", &json!({"name": "machine"})).await;
    let error = world.repo.comments(number).await.unwrap_err();
    assert!(matches!(&error.why, CallFault::Renamed { to: Some(to) } if to.ends_with("/machine")), "{error}");
    world.stop().await;
}
