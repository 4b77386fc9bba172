//! Tasks as stories: what happens to one, and where it stands then.

use std::collections::BTreeSet;
use std::time::Duration;

use super::scenario::{
    Scenario, at, by_comment, comment_id, gh, hash, pr, project_id, reading, sha, stopped, ticket, work,
};
use super::{Action, Hold, Query, Stage, StatusComment, Stop, Wait, step};
use crate::ci::CheckState;
use crate::fact::{
    CommandSource, Ending, GivenUp, MessageKind, RunEnding, TaskEvent, TaskFacts, TaskMessage, UserCommand,
};
use crate::id::{Branch, Generation, PrNumber};
use crate::observed::{Author, AuthorKind, Body, FailureKind, Pr, PrState, Ticket, TicketState, Trust};
use crate::outcome::Class;

mod commands;
mod holds;

#[test]
fn from_label_to_merged() {
    let mut scenario = Scenario::new();
    let change = scenario.wait(0);
    assert_eq!(change.queries, [Query::Ticket], "nothing is known");
    let change = scenario.tell(TaskEvent::TicketRead { ticket: ticket(1) });
    let branch = Branch::parse("pilot/GH-1").unwrap();
    let trust = Query::Trust { login: "ann".to_owned() };
    assert_eq!(change.queries, [trust, Query::Branch { branch }]);
    scenario.be_admitted();
    assert_eq!(*scenario.stage(), Stage::Queued { rank: 0 });
    assert_eq!(scenario.lanes(), [""; 0], "a ticket that waits is left alone");

    scenario.claim();
    assert_eq!((scenario.stage().as_str(), scenario.lanes()), ("claiming", vec!["claim"]));
    let generation = Generation(1);
    scenario.done("claim", TaskEvent::ClaimPlaced { generation });
    assert_eq!((scenario.stage().as_str(), scenario.lanes()), ("starting", vec!["label", "run"]));
    let change =
        scenario.done("run", TaskEvent::RunStarted { generation, body: hash(0), without_comments: false });
    assert_eq!(scenario.stage().as_str(), "running");
    let order = change.run.expect("the run may begin");
    assert_eq!((order.task, order.from, order.iteration), (gh(1), None, 0));
    assert_eq!(scenario.wait(1).run, None, "once");

    scenario.publish();
    assert_eq!(scenario.stage().as_str(), "awaiting_ci");
    scenario.judged(CheckState::Passed);
    let Some(Action::Merge(ready)) = scenario.action("merge") else { panic!("{:?}", scenario.stage()) };
    assert_eq!((ready.pr(), ready.sha(), ready.title()), (PrNumber(7), &sha(10), "Add login (#7)"));
    scenario.merges();
    assert_eq!(scenario.stage().as_str(), "landing", "merged is not yet done");
    assert!(!scenario.lanes().contains(&"close-ticket"));
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    assert_eq!(scenario.stage().as_str(), "done");
    for lane in ["close-ticket", "delete-branch", "label", "comment"] {
        assert!(scenario.lanes().contains(&lane), "{lane} in {:?}", scenario.lanes());
    }
    assert!(!scenario.lanes().contains(&"claim"), "the claim goes last");
}

#[test]
fn the_first_comment_on_a_silent_issue_is_looked_for_once_it_may_be_there() {
    let mut scenario = Scenario::queued();
    scenario.claim();
    let generation = scenario.loaded.task.generation;
    scenario.done("claim", TaskEvent::ClaimPlaced { generation });
    scenario.done("run", TaskEvent::RunStarted { generation, body: hash(0), without_comments: true });
    let known = |scenario: &Scenario| match scenario.action("comment") {
        Some(Action::Comment { known, .. }) => known.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(known(&scenario), StatusComment::Absent);
    scenario.fails("comment", FailureKind::NotSent);
    assert_eq!(known(&scenario), StatusComment::Absent, "nothing was sent");
    scenario.fails("comment", FailureKind::Lost);
    assert_eq!(known(&scenario), StatusComment::Unknown);
    let mut scenario = Scenario::running();
    assert_eq!(known(&scenario), StatusComment::Unknown, "the ticket had comments");
    let comment = comment_id(7);
    let Some(Action::Comment { fingerprint, .. }) = scenario.action("comment").cloned() else { panic!() };
    scenario.done("comment", TaskEvent::Commented { comment, fingerprint });
    assert_eq!(scenario.loaded.task.comment.as_ref().map(|known| &known.id), Some(&comment_id(7)));
}

#[test]
fn what_happens_twice_happens_once() {
    let mut scenario = Scenario::opened();
    let before = scenario.loaded.clone();
    for event in [
        TaskEvent::TicketRead { ticket: ticket(1) },
        TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted },
        TaskEvent::PrRead { pr: pr(7, sha(10)) },
        TaskEvent::RunEnded { generation: Generation(1), ending: stopped(Class::Unknown, None) },
        TaskEvent::Abandoned { generation: Generation(1) },
        TaskEvent::RunStarted { generation: Generation(1), body: hash(0), without_comments: false },
        TaskEvent::ClaimLost { generation: Generation(1), owner: "somebody".to_owned() },
        TaskEvent::MessageReceived { message: TaskMessage::GaveUp { ticket: gh(9) } },
    ] {
        let change = scenario.tell(event.clone());
        assert_eq!((&change.stage, change.run), (before.stage.as_ref().unwrap(), None), "{event:?}");
        assert_eq!(scenario.loaded.task.life, before.task.life, "{event:?}");
    }
}

/// Ways in which a life ends.
fn ended() -> Vec<(&'static str, Scenario)> {
    let mut done = Scenario::opened();
    done.judged(CheckState::Passed);
    done.merges();
    done.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    let mut failed = Scenario::running();
    failed.run_ends(stopped(Class::GateFailed, None));
    let mut cancelled = Scenario::queued();
    cancelled.command(UserCommand::Cancel);
    let mut closed = Scenario::opened();
    for _ in 0..2 {
        closed.tell(TaskEvent::PrRead { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } });
        closed.wait(41);
    }
    vec![("done", done), ("failed", failed), ("cancelled", cancelled), ("failed", closed)]
}

#[test]
fn the_end_absorbs_everything_but_a_retry() {
    for (word, mut scenario) in ended() {
        assert_eq!(scenario.stage().as_str(), word);
        let end = scenario.loaded.task.life.ended.clone().expect("it ended");
        for event in [
            TaskEvent::RunEnded { generation: Generation(1), ending: stopped(Class::Unknown, None) },
            TaskEvent::CommandReceived { command: UserCommand::Cancel, by: CommandSource::Operator },
            TaskEvent::CommandReceived { command: UserCommand::Resume, by: CommandSource::Operator },
            TaskEvent::PrRead { pr: pr(7, sha(12)) },
            TaskEvent::CiRead { reading: reading(sha(10), CheckState::Failed) },
            TaskEvent::MessageReceived { message: TaskMessage::LetGo },
            TaskEvent::Ended { ending: Ending::Cancelled { by: "nobody".to_owned() } },
        ] {
            scenario.tell(event.clone());
            assert_eq!(scenario.loaded.task.life.ended.as_ref(), Some(&end), "{word}: {event:?}");
            assert_eq!(scenario.stage().as_str(), word, "{event:?}");
        }
        scenario.command(UserCommand::Retry);
        if word == "done" {
            assert_eq!(scenario.stage().as_str(), word, "what is merged stays merged");
            continue;
        }
        assert_eq!(scenario.loaded.task.life.ended, None, "{word} has a way back");
        scenario.be_admitted();
        assert_eq!(scenario.stage().as_str(), "queued", "{word}");
    }
}

#[test]
fn a_claim_is_given_back_when_what_was_written_under_it_can_be_read() {
    let mut scenario = Scenario::running();
    scenario.tell(TaskEvent::TicketRead {
        ticket: Ticket { labels: BTreeSet::new(), updated_at: at(2), ..ticket(1) },
    });
    scenario.run_ends(stopped(Class::Cancelled, None));
    assert_eq!(scenario.action("claim"), None, "there is something to write");
    let settled = |scenario: &Scenario| scenario.now.after(scenario.policy.settle);
    scenario.fails("comment", FailureKind::Lost);
    assert_eq!(scenario.not_before("claim"), settled(&scenario), "perhaps it was written");
    scenario.wait(9);
    scenario.tell(TaskEvent::ClaimRead { owner: None });
    assert!(scenario.not_before("claim") < settled(&scenario), "nothing was written since");
    let Some(Action::Comment { fingerprint, .. }) = scenario.action("comment").cloned() else { panic!() };
    scenario.wait(2);
    scenario.done("comment", TaskEvent::Commented { comment: comment_id(7), fingerprint });
    assert_eq!(scenario.not_before("claim"), settled(&scenario), "it was written");
}

#[test]
fn a_claim_that_may_stand_there_is_taken_back() {
    let closed = || TaskEvent::TicketRead {
        ticket: Ticket { state: TicketState::Closed, updated_at: at(2), ..ticket(1) },
    };
    for (kind, stands) in [(FailureKind::Lost, true), (FailureKind::NotSent, false)] {
        let mut scenario = Scenario::queued();
        scenario.claim();
        scenario.fails("claim", kind);
        scenario.tell(closed());
        assert_eq!(matches!(scenario.action("claim"), Some(Action::ReleaseClaim { .. })), stands, "{kind:?}");
        if stands {
            scenario.done("claim", TaskEvent::ClaimReleased);
            assert_eq!(scenario.lanes(), [""; 0]);
        }
    }
}

#[test]
fn a_pull_request_that_reads_closed_now_and_then_is_open() {
    let reads_closed = TaskEvent::PrRead { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } };
    let mut scenario = Scenario::opened();
    for _ in 0..3 {
        scenario.tell(reads_closed.clone());
        assert_eq!(scenario.stage().as_str(), "awaiting_ci", "one read among others");
        scenario.wait(200);
    }
    scenario.tell(reads_closed.clone());
    let mut again = scenario.clone();
    again.command(UserCommand::Retry);
    assert_eq!(again.loaded.task.superseded, [PrNumber(7)], "it may be open beside the next");
    scenario.wait(41);
    scenario.tell(reads_closed);
    assert_eq!(scenario.stage().as_str(), "failed");
    scenario.command(UserCommand::Retry);
    assert_eq!(scenario.loaded.task.superseded, [], "a person closed it");
}

#[test]
fn people_stop_a_run_by_label_issue_and_order() {
    let unlabelled = Ticket { labels: BTreeSet::new(), updated_at: at(2), ..ticket(1) };
    let closed = Ticket { state: TicketState::Closed, updated_at: at(2), ..ticket(1) };
    for (event, why, then) in [
        (TaskEvent::TicketRead { ticket: unlabelled }, Stop::LabelGone, "held"),
        (TaskEvent::TicketRead { ticket: closed }, Stop::TicketClosed, "held"),
        (TaskEvent::TicketGone, Stop::TicketClosed, "held"),
        (
            TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(1, Trust::Trusted) },
            Stop::Cancelled { by: "@bob".to_owned() },
            "cancelled",
        ),
    ] {
        let mut scenario = Scenario::running();
        scenario.tell(event);
        let generation = Generation(1);
        assert_eq!(*scenario.stage(), Stage::Stopping { generation, why: why.clone() });
        scenario.run_ends(stopped(Class::Cancelled, None));
        assert_eq!((scenario.stage().as_str(), scenario.loaded.task.life.attempts), (then, 0), "{why:?}");
    }
}

#[test]
fn a_stale_read_is_no_news() {
    let mut scenario = Scenario::new();
    scenario.tell(TaskEvent::TicketRead { ticket: Ticket { updated_at: at(9), ..ticket(1) } });
    let old = Ticket { labels: BTreeSet::new(), updated_at: at(8), ..ticket(1) };
    let change = scenario.tell(TaskEvent::TicketRead { ticket: old });
    assert_eq!((change.log.len(), scenario.stage().as_str()), (0, "checking"));
}

#[test]
fn a_claim_that_nothing_ran_under_is_given_back() {
    let mut scenario = Scenario::queued();
    scenario.claim();
    let edited = Ticket { body: Body { hash: hash(1), ..ticket(1).body }, updated_at: at(2), ..ticket(1) };
    scenario.tell(TaskEvent::TicketRead { ticket: edited });
    assert_eq!(scenario.stage().as_str(), "claiming", "an edit is judged again, and this one may continue");
    let bot = Author { login: "ann".to_owned(), kind: AuthorKind::Bot };
    scenario.tell(TaskEvent::TicketRead { ticket: Ticket { author: bot, updated_at: at(3), ..ticket(1) } });
    assert!(matches!(scenario.stage(), Stage::Held { hold: Hold::Bot { .. } }), "{:?}", scenario.stage());
    assert_eq!((&scenario.loaded.task.life.claim, scenario.loaded.task.life.attempts), (&None, 0));
}

#[test]
fn another_pilots_task_is_left_alone() {
    let mut scenario = Scenario::queued();
    scenario.claim();
    scenario.done("claim", TaskEvent::ClaimLost { generation: Generation(1), owner: "other".to_owned() });
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::ClaimedElsewhere { owner: "other".to_owned() } });
    assert_eq!(scenario.lanes(), [""; 0], "no label, no comment");
    assert_eq!(scenario.wait(1).queries, [Query::Claim]);
    scenario.tell(TaskEvent::ClaimRead { owner: None });
    assert_eq!(scenario.stage().as_str(), "queued");
}

#[test]
fn runs_are_repeated_where_that_may_help() {
    let again = at(1_100);
    for (class, again_at, expect, attempts) in [
        (Class::RateLimit, Some(again), "waiting", 1),
        (Class::Timeout, Some(again), "waiting", 1),
        (Class::GateFailed, None, "failed", 1),
        (Class::NoChanges, None, "failed", 1),
        (Class::Declined, None, "failed", 1),
        // The account is at fault: the task waits with every other.
        (Class::Auth, None, "held", 1),
        // A person stopped it, and it was not cancelled: it goes on.
        (Class::Cancelled, None, "queued", 0),
    ] {
        let mut scenario = Scenario::running();
        scenario.run_ends(stopped(class, again_at));
        assert_eq!(scenario.stage().as_str(), expect, "{class}");
        assert_eq!(scenario.loaded.task.life.attempts, attempts, "{class}");
    }
    let mut scenario = Scenario::running();
    scenario.run_ends(stopped(Class::RateLimit, Some(again)));
    assert_eq!(
        *scenario.stage(),
        Stage::Waiting { until: again, why: Wait::Retry { class: Class::RateLimit } }
    );
    scenario.wait(100);
    assert_eq!(scenario.stage().as_str(), "queued");
}

#[test]
fn attempts_have_a_cap_and_death_counts_for_nothing() {
    let mut scenario = Scenario::running();
    for life in 1..20 {
        scenario.tell(TaskEvent::Abandoned { generation: scenario.loaded.task.generation });
        assert_eq!((scenario.stage().as_str(), scenario.loaded.task.life.abandoned), ("queued", life));
        scenario.claim();
        scenario.begin();
    }
    assert_eq!(scenario.loaded.task.life.attempts, 0);
    for attempt in 1..=scenario.policy.max_attempts {
        scenario.run_ends(stopped(Class::ApiError, Some(scenario.now)));
        if attempt < scenario.policy.max_attempts {
            scenario.loaded.project.facts.failures = 0;
            scenario.wait(1);
            scenario.claim();
            scenario.begin();
        }
    }
    let gave_up = GivenUp::Attempts { count: 7, class: Class::ApiError };
    assert_eq!(*scenario.stage(), Stage::Ended { ending: Ending::GivenUp(gave_up) });
}

#[test]
fn what_fails_is_tried_again_ever_more_slowly() {
    let mut scenario = Scenario::running();
    scenario.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    let mut waits = Vec::new();
    for _ in 0..7 {
        scenario.fails("push", FailureKind::Server);
        waits.push(scenario.not_before("push").since(scenario.now).as_secs());
        if waits.len() == 4 {
            assert_eq!(scenario.stage().as_str(), "publishing");
        }
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128]);
    let Stage::Held { hold: Hold::Trouble { lane, .. } } = scenario.stage() else { panic!() };
    assert_eq!(lane.as_str(), "push", "a person is told after a while");
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
    assert_eq!((scenario.stage().as_str(), scenario.loaded.task.trouble.len()), ("opening", 0));
}

#[test]
fn what_cannot_pass_by_itself_is_told_sooner() {
    for (kind, tries) in [
        (FailureKind::Unauthorised, 3),
        (FailureKind::Forbidden, 3),
        (FailureKind::Conflict, 3),
        (FailureKind::Refused, 3),
        (FailureKind::NotSent, 5),
        (FailureKind::RateLimited, 5),
    ] {
        let mut scenario = Scenario::running();
        scenario.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
        let held = (1..10).find(|_| {
            scenario.fails("push", kind);
            scenario.stage().as_str() == "held"
        });
        assert_eq!(held, Some(tries), "{kind:?}");
    }
}

#[test]
fn what_a_forge_would_do_twice_is_not_repeated_before_its_lists_can_be_believed() {
    let mut scenario = Scenario::running();
    scenario.fails("comment", FailureKind::Lost);
    scenario.fails("label", FailureKind::Lost);
    assert_eq!(scenario.not_before("comment"), scenario.now.after(scenario.policy.settle));
    assert_eq!(scenario.not_before("label"), scenario.now.after(Duration::from_secs(2)));
    scenario.fails("comment", FailureKind::Interrupted);
    assert_eq!(scenario.not_before("comment"), scenario.now.after(scenario.policy.settle));
}

#[test]
fn the_failed_pull_request_is_closed_before_the_fix_is_told() {
    let mut scenario = Scenario::continued();
    assert_eq!(*scenario.stage(), Stage::Continued { by: gh(8) });
    let Some(Action::ClosePr { head, .. }) = scenario.action("close-pr") else { panic!() };
    assert_eq!(head.as_ref(), Some(&sha(10)));
    assert!(!scenario.lanes().contains(&"message"), "what the fix pushes must not find the old one open");
    scenario.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    let Some(Action::SendMessage { to, message: TaskMessage::Adopted(lineage) }) = scenario.action("message")
    else {
        panic!()
    };
    assert_eq!((to, &lineage.root, lineage.iteration), (&gh(8), &gh(1), 1));
    assert_eq!((lineage.branch.as_str(), &lineage.sha), ("pilot/GH-1", &sha(10)));
    let told = TaskEvent::MessageSent { to: gh(8), about: MessageKind::Adopted };
    scenario.done("message", told);
    assert_eq!(scenario.lanes().iter().filter(|lane| **lane == "message").count(), 0);
}

#[test]
fn who_pushed_to_the_failed_pull_request_keeps_it() {
    let mut scenario = Scenario::continued();
    scenario.done("close-pr", TaskEvent::PrRead { pr: pr(7, sha(12)) });
    assert!(!scenario.lanes().contains(&"close-pr"));
    assert!(scenario.lanes().contains(&"message"));
}

#[test]
fn a_line_of_fixes_ends_together() {
    let mut given_up = Scenario::continued();
    given_up.tell(TaskEvent::MessageReceived { message: TaskMessage::GaveUp { ticket: gh(8) } });
    let why = GivenUp::FixGivenUp { ticket: gh(8) };
    assert_eq!(*given_up.stage(), Stage::Ended { ending: Ending::GivenUp(why) });

    let mut cancelled = Scenario::continued();
    cancelled.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    let to = gh(8);
    cancelled.done("message", TaskEvent::MessageSent { to, about: MessageKind::Adopted });
    cancelled.tell(TaskEvent::TicketGone);
    assert!(cancelled.action("message").is_none(), "one answer that it is gone may be wrong");
    cancelled.command(UserCommand::Cancel);
    assert!(matches!(
        cancelled.action("message"),
        Some(Action::SendMessage { message: TaskMessage::LetGo, .. })
    ));
    cancelled.tell(TaskEvent::MessageReceived { message: TaskMessage::GaveUp { ticket: gh(8) } });
    assert_eq!(cancelled.stage().as_str(), "cancelled");
}

#[test]
fn a_fix_goes_on_where_the_other_stopped() {
    let mut parent = Scenario::continued();
    parent.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    let Some(Action::SendMessage { message, .. }) = parent.action("message") else { panic!() };
    let mut fix = Scenario::new();
    fix.loaded.task = TaskFacts::new(project_id(), gh(8));
    let me = Author { login: "pilot-bot".to_owned(), kind: AuthorKind::Me };
    let mut own = Ticket { author: me, ..ticket(8) };
    own.labels.insert(crate::words::label::FIX.to_owned());
    fix.tell(TaskEvent::TicketRead { ticket: own });
    assert_eq!(*fix.stage(), Stage::Held { hold: Hold::UnknownFix }, "its text alone proves nothing");
    fix.tell(TaskEvent::MessageReceived { message: message.clone() });
    assert_eq!(fix.stage().as_str(), "queued");
    fix.claim();
    fix.done("claim", TaskEvent::ClaimPlaced { generation: Generation(1) });
    let change = fix.done(
        "run",
        TaskEvent::RunStarted { generation: Generation(1), body: hash(0), without_comments: false },
    );
    let order = change.run.expect("it may begin");
    assert_eq!((order.branch.as_str(), order.from, order.iteration), ("pilot/GH-1", Some(sha(10)), 1));
    fix.run_ends(RunEnding::Completed(Box::new(work(sha(12)))));
    let Some(Action::Push { expect, .. }) = fix.action("push") else { panic!() };
    assert_eq!(expect.as_ref(), Some(&sha(10)));
    fix.command(UserCommand::Retry);
    assert_eq!(fix.stage().as_str(), "publishing", "the root is what can be begun again");
}

#[test]
fn labels_follow_the_claim_and_are_painted_over() {
    let mut scenario = Scenario::running();
    let Some(Action::Label { add, remove, .. }) = scenario.action("label") else { panic!() };
    assert_eq!((add.len(), add.contains("pilot-in-progress"), remove.len()), (1, true, 0));
    scenario.done("label", TaskEvent::Labelled { labels: vec!["pilot-in-progress".to_owned()] });
    // A read that is older than a forge may lag proves nothing.
    scenario.tell(TaskEvent::TicketRead { ticket: ticket(1) });
    assert!(scenario.action("label").is_none());
    scenario.now = scenario.now.after(Duration::from_secs(60));
    scenario.tell(TaskEvent::TicketRead { ticket: Ticket { updated_at: at(9), ..ticket(1) } });
    assert!(scenario.action("label").is_some(), "a person took it off");
}

#[test]
fn an_action_has_one_key_whenever_it_is_decided() {
    let (mut one, mut other) = (Scenario::opened(), Scenario::opened());
    other.wait(17);
    one.judged(CheckState::Passed);
    other.judged(CheckState::Passed);
    let expect = format!("merge:7@{}", sha(10));
    assert_eq!((one.key("merge").as_str(), one.key("merge")), (expect.as_str(), other.key("merge")));
}

#[test]
fn a_decision_is_a_function() {
    for scenario in [Scenario::queued(), Scenario::running(), Scenario::opened(), Scenario::continued()] {
        let decide =
            || step(&scenario.loaded.task, &scenario.loaded.project.facts, &scenario.policy, scenario.now);
        assert_eq!(decide(), decide());
    }
}
