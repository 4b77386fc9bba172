//! What people ask for: once more, not now, not at all, and why.

use super::ended;
use crate::ci::Conclusion;
use crate::fact::{Happened, Order, RunEnding};
use crate::name::{CommentId, PrNumber};
use crate::seen::{FailureKind, Mergeable, Permission, Pr, PrState};
use crate::task::tale::{Tale, by_comment, pr, sha, work};
use crate::task::{Action, Hold, Stage};

#[test]
fn a_new_life_has_a_new_branch_where_the_old_one_was_used() {
    for ((word, mut tale), branch) in
        ended().into_iter().zip(["pilot/GH-1-2", "pilot/GH-1", "pilot/GH-1", "pilot/GH-1-2"])
    {
        tale.ordered(Order::Retry);
        assert_eq!(tale.loaded.task.branch().as_str(), branch, "{word}");
    }
}

#[test]
fn a_retry_closes_the_old_pull_request_first() {
    let mut tale = Tale::opened();
    tale.ordered(Order::Retry);
    assert_eq!(tale.loaded.task.superseded, [PrNumber(7)]);
    let Some(Action::ClosePr { pr, head, .. }) = tale.action("close-pr") else { panic!() };
    assert_eq!((*pr, head), (PrNumber(7), &None));
    tale.be_admitted();
    tale.claim();
    tale.begin();
    tale.run_ends(RunEnding::Completed(Box::new(work(sha(12)))));
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch, sha: sha(12) });
    assert!(!tale.lanes().contains(&"pr"), "a task has one open pull request");
    tale.done("close-pr", Happened::PrClosed { pr: PrNumber(7) });
    assert!(tale.lanes().contains(&"pr"));
}

/// A task whose run is over and whose push is refused.
fn unpublished() -> Tale {
    let mut tale = Tale::running();
    tale.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    tale
}

fn unopened() -> Tale {
    let mut tale = unpublished();
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch, sha: sha(10) });
    tale
}

fn judged(conclusion: Conclusion) -> Tale {
    let mut tale = Tale::opened();
    tale.judged(conclusion);
    tale
}

#[test]
fn a_retry_asks_again_what_was_refused_and_keeps_the_work() {
    type Case = (fn() -> Tale, &'static str, FailureKind, &'static str);
    const CASES: [Case; 6] = [
        (unpublished, "push", FailureKind::Refused, "publishing"),
        (unpublished, "push", FailureKind::Conflict, "publishing"),
        (unpublished, "push", FailureKind::Server, "publishing"),
        (unopened, "pr", FailureKind::Forbidden, "opening"),
        (|| judged(Conclusion::Success), "merge", FailureKind::Refused, "merging"),
        (|| judged(Conclusion::Failure), "fix", FailureKind::Forbidden, "ci_failed"),
    ];
    for (tale, lane, kind, goes_on) in CASES {
        let mut tale = tale();
        for _ in 0..5 {
            tale.fails(lane, kind);
        }
        assert_eq!(tale.stage().as_str(), "held", "{lane}");
        let Some(Action::Comment { body, .. }) = tale.action("comment") else { panic!("{:?}", tale.lanes()) };
        assert!(body.contains("Pilot could not"), "people are told: {body}");
        let before = tale.loaded.task.life.clone();
        tale.ordered(Order::Retry);
        assert_eq!((tale.stage().as_str(), &tale.loaded.task.life), (goes_on, &before), "{lane} {kind:?}");
        assert!(tale.not_before(lane) <= tale.now.after(tale.policy.settle), "{lane} is due");
        // Once more in vain, and it waits as after the first time.
        tale.fails(lane, kind);
        assert_eq!(tale.stage().as_str(), goes_on, "{lane}");
    }
}

#[test]
fn a_retry_begins_anew_where_asking_again_would_not_help() {
    type Change = fn(&mut Tale);
    const CASES: [(&str, Change, bool); 6] = [
        ("nothing", |_| {}, false),
        ("not refused for good", |tale| tale.loaded.task.trouble.clear(), true),
        ("somebody pushed", |tale| tale.tell_pr(Pr { head: sha(12), ..pr(7, sha(10)) }), true),
        ("it conflicts", |tale| tale.tell_pr(Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) }), true),
        ("it was closed", |tale| tale.tell_pr(Pr { state: PrState::Closed, ..pr(7, sha(10)) }), true),
        ("it was cancelled", |tale| drop(tale.ordered(Order::Cancel)), true),
    ];
    for (what, change, anew) in CASES {
        let mut tale = judged(Conclusion::Success);
        for _ in 0..3 {
            tale.fails("merge", FailureKind::Refused);
        }
        change(&mut tale);
        tale.ordered(Order::Retry);
        assert_eq!(tale.loaded.task.life.number, u32::from(anew), "{what}");
    }
}

#[test]
fn a_pull_request_nobody_knows_of_is_looked_for() {
    let mut tale = Tale::running();
    tale.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch: branch.clone(), sha: sha(10) });
    tale.fails("pr", FailureKind::Lost);
    tale.ordered(Order::Retry);
    assert_eq!(tale.loaded.task.lost, std::slice::from_ref(&branch));
    assert!(matches!(tale.action("pr"), Some(Action::FindPr { .. })), "{:?}", tale.lanes());
    tale.done("pr", Happened::PrOpened { pr: pr(7, sha(10)) });
    assert_eq!(
        (tale.loaded.task.superseded.as_slice(), tale.loaded.task.lost.len()),
        (&[PrNumber(7)][..], 0)
    );
}

#[test]
fn orders_are_obeyed_where_they_make_sense() {
    type Case = (fn() -> Tale, Order, &'static str);
    const CASES: [Case; 11] = [
        (Tale::queued, Order::Cancel, "cancelled"),
        (Tale::running, Order::Cancel, "stopping"),
        (Tale::opened, Order::Cancel, "closing"),
        (Tale::continued, Order::Cancel, "continued"),
        (Tale::queued, Order::Pause, "held"),
        // What runs may end; what comes of it waits.
        (Tale::running, Order::Pause, "running"),
        (Tale::opened, Order::Pause, "held"),
        (Tale::running, Order::Retry, "running"),
        (Tale::continued, Order::Retry, "continued"),
        (Tale::opened, Order::Retry, "checking"),
        (Tale::queued, Order::Why, "queued"),
    ];
    for (tale, order, expect) in CASES {
        let mut tale = tale();
        tale.ordered(order);
        assert_eq!(tale.stage().as_str(), expect, "{order:?}");
    }
}

#[test]
fn a_pause_ends_with_a_resume_and_with_a_retry() {
    for order in [Order::Resume, Order::Retry] {
        let mut tale = Tale::queued();
        tale.ordered(Order::Pause);
        assert_eq!(*tale.stage(), Stage::Held { hold: Hold::Paused { by: "the operator".to_owned() } });
        tale.ordered(order);
        assert_eq!((tale.stage().as_str(), tale.loaded.task.life.number), ("queued", 0), "{order:?}");
    }
}

#[test]
fn orders_need_rights_and_count_once() {
    for permission in [Permission::None, Permission::Read, Permission::Triage] {
        let mut tale = Tale::queued();
        let change = tale.tell(Happened::Ordered { order: Order::Cancel, by: by_comment(5, permission) });
        assert_eq!((tale.stage().as_str(), change.log.len()), ("queued", 0), "{permission:?}");
    }
    let mut tale = Tale::queued();
    let cancel = Happened::Ordered { order: Order::Cancel, by: by_comment(5, Permission::Write) };
    tale.tell(cancel.clone());
    assert_eq!(tale.stage().as_str(), "cancelled");
    tale.ordered(Order::Retry);
    tale.tell(cancel);
    assert_ne!(tale.stage().as_str(), "cancelled", "the same comment is read again with every poll");
}

#[test]
fn a_question_is_answered_once() {
    let mut tale = Tale::queued();
    let why = Happened::Ordered { order: Order::Why, by: by_comment(5, Permission::Admin) };
    tale.tell(why.clone());
    let Some(Action::Reply { to, body, .. }) = tale.action("reply") else { panic!() };
    assert_eq!(*to, CommentId(5));
    assert!(body.starts_with("GH-1: It waits for its turn."), "{body}");
    tale.done("reply", Happened::Replied { to: CommentId(5) });
    tale.tell(why);
    // Another Pilot may have answered too. That is looked for when reads can be believed.
    assert!(matches!(tale.action("reply"), Some(Action::AnswerOnce { .. })), "{:?}", tale.lanes());
    assert_eq!(tale.not_before("reply"), tale.now.after(tale.policy.settle));
    // The next question does not wait for that.
    tale.tell(Happened::Ordered { order: Order::Why, by: by_comment(6, Permission::Admin) });
    assert!(matches!(tale.action("reply"), Some(Action::Reply { .. })), "{:?}", tale.lanes());
    tale.done("reply", Happened::Replied { to: CommentId(6) });
    tale.done("reply", Happened::AnsweredOnce { to: CommentId(5) });
    tale.done("reply", Happened::AnsweredOnce { to: CommentId(6) });
    assert_eq!(tale.lanes(), [""; 0]);
}
