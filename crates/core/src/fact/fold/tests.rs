//! What is known after an event, and which events change nothing.

use crate::fact::{LabelsFact, Life, TaskEvent, TaskFacts, UserCommand};
use crate::id::{Generation, PrNumber};
use crate::observed::{FailureKind, Pr, PrState, Ticket, Trust};
use crate::task::scenario::{
    Scenario, at, by_comment, failure, gh, hash, merged, policy, pr, project_id, reading, sha, stopped,
    ticket,
};
use crate::task::{Key, Lane};

fn closed() -> TaskEvent {
    TaskEvent::PrRead { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } }
}

#[test]
fn what_is_merged_stays_merged_whatever_a_stale_read_says() {
    let mut scenario = Scenario::opened();
    scenario.tell(TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    for stale in [closed(), TaskEvent::PrRead { pr: pr(7, sha(10)) }] {
        scenario.tell(stale);
        assert_eq!(scenario.loaded.task.merged(), Some((&sha(11), PrNumber(7))));
    }
}

#[test]
fn what_pilot_closed_stays_closed_unless_it_was_merged() {
    let mut scenario = Scenario::opened();
    scenario.tell(TaskEvent::PrClosed { pr: PrNumber(7) });
    scenario.tell(TaskEvent::PrRead { pr: pr(7, sha(10)) });
    let known = scenario.loaded.task.life.pr.clone().expect("a pull request");
    assert!(known.closed_by_us && known.pr.state == PrState::Closed && !known.may_be_open());
    scenario.tell(TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    assert!(scenario.loaded.task.merged().is_some(), "somebody was faster");
}

#[test]
fn a_closed_pull_request_is_remembered_with_the_first_and_the_last_look() {
    let mut scenario = Scenario::opened();
    let span = |scenario: &Scenario| scenario.loaded.task.life.pr.as_ref().and_then(|pr| pr.closed);
    scenario.tell(closed());
    let first = scenario.now;
    scenario.wait(5);
    scenario.tell(closed());
    assert_eq!(span(&scenario), Some((first, scenario.now)));
    scenario.tell(TaskEvent::PrRead { pr: pr(7, sha(10)) });
    assert_eq!(span(&scenario), None, "it was a glitch");
}

#[test]
fn only_the_holder_of_a_claim_is_believed() {
    let claimed = Scenario::running().loaded.task;
    for event in [
        TaskEvent::RunEnded {
            generation: Generation(2),
            ending: stopped(crate::outcome::Class::Unknown, None),
        },
        TaskEvent::Abandoned { generation: Generation(2) },
        TaskEvent::Unclaimed { generation: Generation(0) },
        TaskEvent::ClaimLost { generation: Generation(7), owner: "x".to_owned() },
        TaskEvent::RunStarted { generation: Generation(2), body: hash(9), without_comments: false },
    ] {
        let mut facts = claimed.clone();
        facts.fold(at(2000), &event);
        assert_eq!(facts.life, claimed.life, "{event:?}");
    }
}

#[test]
fn other_commits_and_other_pull_requests_are_none_of_its_business() {
    let opened = Scenario::opened().loaded.task;
    let other = crate::id::Branch::parse("pilot/GH-2").unwrap();
    for event in [
        TaskEvent::CiRead { reading: reading(sha(12), crate::ci::CheckState::Passed) },
        TaskEvent::PrRead { pr: merged(8, sha(10), sha(11)) },
        TaskEvent::PrClosed { pr: PrNumber(8) },
        TaskEvent::Pushed { branch: other.clone(), sha: sha(12) },
        TaskEvent::BranchDeleted { branch: other },
        TaskEvent::BaseChecked { commit: sha(11), on_base: true },
        TaskEvent::FixOpened { ticket: gh(9), iteration: 1, pr: PrNumber(8) },
    ] {
        let mut facts = opened.clone();
        facts.fold(at(2000), &event);
        assert_eq!(facts.life, opened.life, "{event:?}");
    }
}

#[test]
fn a_push_begins_ci_anew() {
    let mut scenario = Scenario::opened();
    scenario.tell(TaskEvent::CiRead { reading: reading(sha(10), crate::ci::CheckState::Passed) });
    let branch = scenario.loaded.task.branch();
    scenario.tell(TaskEvent::Pushed { branch: branch.clone(), sha: sha(10) });
    assert!(scenario.loaded.task.life.ci.is_some(), "the same commit");
    scenario.tell(TaskEvent::Pushed { branch, sha: sha(12) });
    assert_eq!(scenario.loaded.task.life.ci, None);
}

#[test]
fn a_doubt_outlives_a_retry_and_ends_with_success() {
    let mut facts = TaskFacts::new(project_id(), gh(1));
    let key = |rest: &str| Key::new(Lane::Pr, rest);
    facts.fold(at(1), &TaskEvent::Failed { key: key("a"), failure: failure(FailureKind::Lost) });
    facts.fold(at(2), &TaskEvent::Failed { key: key("b"), failure: failure(FailureKind::Forbidden) });
    let trouble = facts.trouble.get(&Lane::Pr).cloned().expect("trouble with the lane, whatever the key");
    assert_eq!((trouble.count, trouble.may_have_happened, trouble.at), (2, true, at(2)));
    facts.life = Life { ended: None, ..Life::default() };
    facts.fold(
        at(3),
        &TaskEvent::CommandReceived { command: UserCommand::Retry, by: crate::fact::CommandSource::Operator },
    );
    assert!(facts.trouble.contains_key(&Lane::Pr));
    facts.settled(&key("c"));
    assert!(facts.trouble.is_empty());
}

#[test]
fn what_is_known_is_no_news() {
    let scenario = Scenario::opened();
    let (facts, policy) = (&scenario.loaded.task, policy());
    let touched = Ticket { updated_at: at(5), ..ticket(1) };
    let older = Ticket { title: "x".to_owned(), updated_at: at(-5), ..ticket(1) };
    let edited = Ticket { title: "x".to_owned(), updated_at: at(5), ..ticket(1) };
    let branch = facts.branch();
    for (event, message) in [
        (TaskEvent::TicketRead { ticket: ticket(1) }, false),
        (TaskEvent::TicketRead { ticket: touched }, false),
        (TaskEvent::TicketRead { ticket: older }, false),
        (TaskEvent::TicketRead { ticket: edited }, true),
        (TaskEvent::TicketGone, true),
        (TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted }, false),
        (TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Untrusted }, true),
        (TaskEvent::BranchChecked { branch, found: None }, false),
        (TaskEvent::PrRead { pr: pr(7, sha(10)) }, false),
        (TaskEvent::PrRead { pr: pr(7, sha(12)) }, true),
        (TaskEvent::PrRead { pr: pr(8, sha(12)) }, false),
        (closed(), true),
        (TaskEvent::ClaimRead { owner: None }, false),
        // It changes nothing, and is answered.
        (
            TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(1, Trust::Untrusted) },
            true,
        ),
        (
            TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(1, Trust::Trusted) },
            true,
        ),
    ] {
        assert_eq!(facts.is_news(&event, &policy), message, "{event:?}");
    }
}

#[test]
fn an_equal_reading_of_ci_is_news_only_where_it_makes_a_verdict() {
    let mut scenario = Scenario::opened();
    let ended = reading(sha(10), crate::ci::CheckState::Passed);
    let mut running = ended.clone();
    running.checks.clear();
    for (reading, message) in [(&running, true), (&running, false), (&ended, true), (&ended, true)] {
        let event = TaskEvent::CiRead { reading: reading.clone() };
        assert_eq!(scenario.loaded.task.is_news(&event, &scenario.policy), message, "{reading:?}");
        scenario.tell(event);
    }
    let other = TaskEvent::CiRead { reading: reading(sha(12), crate::ci::CheckState::Passed) };
    assert!(!scenario.loaded.task.is_news(&other, &scenario.policy), "of a commit nobody asked about");
}

#[test]
fn labels_that_were_written_are_compared_with_later_reads_only() {
    let mut facts = Scenario::queued().loaded.task;
    let label = || ["pilot-in-progress".to_owned()].into();
    let without = TaskEvent::TicketRead { ticket: ticket(1) };
    facts.labels = Some(LabelsFact { labels: label(), at: at(1000), writes: 1 });
    assert!(facts.is_news(&without, &policy()), "the next read tells whether they are there");
    facts.ticket = Some((ticket(1), at(2000)));
    assert!(!facts.is_news(&without, &policy()), "and then it is known");
}
