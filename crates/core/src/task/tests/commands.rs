//! What people ask for: once more, not now, not at all, and why.

use super::ended;
use crate::ci::CheckState;
use crate::fact::{RunEnding, TaskEvent, UserCommand};
use crate::id::PrNumber;
use crate::observed::{FailureKind, Mergeable, Pr, PrState, Trust};
use crate::task::scenario::{Scenario, by_comment, comment_id, pr, sha, work};
use crate::task::{Action, Hold, Stage};

#[test]
fn a_new_life_has_a_new_branch_where_the_old_one_was_used() {
    for ((word, mut scenario), branch) in
        ended().into_iter().zip(["pilot/GH-1-2", "pilot/GH-1", "pilot/GH-1", "pilot/GH-1-2"])
    {
        scenario.command(UserCommand::Retry);
        assert_eq!(scenario.loaded.task.branch().as_str(), branch, "{word}");
    }
}

#[test]
fn a_retry_closes_the_old_pull_request_first() {
    let mut scenario = Scenario::opened();
    scenario.command(UserCommand::Retry);
    assert_eq!(scenario.loaded.task.superseded, [PrNumber(7)]);
    let Some(Action::ClosePr { pr, head, .. }) = scenario.action("close-pr") else { panic!() };
    assert_eq!((*pr, head), (PrNumber(7), &None));
    scenario.be_admitted();
    scenario.claim();
    scenario.begin();
    scenario.run_ends(RunEnding::Completed(Box::new(work(sha(12)))));
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(12) });
    assert!(!scenario.lanes().contains(&"pr"), "a task has one open pull request");
    scenario.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    assert!(scenario.lanes().contains(&"pr"));
}

/// A task whose run is over and whose push is refused.
fn unpublished() -> Scenario {
    let mut scenario = Scenario::running();
    scenario.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    scenario
}

fn unopened() -> Scenario {
    let mut scenario = unpublished();
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
    scenario
}

fn judged(conclusion: CheckState) -> Scenario {
    let mut scenario = Scenario::opened();
    scenario.judged(conclusion);
    scenario
}

#[test]
fn a_retry_asks_again_what_was_refused_and_keeps_the_work() {
    type Case = (fn() -> Scenario, &'static str, FailureKind, &'static str);
    const CASES: [Case; 6] = [
        (unpublished, "push", FailureKind::Refused, "publishing"),
        (unpublished, "push", FailureKind::Conflict, "publishing"),
        (unpublished, "push", FailureKind::Server, "publishing"),
        (unopened, "pr", FailureKind::Forbidden, "opening"),
        (|| judged(CheckState::Passed), "merge", FailureKind::Refused, "merging"),
        (|| judged(CheckState::Failed), "fix", FailureKind::Forbidden, "ci_failed"),
    ];
    for (scenario, lane, kind, goes_on) in CASES {
        let mut scenario = scenario();
        for _ in 0..5 {
            scenario.fails(lane, kind);
        }
        assert_eq!(scenario.stage().as_str(), "held", "{lane}");
        let Some(Action::Comment { body, .. }) = scenario.action("comment") else {
            panic!("{:?}", scenario.lanes())
        };
        assert!(body.contains("Pilot could not"), "people are told: {body}");
        let before = scenario.loaded.task.life.clone();
        scenario.command(UserCommand::Retry);
        assert_eq!(
            (scenario.stage().as_str(), &scenario.loaded.task.life),
            (goes_on, &before),
            "{lane} {kind:?}"
        );
        assert!(scenario.not_before(lane) <= scenario.now.after(scenario.policy.settle), "{lane} is due");
        // Once more in vain, and it waits as after the first time.
        scenario.fails(lane, kind);
        assert_eq!(scenario.stage().as_str(), goes_on, "{lane}");
    }
}

#[test]
fn a_retry_begins_anew_where_asking_again_would_not_help() {
    type Change = fn(&mut Scenario);
    const CASES: [(&str, Change, bool); 6] = [
        ("nothing", |_| {}, false),
        ("not refused for good", |scenario| scenario.loaded.task.trouble.clear(), true),
        ("somebody pushed", |scenario| scenario.tell_pr(Pr { head: sha(12), ..pr(7, sha(10)) }), true),
        (
            "it conflicts",
            |scenario| scenario.tell_pr(Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) }),
            true,
        ),
        ("it was closed", |scenario| scenario.tell_pr(Pr { state: PrState::Closed, ..pr(7, sha(10)) }), true),
        ("it was cancelled", |scenario| drop(scenario.command(UserCommand::Cancel)), true),
    ];
    for (what, change, anew) in CASES {
        let mut scenario = judged(CheckState::Passed);
        for _ in 0..3 {
            scenario.fails("merge", FailureKind::Refused);
        }
        change(&mut scenario);
        scenario.command(UserCommand::Retry);
        assert_eq!(scenario.loaded.task.life.number, u32::from(anew), "{what}");
    }
}

#[test]
fn a_pull_request_nobody_knows_of_is_looked_for() {
    let mut scenario = Scenario::running();
    scenario.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch: branch.clone(), sha: sha(10) });
    scenario.fails("pr", FailureKind::Lost);
    scenario.command(UserCommand::Retry);
    assert_eq!(scenario.loaded.task.lost, std::slice::from_ref(&branch));
    assert!(matches!(scenario.action("pr"), Some(Action::FindPr { .. })), "{:?}", scenario.lanes());
    scenario.done("pr", TaskEvent::PrOpened { pr: pr(7, sha(10)) });
    assert_eq!(
        (scenario.loaded.task.superseded.as_slice(), scenario.loaded.task.lost.len()),
        (&[PrNumber(7)][..], 0)
    );
}

#[test]
fn orders_are_obeyed_where_they_make_sense() {
    type Case = (fn() -> Scenario, UserCommand, &'static str);
    const CASES: [Case; 11] = [
        (Scenario::queued, UserCommand::Cancel, "cancelled"),
        (Scenario::running, UserCommand::Cancel, "stopping"),
        (Scenario::opened, UserCommand::Cancel, "closing"),
        (Scenario::continued, UserCommand::Cancel, "continued"),
        (Scenario::queued, UserCommand::Pause, "held"),
        // What runs may end; what comes of it waits.
        (Scenario::running, UserCommand::Pause, "running"),
        (Scenario::opened, UserCommand::Pause, "held"),
        (Scenario::running, UserCommand::Retry, "running"),
        (Scenario::continued, UserCommand::Retry, "continued"),
        (Scenario::opened, UserCommand::Retry, "checking"),
        (Scenario::queued, UserCommand::Why, "queued"),
    ];
    for (scenario, order, expect) in CASES {
        let mut scenario = scenario();
        scenario.command(order);
        assert_eq!(scenario.stage().as_str(), expect, "{order:?}");
    }
}

#[test]
fn a_pause_ends_with_a_resume_and_with_a_retry() {
    for order in [UserCommand::Resume, UserCommand::Retry] {
        let mut scenario = Scenario::queued();
        scenario.command(UserCommand::Pause);
        assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::Paused { by: "the operator".to_owned() } });
        scenario.command(order);
        assert_eq!((scenario.stage().as_str(), scenario.loaded.task.life.number), ("queued", 0), "{order:?}");
    }
}

#[test]
fn orders_need_rights_and_count_once() {
    for trust in [Trust::Untrusted, Trust::Untrusted, Trust::Untrusted] {
        let mut scenario = Scenario::queued();
        let change = scenario
            .tell(TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(5, trust) });
        assert_eq!((scenario.stage().as_str(), change.log.len()), ("queued", 0), "{trust:?}");
    }
    let mut scenario = Scenario::queued();
    let cancel =
        TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(5, Trust::Trusted) };
    scenario.tell(cancel.clone());
    assert_eq!(scenario.stage().as_str(), "cancelled");
    scenario.command(UserCommand::Retry);
    scenario.tell(cancel);
    assert_ne!(scenario.stage().as_str(), "cancelled", "the same comment is read again with every poll");
}

#[test]
fn a_question_is_answered_once() {
    let mut scenario = Scenario::queued();
    let why = TaskEvent::CommandReceived { command: UserCommand::Why, by: by_comment(5, Trust::Trusted) };
    scenario.tell(why.clone());
    let Some(Action::Reply { to, body, .. }) = scenario.action("reply") else { panic!() };
    assert_eq!(*to, comment_id(5));
    assert!(body.starts_with("GH-1: Queued."), "{body}");
    scenario.done("reply", TaskEvent::Replied { to: comment_id(5) });
    scenario.tell(why);
    // Another Pilot may have answered too. That is checked when reads can no longer be stale.
    assert!(matches!(scenario.action("reply"), Some(Action::AnswerOnce { .. })), "{:?}", scenario.lanes());
    assert_eq!(scenario.not_before("reply"), scenario.now.after(scenario.policy.settle));
    // The next question does not wait for that.
    scenario
        .tell(TaskEvent::CommandReceived { command: UserCommand::Why, by: by_comment(6, Trust::Trusted) });
    assert!(matches!(scenario.action("reply"), Some(Action::Reply { .. })), "{:?}", scenario.lanes());
    scenario.done("reply", TaskEvent::Replied { to: comment_id(6) });
    scenario.done("reply", TaskEvent::AnsweredOnce { to: comment_id(5) });
    scenario.done("reply", TaskEvent::AnsweredOnce { to: comment_id(6) });
    assert_eq!(scenario.lanes(), [""; 0]);
}
