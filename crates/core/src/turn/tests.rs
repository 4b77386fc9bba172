//! Turns: what is written together, who may write it, and what the outbox holds then.

use std::time::Duration;

use super::{
    AGAIN, ClaimChange, Input, LoadedProject, OpenIntent, OutboxChange, ProjectInput, outbox, project_turn,
    replay, turn,
};
use crate::ci::Conclusion;
use crate::fact::{Happened, Order, ProjectFacts, ProjectHappened, RunEnding, TaskFacts};
use crate::name::{Generation, HomeId, InstanceId, IssueNumber, PrNumber, TaskKey};
use crate::outcome::Class;
use crate::policy::{Policy, ReleasePolicy};
use crate::seen::FailureKind;
use crate::task::tale::{Tale, at, failure, hash, issue, policy, pr, project_id, sha, stopped, work};
use crate::task::{Action, Planned};
use crate::time::Timestamp;

const SETTLE: Duration = Duration::from_secs(10);

fn input(happened: Happened) -> Input {
    Input { happened, settles: None }
}

#[test]
fn an_idle_task_writes_nothing() {
    for tale in [Tale::queued(), Tale::running(), Tale::opened(), Tale::continued()] {
        let mut tale = tale;
        tale.wait(0);
        // The project is known by now.
        tale.loaded.project.version = 1;
        for happened in [None, Some(Happened::IssueSeen { issue: issue(1) })] {
            let input = happened.map(input);
            let idle = turn(&tale.loaded, input.as_ref(), &tale.policy, tale.now);
            assert!(!idle.writes(), "{:?}: {idle:?}", tale.stage());
        }
    }
}

#[test]
fn the_log_alone_gives_the_facts() {
    let mut tale = Tale::new();
    let mut log = Vec::new();
    let home = HomeId::parse("home").unwrap();
    let instance = InstanceId::parse("pilot-1").unwrap();
    let generation = Generation(1);
    let branch = tale.loaded.task.branch();
    let mut go = |tale: &mut Tale, lane: &str, happened: Happened| {
        let change = if lane.is_empty() { tale.tell(happened) } else { tale.done(lane, happened) };
        log.extend(change.log);
        log.extend(tale.wait(7).log);
    };
    go(&mut tale, "", Happened::IssueSeen { issue: issue(1) });
    let permission = crate::seen::Permission::Write;
    go(&mut tale, "", Happened::PermissionSeen { login: "ann".to_owned(), permission });
    go(&mut tale, "", Happened::BranchLookedAt { branch: branch.clone(), found: None });
    go(&mut tale, "", Happened::Claimed { generation, home, instance });
    go(&mut tale, "claim", Happened::ClaimPlaced { generation });
    go(&mut tale, "run", Happened::RunStarted { generation, body: hash(0), silent: false });
    go(
        &mut tale,
        "",
        Happened::RunEnded { generation, ending: RunEnding::Completed(Box::new(work(sha(10)))) },
    );
    go(&mut tale, "push", Happened::Pushed { branch, sha: sha(10) });
    go(&mut tale, "pr", Happened::PrOpened { pr: pr(7, sha(10)) });
    go(&mut tale, "", Happened::Ordered { order: Order::Cancel, by: crate::fact::By::Operator });
    go(&mut tale, "close-pr", Happened::PrClosed { pr: PrNumber(7) });
    assert_eq!(tale.stage().as_str(), "cancelled");
    let told = replay(TaskFacts::new(project_id(), IssueNumber(1)), &log);
    assert_eq!(told, tale.loaded.task);
    let numbers: Vec<u64> = log.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=log.len() as u64).collect::<Vec<_>>(), "no gap");
}

#[test]
fn facts_survive_being_stored() {
    for tale in [Tale::queued(), Tale::running(), Tale::opened(), Tale::continued()] {
        let Tale { loaded, actions, .. } = tale;
        let json = serde_json::to_string(&loaded.task).unwrap();
        assert_eq!(serde_json::from_str::<TaskFacts>(&json).unwrap(), loaded.task);
        let json = serde_json::to_string(&loaded.project.facts).unwrap();
        assert_eq!(serde_json::from_str::<ProjectFacts>(&json).unwrap(), loaded.project.facts);
        for action in actions.into_values() {
            let json = serde_json::to_string(&action).unwrap();
            let read: Action = serde_json::from_str(&json).unwrap();
            assert_eq!((read.key(), &read), (action.key(), &action));
        }
        let json = serde_json::to_string(&loaded.stage).unwrap();
        assert_eq!(serde_json::from_str::<Option<super::Stage>>(&json).unwrap(), loaded.stage);
    }
}

#[test]
fn a_claim_is_taken_and_ended_with_the_fact() {
    let mut tale = Tale::queued();
    let change = tale.claim();
    let Some(ClaimChange::Take { generation, .. }) = change.claim else { panic!("{:?}", change.claim) };
    assert_eq!(generation, Generation(1));
    tale.begin();
    let end = Some(ClaimChange::End { generation });
    let mut ended = Tale::running();
    assert_eq!(ended.run_ends(stopped(Class::Timeout, None)).claim, end);
    assert_eq!(tale.tell(Happened::Abandoned { generation }).claim, end);
    // One that is over is ended all the same: whoever took it over must be rid of it.
    assert_eq!(tale.tell(Happened::Abandoned { generation }).claim, end);
    let mut paused = Tale::queued();
    paused.ordered(Order::Pause);
    assert_eq!(paused.claim().claim, None, "given back in the same breath");
    assert_eq!(paused.stage().as_str(), "held");
}

#[test]
fn what_only_the_holder_knows_is_fenced() {
    let generation = Generation(1);
    let mut tale = Tale::queued();
    assert_eq!(tale.claim().fence, None);
    assert_eq!(tale.done("claim", Happened::ClaimPlaced { generation }).fence, Some(generation));
    let begun = tale.done("run", Happened::RunStarted { generation, body: hash(0), silent: false });
    assert_eq!((begun.fence, begun.run.map(|order| order.generation)), (Some(generation), Some(generation)));
    let late =
        tale.tell(Happened::RunEnded { generation: Generation(9), ending: stopped(Class::Unknown, None) });
    assert_eq!(late.fence, None);
    assert_eq!(tale.tell(Happened::IssueGone).fence, None, "what everybody can see needs no claim");
    assert_eq!(tale.run_ends(stopped(Class::Cancelled, None)).fence, Some(generation));
}

#[test]
fn a_run_that_may_not_begin_any_more_does_not() {
    let mut tale = Tale::queued();
    tale.claim();
    tale.done("claim", Happened::ClaimPlaced { generation: Generation(1) });
    let key = tale.key("run");
    tale.ordered(Order::Cancel);
    let happened = Happened::RunStarted { generation: Generation(1), body: hash(0), silent: false };
    let change = tale.turn(Some(&Input { happened, settles: Some(key) }));
    assert_eq!((change.run, tale.stage().as_str()), (None, "cancelled"));
}

#[test]
fn a_project_learns_from_its_tasks() {
    let mut tale = Tale::running();
    let project = |tale: &Tale| tale.loaded.project.facts.clone();
    assert!(project(&tale).active[&tale.loaded.task.key].running);
    tale.publish();
    let active = project(&tale).active[&tale.loaded.task.key].clone();
    assert_eq!((active.running, active.until), (false, tale.now.after(tale.policy.pr_wait)));
    tale.judged(Conclusion::Success);
    tale.merges();
    assert_eq!((project(&tale).merges.len(), project(&tale).unreleased.len()), (1, 0));
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    let known = project(&tale);
    assert_eq!((known.unreleased.len(), known.active.len(), known.failures), (1, 0, 0));

    let mut failing = Tale::running();
    failing.run_ends(stopped(Class::GateFailed, None));
    assert_eq!(project(&failing).failures, 1);
    failing.tell(Happened::RunEnded { generation: Generation(1), ending: stopped(Class::GateFailed, None) });
    assert_eq!(project(&failing).failures, 1, "told twice, counted once");
}

fn plan(lane: &str, number: u64, not_before: Timestamp) -> Planned {
    let action = Action::Tell {
        to: TaskKey::of_issue(IssueNumber(number)),
        issue: IssueNumber(number),
        news: crate::fact::News::LetGo,
    };
    Planned { key: super::Key::stored(format!("{lane}:{number}")), action, not_before }
}

fn open(lane: &str, number: u64, taken: bool) -> OpenIntent {
    OpenIntent { key: super::Key::stored(format!("{lane}:{number}")), not_before: at(10), taken }
}

#[test]
fn the_outbox_holds_what_is_planned() {
    let key = |text: &str| super::Key::stored(text.to_owned());
    let now = at(10);
    // What is wanted is there.
    assert_eq!(outbox(&[open("a", 1, false)], None, vec![plan("a", 1, at(10))], SETTLE, now), []);
    // What is not wanted any more goes, unless somebody is at it.
    assert_eq!(
        outbox(&[open("a", 1, false)], None, vec![], SETTLE, now),
        [OutboxChange::Withdraw(key("a:1"))]
    );
    assert_eq!(outbox(&[open("a", 1, true)], None, vec![], SETTLE, now), []);
    // Another of the same lane waits for that.
    assert_eq!(outbox(&[open("a", 1, true)], None, vec![plan("a", 2, now)], SETTLE, now), []);
    assert_eq!(
        outbox(&[open("a", 1, true)], None, vec![plan("b", 2, now)], SETTLE, now),
        [OutboxChange::Plan(plan("b", 2, now))]
    );
    // One that failed is given back and comes later.
    assert_eq!(
        outbox(&[open("a", 1, true)], Some((&key("a:1"), true)), vec![plan("a", 1, at(20))], SETTLE, now),
        [OutboxChange::Release(key("a:1")), OutboxChange::Reschedule(key("a:1"), at(20))]
    );
    // One that is done makes room for the next of its lane.
    assert_eq!(
        outbox(&[open("a", 1, true)], Some((&key("a:1"), false)), vec![plan("a", 2, now)], SETTLE, now),
        [OutboxChange::Settle(key("a:1")), OutboxChange::Plan(plan("a", 2, now))]
    );
    // One that is done and wanted again is in no hurry.
    assert_eq!(
        outbox(&[open("a", 1, true)], Some((&key("a:1"), false)), vec![plan("a", 1, now)], SETTLE, now),
        [OutboxChange::Settle(key("a:1")), OutboxChange::Plan(plan("a", 1, now.after(AGAIN)))]
    );
}

#[test]
fn the_claim_is_taken_back_last() {
    let mut tale = Tale::opened();
    tale.judged(Conclusion::Success);
    tale.merges();
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    tale.done("close-issue", Happened::IssueClosed);
    let branch = tale.loaded.task.branch();
    tale.done("delete-branch", Happened::BranchDeleted { branch });
    tale.done("label", Happened::Labelled { labels: vec!["pilot-done".to_owned()] });
    tale.wait(60);
    assert_eq!(tale.lanes(), ["comment"]);
    let fingerprint = match tale.action("comment") {
        Some(Action::Comment { fingerprint, .. }) => fingerprint.clone(),
        _ => panic!(),
    };
    tale.done("comment", Happened::Commented { comment: crate::name::CommentId(1), fingerprint });
    assert_eq!(tale.lanes(), ["claim"]);
    tale.done("claim", Happened::ClaimReleased);
    assert_eq!(tale.lanes(), [""; 0]);
}

#[test]
fn a_project_is_tagged_and_told_of_failures() {
    let release = ReleasePolicy { prefix: "v".to_owned(), max_wait: Duration::from_secs(60) };
    let policy = Policy { release: Some(release), ..policy() };
    let mut facts = ProjectFacts::new(project_id());
    let merge = crate::fact::Unreleased { commit: sha(1), pr: PrNumber(1), title: String::new(), at: at(0) };
    facts.unreleased.push(merge);
    let mut loaded = LoadedProject { facts, version: 3, wake: None, open: Vec::new() };
    let first = project_turn(&loaded, None, &policy, at(1));
    let [OutboxChange::Plan(planned)] = &first.project.outbox[..] else { panic!("{first:?}") };
    assert!(first.writes() && first.task_key().is_none() && first.project.version == 3);
    let key = planned.key.clone();
    loaded.open = vec![OpenIntent { key: key.clone(), not_before: at(1), taken: true }];
    let happened = ProjectHappened::Failed { key: key.clone(), failure: failure(FailureKind::Server) };
    let input = ProjectInput { happened, settles: Some(key.clone()) };
    let failed = project_turn(&loaded, Some(&input), &policy, at(2));
    let expect = [OutboxChange::Release(key.clone()), OutboxChange::Reschedule(key.clone(), at(12))];
    assert_eq!((failed.project.outbox, failed.project.log.len()), (expect.to_vec(), 1));
    let happened = ProjectHappened::Tagged { tag: "v0.1.0".to_owned(), commit: sha(1) };
    let input = ProjectInput { happened, settles: Some(key.clone()) };
    let tagged = project_turn(&loaded, Some(&input), &policy, at(3));
    assert_eq!(tagged.project.outbox, [OutboxChange::Settle(key)]);
    assert!(tagged.project.facts.unreleased.is_empty());
}
