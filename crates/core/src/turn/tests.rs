//! Turns: what is written together, who may write it, and what the outbox holds then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{
    AGAIN, ClaimChange, Input, LoadedProject, OpenEntry, OutboxChange, ProjectInput, outbox, project_turn,
    replay, turn,
};
use crate::ci::CheckState;
use crate::fact::{ProjectEvent, ProjectFacts, RunEnding, TaskEvent, TaskFacts, UserCommand};
use crate::id::{Generation, HomeId, InstanceId, PrNumber};
use crate::observed::{DependencyState, FailureKind, Ticket, TicketState};
use crate::outcome::Class;
use crate::policy::{Policy, ReleasePolicy};
use crate::task::scenario::{
    Scenario, at, comment_id, failure, gh, hash, policy, pr, project_id, sha, stopped, ticket, work,
};
use crate::task::{Action, Hold, Planned};
use crate::time::Timestamp;

const SETTLE: Duration = Duration::from_secs(10);

/// A turn without a limit.
const FOR_GOOD: Timestamp = Timestamp(i64::MAX);

fn input(event: TaskEvent) -> Input {
    Input { event, settles: None }
}

#[test]
fn an_idle_task_writes_nothing() {
    for scenario in [Scenario::queued(), Scenario::running(), Scenario::opened(), Scenario::continued()] {
        let mut scenario = scenario;
        scenario.wait(0);
        // The project is known by now.
        scenario.loaded.project.version = 1;
        for event in [None, Some(TaskEvent::TicketRead { ticket: ticket(1) })] {
            let input = event.map(input);
            let idle = turn(&scenario.loaded, input.as_ref(), &scenario.policy, scenario.now);
            assert!(!idle.writes(), "{:?}: {idle:?}", scenario.stage());
        }
    }
}

#[test]
fn the_log_alone_gives_the_facts() {
    let mut scenario = Scenario::new();
    let mut log = Vec::new();
    let home = HomeId::parse("home").unwrap();
    let instance = InstanceId::parse("pilot-1").unwrap();
    let generation = Generation(1);
    let branch = scenario.loaded.task.branch();
    let mut go = |scenario: &mut Scenario, lane: &str, event: TaskEvent| {
        let change = if lane.is_empty() { scenario.tell(event) } else { scenario.done(lane, event) };
        log.extend(change.log);
        log.extend(scenario.wait(7).log);
    };
    go(&mut scenario, "", TaskEvent::TicketRead { ticket: ticket(1) });
    let trust = crate::observed::Trust::Trusted;
    go(&mut scenario, "", TaskEvent::TrustRead { login: "ann".to_owned(), trust });
    go(&mut scenario, "", TaskEvent::BranchChecked { branch: branch.clone(), found: None });
    go(&mut scenario, "", TaskEvent::Claimed { generation, home, instance });
    go(&mut scenario, "claim", TaskEvent::ClaimPlaced { generation });
    go(&mut scenario, "run", TaskEvent::RunStarted { generation, body: hash(0), without_comments: false });
    go(
        &mut scenario,
        "",
        TaskEvent::RunEnded { generation, ending: RunEnding::Completed(Box::new(work(sha(10)))) },
    );
    go(&mut scenario, "push", TaskEvent::Pushed { branch, sha: sha(10) });
    go(&mut scenario, "pr", TaskEvent::PrOpened { pr: pr(7, sha(10)) });
    go(
        &mut scenario,
        "",
        TaskEvent::CommandReceived { command: UserCommand::Cancel, by: crate::fact::CommandSource::Operator },
    );
    go(&mut scenario, "close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    assert_eq!(scenario.stage().as_str(), "cancelled");
    let told = replay(TaskFacts::new(project_id(), gh(1)), &log);
    assert_eq!(told, scenario.loaded.task);
    let numbers: Vec<u64> = log.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=log.len() as u64).collect::<Vec<_>>(), "no gap");
}

#[test]
fn facts_survive_being_stored() {
    for scenario in [Scenario::queued(), Scenario::running(), Scenario::opened(), Scenario::continued()] {
        let Scenario { loaded, actions, .. } = scenario;
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
    let mut scenario = Scenario::queued();
    let change = scenario.claim();
    let Some(ClaimChange::Take { generation, .. }) = change.claim else { panic!("{:?}", change.claim) };
    assert_eq!(generation, Generation(1));
    scenario.begin();
    let end = Some(ClaimChange::End { generation });
    let mut ended = Scenario::running();
    assert_eq!(ended.run_ends(stopped(Class::Timeout, None)).claim, end);
    assert_eq!(scenario.tell(TaskEvent::Abandoned { generation }).claim, end);
    // One that is over is ended all the same: the instance that took it over must not keep it.
    assert_eq!(scenario.tell(TaskEvent::Abandoned { generation }).claim, end);
    let mut paused = Scenario::queued();
    paused.command(UserCommand::Pause);
    assert_eq!(paused.claim().claim, None, "given back in the same breath");
    assert_eq!(paused.stage().as_str(), "held");
}

#[test]
fn what_only_the_holder_knows_is_fenced() {
    let generation = Generation(1);
    let mut scenario = Scenario::queued();
    assert_eq!(scenario.claim().fence, None);
    assert_eq!(scenario.done("claim", TaskEvent::ClaimPlaced { generation }).fence, Some(generation));
    let begun =
        scenario.done("run", TaskEvent::RunStarted { generation, body: hash(0), without_comments: false });
    assert_eq!((begun.fence, begun.run.map(|order| order.generation)), (Some(generation), Some(generation)));
    let late = scenario
        .tell(TaskEvent::RunEnded { generation: Generation(9), ending: stopped(Class::Unknown, None) });
    assert_eq!(late.fence, None);
    assert_eq!(scenario.tell(TaskEvent::TicketGone).fence, None, "what everybody can see needs no claim");
    assert_eq!(scenario.run_ends(stopped(Class::Cancelled, None)).fence, Some(generation));
}

#[test]
fn a_run_that_may_not_begin_any_more_does_not() {
    let mut scenario = Scenario::queued();
    scenario.claim();
    scenario.done("claim", TaskEvent::ClaimPlaced { generation: Generation(1) });
    let key = scenario.key("run");
    scenario.command(UserCommand::Cancel);
    let event = TaskEvent::RunStarted { generation: Generation(1), body: hash(0), without_comments: false };
    let change = scenario.turn(Some(&Input { event, settles: Some(key) }));
    assert_eq!((change.run, scenario.stage().as_str()), (None, "cancelled"));
}

#[test]
fn a_project_learns_from_its_tasks() {
    let mut scenario = Scenario::running();
    let project = |scenario: &Scenario| scenario.loaded.project.facts.clone();
    assert!(project(&scenario).active[&scenario.loaded.task.key].running);
    scenario.publish();
    let active = project(&scenario).active[&scenario.loaded.task.key].clone();
    assert_eq!((active.running, active.until), (false, FOR_GOOD), "until it is merged or given up");
    scenario.judged(CheckState::Passed);
    scenario.merges();
    assert_eq!((project(&scenario).merges.len(), project(&scenario).unreleased.len()), (1, 0));
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    let known = project(&scenario);
    assert_eq!((known.unreleased.len(), known.active.len(), known.failures), (1, 0, 0));

    let mut failing = Scenario::running();
    failing.run_ends(stopped(Class::GateFailed, None));
    assert_eq!(project(&failing).failures, 1);
    failing.tell(TaskEvent::RunEnded { generation: Generation(1), ending: stopped(Class::GateFailed, None) });
    assert_eq!(project(&failing).failures, 1, "told twice, counted once");
}

/// Until when others wait for the task, and why it is held, if it has a turn.
fn turn_of(scenario: &Scenario) -> Option<(Timestamp, Option<&Hold>)> {
    let (key, facts) = (&scenario.loaded.task.key, &scenario.loaded.project.facts);
    let active = facts.active.get(key).or_else(|| facts.held.get(key))?;
    Some((active.until, active.hold.as_ref()))
}

#[test]
fn a_held_task_with_finished_work_keeps_its_turn() {
    let mut scenario = Scenario::opened();
    let (opened, wait) = (scenario.now, Duration::from_secs(3600));
    scenario.wait(11);
    scenario.tell_pr(pr(7, sha(9)));
    let moved = Hold::HeadMoved { pr: PrNumber(7), head: sha(9) };
    assert_eq!(turn_of(&scenario), Some((FOR_GOOD, Some(&moved))));
    let mut limited = scenario.clone();
    limited.policy.pr_wait = Some(wait);
    limited.turn(None);
    assert_eq!(turn_of(&limited), Some((opened.after(wait), Some(&moved))), "as configured");
    scenario.tell_pr(pr(7, sha(10)));
    assert_eq!(turn_of(&scenario), Some((FOR_GOOD, None)), "it continues");
    scenario.tell_pr(pr(7, sha(9)));
    let mut unlabelled = scenario.clone();
    let read = Ticket { labels: BTreeSet::new(), updated_at: scenario.now, ..ticket(1) };
    unlabelled.tell(TaskEvent::TicketRead { ticket: read });
    unlabelled.tell_pr(pr(7, sha(10)));
    assert_eq!(turn_of(&unlabelled), None, "a user gave it up");
    scenario.command(UserCommand::Cancel);
    scenario.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    assert_eq!((scenario.stage().as_str(), turn_of(&scenario)), ("cancelled", None));

    let mut unpushed = Scenario::running();
    unpushed.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    for _ in 0..3 {
        unpushed.fails("push", FailureKind::Forbidden);
        unpushed.wait(60);
    }
    assert_eq!((unpushed.stage().as_str(), turn_of(&unpushed).is_some()), ("held", true));
}

#[test]
fn a_task_that_began_keeps_its_turn_between_its_runs() {
    let mut scenario = Scenario::running();
    let later = scenario.now.after(Duration::from_secs(60));
    scenario.run_ends(stopped(Class::ApiError, Some(later)));
    assert_eq!((scenario.stage().as_str(), turn_of(&scenario)), ("waiting", Some((FOR_GOOD, None))));
    scenario.wait(60);
    assert_eq!((scenario.stage().as_str(), turn_of(&scenario)), ("queued", Some((FOR_GOOD, None))));
    scenario.command(UserCommand::Pause);
    let paused = Hold::Paused { by: "the operator".to_owned() };
    assert_eq!(turn_of(&scenario), Some((FOR_GOOD, Some(&paused))));
    scenario.command(UserCommand::Resume);
    // It has no result, and depends on a task that would wait for it.
    let mut body = ticket(1).body;
    body.depends_on = [gh(2)].into();
    let read = Ticket { body, updated_at: scenario.now, ..ticket(1) };
    scenario.tell(TaskEvent::TicketRead { ticket: read });
    scenario.tell(TaskEvent::DependencyRead { ticket: gh(2), state: DependencyState::Open });
    assert_eq!((scenario.stage().as_str(), turn_of(&scenario)), ("held", None));

    let mut killed = Scenario::running();
    killed.tell(TaskEvent::Abandoned { generation: Generation(1) });
    assert_eq!((killed.stage().as_str(), turn_of(&killed)), ("queued", Some((FOR_GOOD, None))));
    let waiting = Scenario::queued();
    assert_eq!((waiting.stage().as_str(), turn_of(&waiting)), ("queued", None), "it has not begun");
}

#[test]
fn a_user_gives_up_a_chain_of_fixes_by_any_of_its_tickets() {
    let mut scenario = Scenario::continued();
    assert_eq!((scenario.stage().as_str(), turn_of(&scenario)), ("continued", Some((FOR_GOOD, None))));
    assert_eq!(scenario.loaded.project.facts.withdrawn, BTreeMap::new());
    let closed = Ticket { state: TicketState::Closed, updated_at: scenario.now, ..ticket(1) };
    scenario.tell(TaskEvent::TicketRead { ticket: closed });
    assert_eq!(scenario.loaded.project.facts.withdrawn, [(gh(1), gh(1))].into());
}

fn plan(lane: &str, number: u64, not_before: Timestamp) -> Planned {
    let action = Action::SendMessage { to: gh(number), message: crate::fact::TaskMessage::LetGo };
    Planned { key: super::Key::parse(&format!("{lane}:{number}")).unwrap(), action, not_before }
}

fn open(lane: &str, number: u64, taken: bool) -> OpenEntry {
    OpenEntry { key: super::Key::parse(&format!("{lane}:{number}")).unwrap(), not_before: at(10), taken }
}

#[test]
fn the_outbox_holds_what_is_planned() {
    let key = |text: &str| super::Key::parse(text).unwrap();
    let now = at(10);
    // What is wanted is there.
    assert_eq!(outbox(&[open("push", 1, false)], None, vec![plan("push", 1, at(10))], SETTLE, now), []);
    // No label is written while the claim it shows is being released.
    let releasing = OpenEntry { key: key("claim:release-g1"), not_before: now, taken: true };
    assert_eq!(outbox(&[releasing], None, vec![plan("label", 1, now)], SETTLE, now), []);
    // What is not wanted any more goes, unless it is being performed.
    assert_eq!(
        outbox(&[open("push", 1, false)], None, vec![], SETTLE, now),
        [OutboxChange::Withdraw(key("push:1"))]
    );
    assert_eq!(outbox(&[open("push", 1, true)], None, vec![], SETTLE, now), []);
    // Another of the same lane waits for that.
    assert_eq!(outbox(&[open("push", 1, true)], None, vec![plan("push", 2, now)], SETTLE, now), []);
    assert_eq!(
        outbox(&[open("push", 1, true)], None, vec![plan("merge", 2, now)], SETTLE, now),
        [OutboxChange::Plan(plan("merge", 2, now))]
    );
    // One that failed is given back and comes later.
    assert_eq!(
        outbox(
            &[open("push", 1, true)],
            Some((&key("push:1"), true)),
            vec![plan("push", 1, at(20))],
            SETTLE,
            now
        ),
        [OutboxChange::Release(key("push:1")), OutboxChange::Reschedule(key("push:1"), at(20))]
    );
    // One that is done makes room for the next of its lane.
    assert_eq!(
        outbox(
            &[open("push", 1, true)],
            Some((&key("push:1"), false)),
            vec![plan("push", 2, now)],
            SETTLE,
            now
        ),
        [OutboxChange::Settle(key("push:1")), OutboxChange::Plan(plan("push", 2, now))]
    );
    // One that is done and wanted again is in no hurry.
    assert_eq!(
        outbox(
            &[open("push", 1, true)],
            Some((&key("push:1"), false)),
            vec![plan("push", 1, now)],
            SETTLE,
            now
        ),
        [OutboxChange::Settle(key("push:1")), OutboxChange::Plan(plan("push", 1, now.after(AGAIN)))]
    );
}

#[test]
fn the_claim_is_taken_back_last() {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Passed);
    scenario.merges();
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    scenario.done("close-ticket", TaskEvent::TicketClosed);
    let branch = scenario.loaded.task.branch();
    scenario.done("delete-branch", TaskEvent::BranchDeleted { branch });
    scenario.done("label", TaskEvent::Labelled { labels: vec!["pilot-done".to_owned()] });
    scenario.wait(60);
    assert_eq!(scenario.lanes(), ["comment"]);
    let fingerprint = match scenario.action("comment") {
        Some(Action::Comment { fingerprint, .. }) => fingerprint.clone(),
        _ => panic!(),
    };
    scenario.done("comment", TaskEvent::Commented { comment: comment_id(1), fingerprint });
    assert_eq!(scenario.lanes(), ["claim"]);
    scenario.done("claim", TaskEvent::ClaimReleased);
    assert_eq!(scenario.lanes(), [""; 0]);
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
    loaded.open = vec![OpenEntry { key: key.clone(), not_before: at(1), taken: true }];
    let event = ProjectEvent::Failed { key: key.clone(), failure: failure(FailureKind::Server) };
    let input = ProjectInput { event, settles: Some(key.clone()) };
    let failed = project_turn(&loaded, Some(&input), &policy, at(2));
    let expect = [OutboxChange::Release(key.clone()), OutboxChange::Reschedule(key.clone(), at(12))];
    assert_eq!((failed.project.outbox, failed.project.log.len()), (expect.to_vec(), 1));
    let event = ProjectEvent::Tagged { tag: "v0.1.0".to_owned(), commit: sha(1) };
    let input = ProjectInput { event, settles: Some(key.clone()) };
    let tagged = project_turn(&loaded, Some(&input), &policy, at(3));
    assert_eq!(tagged.project.outbox, [OutboxChange::Settle(key)]);
    assert!(tagged.project.facts.unreleased.is_empty());
}
