//! What people ask for: once more, not now, not at all, and why.

use std::time::Duration;

use super::ended;
use crate::ci::CheckState;
use crate::fact::{Lineage, MessageKind, RunEnding, TaskEvent, TaskMessage, UserCommand};
use crate::id::{Branch, PrNumber, TaskKey};
use crate::observed::{FailureKind, Mergeable, Pr, PrState, Ticket, Trust};
use crate::outcome::Class;
use crate::task::scenario::{Scenario, at, by_comment, comment_id, gh, pr, sha, stopped, ticket, work};
use crate::task::{Action, Hold, Stage, StatusComment};

#[test]
fn a_new_life_has_a_new_branch_where_the_old_one_was_used() {
    for ((word, mut scenario), branch) in
        ended().into_iter().zip(["pilot/GH-1", "pilot/GH-1", "pilot/GH-1", "pilot/GH-1-2"])
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
    for trust in [Trust::Untrusted, Trust::Unknown] {
        let mut scenario = Scenario::queued();
        let cancel =
            |id| TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(id, trust) };
        scenario.tell(cancel(5));
        assert_eq!(
            (scenario.stage().as_str(), answer(&scenario)),
            ("queued", "@bob has no write access here, so nothing was changed.".to_owned())
        );
        scenario.done("reply", TaskEvent::Replied { to: comment_id(5) });
        assert_eq!(scenario.tell(cancel(6)).log.len(), 0, "told once: {trust:?}");
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
fn a_token_that_is_refused_for_a_while_needs_no_command() {
    let mut scenario = unpublished();
    for _ in 0..10 {
        scenario.fails("push", FailureKind::Unauthorised);
        let due = scenario.not_before("push").since(scenario.now);
        assert!(due <= Duration::from_secs(60), "{due:?}");
        scenario.wait(due.as_secs());
    }
    assert_eq!(scenario.stage().as_str(), "held", "it is said");
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
    assert_eq!((scenario.stage().as_str(), scenario.loaded.task.life.attempts), ("opening", 1));
}

#[test]
fn a_pull_request_follows_a_base_branch_that_was_renamed() {
    let mut scenario = unopened();
    for _ in 0..3 {
        scenario.fails("pr", FailureKind::Refused);
    }
    scenario.policy.base = Branch::parse("trunk").unwrap();
    scenario.wait(0);
    let Some(Action::OpenPr(new)) = scenario.action("pr") else { panic!("{:?}", scenario.lanes()) };
    assert_eq!(new.base.as_str(), "trunk");
}

/// A fix of task 9, whose pull request conflicts with the base branch.
fn conflicting_fix() -> Scenario {
    let mut scenario = Scenario::new();
    let lineage = Lineage {
        root: gh(9),
        parents: vec![gh(9)],
        pr: PrNumber(5),
        branch: Branch::parse("pilot/GH-1").unwrap(),
        sha: sha(9),
        iteration: 1,
    };
    scenario.tell(TaskEvent::MessageReceived { message: TaskMessage::Adopted(lineage) });
    scenario.be_admitted();
    scenario.claim();
    scenario.begin();
    scenario.publish();
    scenario.judged(CheckState::Passed);
    scenario.tell_pr(Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) });
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::MergeConflict { pr: PrNumber(7) } });
    scenario
}

fn message(scenario: &Scenario) -> Option<(TaskKey, TaskMessage)> {
    let Action::SendMessage { to, message } = scenario.action("message")? else { return None };
    Some((to.clone(), message.clone()))
}

#[test]
fn a_retry_of_a_fix_that_conflicts_starts_its_root_again() {
    let asked = TaskEvent::MessageReceived { message: TaskMessage::Retry };
    let by_comment =
        TaskEvent::CommandReceived { command: UserCommand::Retry, by: by_comment(5, Trust::Trusted) };
    for event in [by_comment, asked] {
        let mut fix = conflicting_fix();
        fix.tell(event.clone());
        assert_eq!(fix.stage().as_str(), "closing", "{event:?}");
        fix.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
        assert_eq!(fix.stage().as_str(), "cancelled");
        assert_eq!(message(&fix), Some((gh(9), TaskMessage::GaveUp { ticket: gh(1) })));
        fix.done("message", TaskEvent::MessageSent { to: gh(9), about: MessageKind::GaveUp });
        let branch = Branch::parse("pilot/GH-1").unwrap();
        assert_eq!(message(&fix), Some((gh(9), TaskMessage::Restart { branch })));
        fix.done("message", TaskEvent::MessageSent { to: gh(9), about: MessageKind::Restart });
        assert_eq!(message(&fix), None);
        fix.tell(event);
        assert_eq!(message(&fix), None, "once");
    }
}

#[test]
fn a_root_passes_a_retry_on_to_its_fix_and_starts_again_when_that_says_so() {
    let mut root = Scenario::continued();
    root.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    root.done("message", TaskEvent::MessageSent { to: gh(8), about: MessageKind::Adopted });
    for _ in 0..2 {
        root.command(UserCommand::Retry);
        assert_eq!((root.stage().as_str(), message(&root)), ("continued", Some((gh(8), TaskMessage::Retry))));
        root.done("message", TaskEvent::MessageSent { to: gh(8), about: MessageKind::Retry });
        assert_eq!(message(&root), None);
    }
    let branch = root.loaded.task.branch();
    let restart = TaskEvent::MessageReceived { message: TaskMessage::Restart { branch } };
    for event in [
        TaskEvent::MessageReceived { message: TaskMessage::GaveUp { ticket: gh(8) } },
        restart.clone(),
        restart,
    ] {
        root.tell(event);
    }
    assert_eq!(root.loaded.task.life.number, 1, "a message that comes twice counts once");
    root.be_admitted();
    assert_eq!(root.stage().as_str(), "queued");
    assert_eq!(root.loaded.task.branch().as_str(), "pilot/GH-1-2");
}

fn answer(scenario: &Scenario) -> String {
    let Some(Action::Reply { body, .. }) = scenario.action("reply") else { panic!("{:?}", scenario.lanes()) };
    body.clone()
}

#[test]
fn a_command_that_comes_too_late_changes_nothing_and_is_answered() {
    use UserCommand::{Cancel, Pause, Resume, Retry};
    for (scenario, (commands, words)) in ended().into_iter().zip([
        (&[Cancel, Pause, Resume, Retry][..], "GH-1 is already merged; nothing to cancel."),
        (&[Cancel, Pause, Resume], "GH-1 was given up; nothing to cancel. `/pilot retry` starts again."),
        (&[Cancel, Pause, Resume], "GH-1 is already cancelled; nothing to cancel."),
        (&[Cancel, Pause, Resume], "GH-1 was given up; nothing to cancel."),
    ]) {
        for command in commands {
            let (word, mut scenario) = scenario.clone();
            let before = scenario.loaded.task.life.clone();
            assert_eq!(scenario.command(*command).log.len(), 0, "{word}: {command:?} of the operator");
            let by = by_comment(5, Trust::Trusted);
            scenario.tell(TaskEvent::CommandReceived { command: *command, by });
            assert_eq!(scenario.loaded.task.life, before, "{word}: {command:?}");
            let words = words.replace("cancel.", &format!("{}.", command.as_str()));
            assert!(answer(&scenario).starts_with(&words), "{word}: {}", answer(&scenario));
        }
    }
}

#[test]
fn what_is_no_command_is_answered_with_those_there_are() {
    let mut scenario = Scenario::queued();
    let dance = || TaskEvent::CommandNotUnderstood {
        words: "/pilot dance".to_owned(),
        by: by_comment(5, Trust::Trusted),
    };
    scenario.tell(dance());
    let expect = "`/pilot dance` is no command. There are `/pilot cancel`, `/pilot retry`, `/pilot pause`, \
                  `/pilot resume`, `/pilot why`.";
    assert_eq!(answer(&scenario), expect);
    scenario.done("reply", TaskEvent::Replied { to: comment_id(5) });
    assert_eq!(scenario.tell(dance()).log.len(), 0, "the same comment is read again with every poll");
}

#[test]
fn a_ticket_that_is_held_before_it_began_says_so_in_one_comment() {
    let mut scenario = Scenario::new();
    scenario.tell(TaskEvent::TicketRead { ticket: ticket(1) });
    assert_eq!(scenario.action("comment"), None, "it is being checked");
    scenario.tell(TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Untrusted });
    let Some(Action::Comment { body, known, fingerprint, .. }) = scenario.action("comment").cloned() else {
        panic!("{:?}", scenario.lanes())
    };
    assert!(body.starts_with("@ann has no write access here."), "{body}");
    assert_eq!(known, StatusComment::Unknown, "another Pilot may have said so");
    scenario.done("comment", TaskEvent::Commented { comment: comment_id(7), fingerprint });
    // Another Pilot wrote its own at the same moment: the first stays.
    assert!(matches!(scenario.action("reply"), Some(Action::AnswerOnce { .. })), "{:?}", scenario.lanes());
    let first = Some(comment_id(6));
    scenario.done("reply", TaskEvent::AnsweredOnce { to: comment_id(7), first });
    assert_eq!(scenario.loaded.task.comment.as_ref().map(|known| &known.id), Some(&comment_id(6)));
    scenario.tell(TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted });
    let branch = scenario.loaded.task.branch();
    scenario.tell(TaskEvent::BranchChecked { branch, found: None });
    assert_eq!((scenario.stage().as_str(), scenario.action("comment")), ("queued", None));
    scenario.claim();
    scenario.begin();
    let Some(Action::Comment { known, .. }) = scenario.action("comment") else { panic!() };
    assert_eq!(*known, StatusComment::Written(comment_id(6)), "written over, not repeated");
}

#[test]
fn a_label_that_comes_and_goes_does_not_start_an_agent_each_time() {
    let mut scenario = Scenario::running();
    let mut updated = 1;
    let mut starts = 1;
    let mut reasons = Vec::new();
    for _ in 0..16 {
        for labels in [vec![], vec!["pilot".to_owned()]] {
            updated += 1;
            let ticket =
                Ticket { labels: labels.into_iter().collect(), updated_at: at(updated), ..ticket(1) };
            scenario.tell(TaskEvent::TicketRead { ticket });
            if scenario.loaded.task.life.claim.is_some() {
                scenario.run_ends(stopped(Class::Cancelled, None));
            }
        }
        scenario.wait(5);
        reasons.push(scenario.stage().as_str());
        if matches!(scenario.stage(), Stage::Queued { .. }) {
            scenario.claim();
            scenario.begin();
            starts += 1;
        }
    }
    assert!(starts <= 3 && reasons.contains(&"waiting"), "{starts} starts, {reasons:?}");
    for _ in 0..2 {
        scenario.wait(1800);
        scenario.claim();
        scenario.begin();
        for labels in [vec![], vec!["pilot".to_owned()]] {
            updated += 1;
            let ticket =
                Ticket { labels: labels.into_iter().collect(), updated_at: at(updated), ..ticket(1) };
            scenario.tell(TaskEvent::TicketRead { ticket });
            if scenario.loaded.task.life.claim.is_some() {
                scenario.run_ends(stopped(Class::Cancelled, None));
            }
        }
    }
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::WithdrawnTooOften { count: 5 } });
    scenario.command(UserCommand::Retry);
    scenario.be_admitted();
    assert_eq!(scenario.stage().as_str(), "queued", "a person may start again");
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
    scenario.done("reply", TaskEvent::AnsweredOnce { to: comment_id(5), first: None });
    scenario.done("reply", TaskEvent::AnsweredOnce { to: comment_id(6), first: None });
    assert_eq!(scenario.lanes(), [""; 0]);
}
