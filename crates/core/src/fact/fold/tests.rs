//! What is known after something happened, and what is no news.

use crate::fact::{Happened, LabelsFact, Life, Order, TaskFacts};
use crate::name::{Generation, IssueNumber, PrNumber};
use crate::seen::{FailureKind, Issue, Permission, Pr, PrState};
use crate::task::Key;
use crate::task::tale::{
    Tale, at, by_comment, failure, hash, issue, merged, policy, pr, project_id, reading, sha, stopped,
};

fn closed() -> Happened {
    Happened::PrSeen { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } }
}

#[test]
fn what_is_merged_stays_merged_whatever_a_stale_read_says() {
    let mut tale = Tale::opened();
    tale.tell(Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    for stale in [closed(), Happened::PrSeen { pr: pr(7, sha(10)) }] {
        tale.tell(stale);
        assert_eq!(tale.loaded.task.merged(), Some((&sha(11), PrNumber(7))));
    }
}

#[test]
fn what_pilot_closed_stays_closed_unless_it_was_merged() {
    let mut tale = Tale::opened();
    tale.tell(Happened::PrClosed { pr: PrNumber(7) });
    tale.tell(Happened::PrSeen { pr: pr(7, sha(10)) });
    let known = tale.loaded.task.life.pr.clone().expect("a pull request");
    assert!(known.closed_by_us && known.pr.state == PrState::Closed && !known.may_be_open());
    tale.tell(Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    assert!(tale.loaded.task.merged().is_some(), "somebody was faster");
}

#[test]
fn a_closed_pull_request_is_remembered_with_the_first_and_the_last_look() {
    let mut tale = Tale::opened();
    let span = |tale: &Tale| tale.loaded.task.life.pr.as_ref().and_then(|pr| pr.closed);
    tale.tell(closed());
    let first = tale.now;
    tale.wait(5);
    tale.tell(closed());
    assert_eq!(span(&tale), Some((first, tale.now)));
    tale.tell(Happened::PrSeen { pr: pr(7, sha(10)) });
    assert_eq!(span(&tale), None, "it was a glitch");
}

#[test]
fn only_the_holder_of_a_claim_is_believed() {
    let claimed = Tale::running().loaded.task;
    for happened in [
        Happened::RunEnded {
            generation: Generation(2),
            ending: stopped(crate::outcome::Class::Unknown, None),
        },
        Happened::Abandoned { generation: Generation(2) },
        Happened::Unclaimed { generation: Generation(0) },
        Happened::ClaimLost { generation: Generation(7), owner: "x".to_owned() },
        Happened::RunStarted { generation: Generation(2), body: hash(9), silent: false },
    ] {
        let mut facts = claimed.clone();
        facts.fold(at(2000), &happened);
        assert_eq!(facts.life, claimed.life, "{happened:?}");
    }
}

#[test]
fn other_commits_and_other_pull_requests_are_none_of_its_business() {
    let opened = Tale::opened().loaded.task;
    let other = crate::name::Branch::parse("pilot/GH-2").unwrap();
    for happened in [
        Happened::CiRead { reading: reading(sha(12), crate::ci::Conclusion::Success) },
        Happened::PrSeen { pr: merged(8, sha(10), sha(11)) },
        Happened::PrClosed { pr: PrNumber(8) },
        Happened::Pushed { branch: other.clone(), sha: sha(12) },
        Happened::BranchDeleted { branch: other },
        Happened::BaseLookedAt { commit: sha(11), on_base: true },
        Happened::FixOpened { issue: IssueNumber(9), iteration: 1, pr: PrNumber(8) },
    ] {
        let mut facts = opened.clone();
        facts.fold(at(2000), &happened);
        assert_eq!(facts.life, opened.life, "{happened:?}");
    }
}

#[test]
fn a_push_begins_ci_anew() {
    let mut tale = Tale::opened();
    tale.tell(Happened::CiRead { reading: reading(sha(10), crate::ci::Conclusion::Success) });
    let branch = tale.loaded.task.branch();
    tale.tell(Happened::Pushed { branch: branch.clone(), sha: sha(10) });
    assert!(tale.loaded.task.life.ci.is_some(), "the same commit");
    tale.tell(Happened::Pushed { branch, sha: sha(12) });
    assert_eq!(tale.loaded.task.life.ci, None);
}

#[test]
fn a_doubt_outlives_a_retry_and_ends_with_success() {
    let mut facts = TaskFacts::new(project_id(), IssueNumber(1));
    let key = |rest: &str| Key::new("pr", rest);
    facts.fold(at(1), &Happened::Failed { key: key("a"), failure: failure(FailureKind::Lost) });
    facts.fold(at(2), &Happened::Failed { key: key("b"), failure: failure(FailureKind::Forbidden) });
    let trouble = facts.trouble.get("pr").cloned().expect("trouble with the lane, whatever the key");
    assert_eq!((trouble.count, trouble.may_have_happened, trouble.at), (2, true, at(2)));
    facts.life = Life { ended: None, ..Life::default() };
    facts.fold(at(3), &Happened::Ordered { order: Order::Retry, by: crate::fact::By::Operator });
    assert!(facts.trouble.contains_key("pr"));
    facts.settled(&key("c"));
    assert!(facts.trouble.is_empty());
}

#[test]
fn what_is_known_is_no_news() {
    let tale = Tale::opened();
    let (facts, policy) = (&tale.loaded.task, policy());
    let touched = Issue { updated_at: at(5), ..issue(1) };
    let older = Issue { title: "x".to_owned(), updated_at: at(-5), ..issue(1) };
    let edited = Issue { title: "x".to_owned(), updated_at: at(5), ..issue(1) };
    let branch = facts.branch();
    for (happened, news) in [
        (Happened::IssueSeen { issue: issue(1) }, false),
        (Happened::IssueSeen { issue: touched }, false),
        (Happened::IssueSeen { issue: older }, false),
        (Happened::IssueSeen { issue: edited }, true),
        (Happened::IssueGone, true),
        (Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Write }, false),
        (Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Admin }, true),
        (Happened::BranchLookedAt { branch, found: None }, false),
        (Happened::PrSeen { pr: pr(7, sha(10)) }, false),
        (Happened::PrSeen { pr: pr(7, sha(12)) }, true),
        (Happened::PrSeen { pr: pr(8, sha(12)) }, false),
        (closed(), true),
        (Happened::ClaimSeen { owner: None }, false),
        (Happened::Ordered { order: Order::Cancel, by: by_comment(1, Permission::Read) }, false),
        (Happened::Ordered { order: Order::Cancel, by: by_comment(1, Permission::Write) }, true),
    ] {
        assert_eq!(facts.is_news(&happened, &policy), news, "{happened:?}");
    }
}

#[test]
fn an_equal_reading_of_ci_is_news_only_where_it_makes_a_verdict() {
    let mut tale = Tale::opened();
    let ended = reading(sha(10), crate::ci::Conclusion::Success);
    let mut running = ended.clone();
    running.checks.clear();
    for (reading, news) in [(&running, true), (&running, false), (&ended, true), (&ended, true)] {
        let happened = Happened::CiRead { reading: reading.clone() };
        assert_eq!(tale.loaded.task.is_news(&happened, &tale.policy), news, "{reading:?}");
        tale.tell(happened);
    }
    let other = Happened::CiRead { reading: reading(sha(12), crate::ci::Conclusion::Success) };
    assert!(!tale.loaded.task.is_news(&other, &tale.policy), "of a commit nobody asked about");
}

#[test]
fn labels_that_were_written_are_compared_with_later_reads_only() {
    let mut facts = Tale::queued().loaded.task;
    let label = || ["pilot-in-progress".to_owned()].into();
    let without = Happened::IssueSeen { issue: issue(1) };
    facts.labels = Some(LabelsFact { labels: label(), at: at(1000), writes: 1 });
    assert!(facts.is_news(&without, &policy()), "the next read tells whether they are there");
    facts.issue = Some((issue(1), at(2000)));
    assert!(!facts.is_news(&without, &policy()), "and then it is known");
}
