//! Tasks as stories: what happens to one, and where it stands then.

use std::collections::BTreeSet;
use std::time::Duration;

use super::tale::{Tale, at, by_comment, hash, issue, pr, project_id, reading, sha, stopped, work};
use super::{Action, Hold, Known, Look, Stage, Stop, Wait, step};
use crate::ci::Conclusion;
use crate::fact::{By, Ending, GivenUp, Happened, News, NewsKind, Order, RunEnding, TaskFacts};
use crate::name::{Branch, CommentId, Generation, IssueNumber, PrNumber};
use crate::outcome::Class;
use crate::seen::{Author, AuthorKind, Body, FailureKind, Issue, IssueState, Permission, Pr, PrState};

mod orders;

#[test]
fn from_label_to_merged() {
    let mut tale = Tale::new();
    let change = tale.wait(0);
    assert_eq!(change.looks, [Look::Issue], "nothing is known");
    let change = tale.tell(Happened::IssueSeen { issue: issue(1) });
    let branch = Branch::parse("pilot/GH-1").unwrap();
    let permission = Look::Permission { login: "ann".to_owned() };
    assert_eq!(change.looks, [permission, Look::Branch { branch }]);
    tale.be_admitted();
    assert_eq!(*tale.stage(), Stage::Queued { rank: 0 });
    assert_eq!(tale.lanes(), [""; 0], "an issue that waits is left alone");

    tale.claim();
    assert_eq!((tale.stage().as_str(), tale.lanes()), ("claiming", vec!["claim"]));
    let generation = Generation(1);
    tale.done("claim", Happened::ClaimPlaced { generation });
    assert_eq!((tale.stage().as_str(), tale.lanes()), ("starting", vec!["label", "run"]));
    let change = tale.done("run", Happened::RunStarted { generation, body: hash(0), silent: false });
    assert_eq!(tale.stage().as_str(), "running");
    let order = change.run.expect("the run may begin");
    assert_eq!((order.issue, order.from, order.iteration), (IssueNumber(1), None, 0));
    assert_eq!(tale.wait(1).run, None, "once");

    tale.publish();
    assert_eq!(tale.stage().as_str(), "awaiting_ci");
    tale.judged(Conclusion::Success);
    let Some(Action::Merge(ready)) = tale.action("merge") else { panic!("{:?}", tale.stage()) };
    assert_eq!((ready.pr(), ready.sha(), ready.title()), (PrNumber(7), &sha(10), "Add login (#7)"));
    tale.merges();
    assert_eq!(tale.stage().as_str(), "landing", "merged is not yet done");
    assert!(!tale.lanes().contains(&"close-issue"));
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    assert_eq!(tale.stage().as_str(), "done");
    for lane in ["close-issue", "delete-branch", "label", "comment"] {
        assert!(tale.lanes().contains(&lane), "{lane} in {:?}", tale.lanes());
    }
    assert!(!tale.lanes().contains(&"claim"), "the claim goes last");
}

#[test]
fn the_first_comment_on_a_silent_issue_is_looked_for_once_it_may_be_there() {
    let mut tale = Tale::queued();
    tale.claim();
    let generation = tale.loaded.task.generation;
    tale.done("claim", Happened::ClaimPlaced { generation });
    tale.done("run", Happened::RunStarted { generation, body: hash(0), silent: true });
    let known = |tale: &Tale| match tale.action("comment") {
        Some(Action::Comment { known, .. }) => *known,
        other => panic!("{other:?}"),
    };
    assert_eq!(known(&tale), Known::Silence);
    tale.fails("comment", FailureKind::NotSent);
    assert_eq!(known(&tale), Known::Silence, "nothing was sent");
    tale.fails("comment", FailureKind::Lost);
    assert_eq!(known(&tale), Known::Nothing);
    let mut tale = Tale::running();
    assert_eq!(known(&tale), Known::Nothing, "somebody had said something");
    let comment = CommentId(7);
    let Some(Action::Comment { fingerprint, .. }) = tale.action("comment").cloned() else { panic!() };
    tale.done("comment", Happened::Commented { comment, fingerprint });
    assert_eq!(tale.loaded.task.comment.as_ref().map(|known| known.id), Some(comment));
}

#[test]
fn what_happens_twice_happens_once() {
    let mut tale = Tale::opened();
    let before = tale.loaded.clone();
    for happened in [
        Happened::IssueSeen { issue: issue(1) },
        Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Write },
        Happened::PrSeen { pr: pr(7, sha(10)) },
        Happened::RunEnded { generation: Generation(1), ending: stopped(Class::Unknown, None) },
        Happened::Abandoned { generation: Generation(1) },
        Happened::RunStarted { generation: Generation(1), body: hash(0), silent: false },
        Happened::ClaimLost { generation: Generation(1), owner: "somebody".to_owned() },
        Happened::Heard { news: News::GaveUp { issue: IssueNumber(9) } },
    ] {
        let change = tale.tell(happened.clone());
        assert_eq!((&change.stage, change.run), (before.stage.as_ref().unwrap(), None), "{happened:?}");
        assert_eq!(tale.loaded.task.life, before.task.life, "{happened:?}");
    }
}

/// Ways in which a life ends.
fn ended() -> Vec<(&'static str, Tale)> {
    let mut done = Tale::opened();
    done.judged(Conclusion::Success);
    done.merges();
    done.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    let mut failed = Tale::running();
    failed.run_ends(stopped(Class::GateFailed, None));
    let mut cancelled = Tale::queued();
    cancelled.ordered(Order::Cancel);
    let mut closed = Tale::opened();
    for _ in 0..2 {
        closed.tell(Happened::PrSeen { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } });
        closed.wait(41);
    }
    vec![("done", done), ("failed", failed), ("cancelled", cancelled), ("failed", closed)]
}

#[test]
fn the_end_absorbs_everything_but_a_retry() {
    for (word, mut tale) in ended() {
        assert_eq!(tale.stage().as_str(), word);
        let end = tale.loaded.task.life.ended.clone().expect("it ended");
        for happened in [
            Happened::RunEnded { generation: Generation(1), ending: stopped(Class::Unknown, None) },
            Happened::Ordered { order: Order::Cancel, by: By::Operator },
            Happened::Ordered { order: Order::Resume, by: By::Operator },
            Happened::PrSeen { pr: pr(7, sha(12)) },
            Happened::CiRead { reading: reading(sha(10), Conclusion::Failure) },
            Happened::Heard { news: News::LetGo },
            Happened::Ended { ending: Ending::Cancelled { by: "nobody".to_owned() } },
        ] {
            tale.tell(happened.clone());
            assert_eq!(tale.loaded.task.life.ended.as_ref(), Some(&end), "{word}: {happened:?}");
            assert_eq!(tale.stage().as_str(), word, "{happened:?}");
        }
        tale.ordered(Order::Retry);
        assert_eq!(tale.loaded.task.life.ended, None, "{word} has a way back");
        tale.be_admitted();
        assert_eq!(tale.stage().as_str(), "queued", "{word}");
    }
}

#[test]
fn a_claim_is_given_back_when_what_was_written_under_it_can_be_read() {
    let mut tale = Tale::running();
    tale.tell(Happened::IssueSeen {
        issue: Issue { labels: BTreeSet::new(), updated_at: at(2), ..issue(1) },
    });
    tale.run_ends(stopped(Class::Cancelled, None));
    assert_eq!(tale.action("claim"), None, "there is something to write");
    let settled = |tale: &Tale| tale.now.after(tale.policy.settle);
    tale.fails("comment", FailureKind::Lost);
    assert_eq!(tale.not_before("claim"), settled(&tale), "perhaps it was written");
    tale.wait(9);
    tale.tell(Happened::ClaimSeen { owner: None });
    assert!(tale.not_before("claim") < settled(&tale), "nothing was written since");
    let Some(Action::Comment { fingerprint, .. }) = tale.action("comment").cloned() else { panic!() };
    tale.wait(2);
    tale.done("comment", Happened::Commented { comment: CommentId(7), fingerprint });
    assert_eq!(tale.not_before("claim"), settled(&tale), "it was written");
}

#[test]
fn a_claim_that_may_stand_there_is_taken_back() {
    let closed =
        || Happened::IssueSeen { issue: Issue { state: IssueState::Closed, updated_at: at(2), ..issue(1) } };
    for (kind, stands) in [(FailureKind::Lost, true), (FailureKind::NotSent, false)] {
        let mut tale = Tale::queued();
        tale.claim();
        tale.fails("claim", kind);
        tale.tell(closed());
        assert_eq!(matches!(tale.action("claim"), Some(Action::ReleaseClaim { .. })), stands, "{kind:?}");
        if stands {
            tale.done("claim", Happened::ClaimReleased);
            assert_eq!(tale.lanes(), [""; 0]);
        }
    }
}

#[test]
fn a_pull_request_that_reads_closed_now_and_then_is_open() {
    let reads_closed = Happened::PrSeen { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } };
    let mut tale = Tale::opened();
    for _ in 0..3 {
        tale.tell(reads_closed.clone());
        assert_eq!(tale.stage().as_str(), "awaiting_ci", "one read among others");
        tale.wait(200);
    }
    tale.tell(reads_closed.clone());
    let mut again = tale.clone();
    again.ordered(Order::Retry);
    assert_eq!(again.loaded.task.superseded, [PrNumber(7)], "it may be open beside the next");
    tale.wait(41);
    tale.tell(reads_closed);
    assert_eq!(tale.stage().as_str(), "failed");
    tale.ordered(Order::Retry);
    assert_eq!(tale.loaded.task.superseded, [], "somebody closed it");
}

#[test]
fn people_stop_a_run_by_label_issue_and_order() {
    let unlabelled = Issue { labels: BTreeSet::new(), updated_at: at(2), ..issue(1) };
    let closed = Issue { state: IssueState::Closed, updated_at: at(2), ..issue(1) };
    for (happened, why, then) in [
        (Happened::IssueSeen { issue: unlabelled }, Stop::LabelGone, "held"),
        (Happened::IssueSeen { issue: closed }, Stop::IssueClosed, "held"),
        (Happened::IssueGone, Stop::IssueClosed, "held"),
        (
            Happened::Ordered { order: Order::Cancel, by: by_comment(1, Permission::Write) },
            Stop::Cancelled { by: "@bob".to_owned() },
            "cancelled",
        ),
    ] {
        let mut tale = Tale::running();
        tale.tell(happened);
        let generation = Generation(1);
        assert_eq!(*tale.stage(), Stage::Stopping { generation, why: why.clone() });
        tale.run_ends(stopped(Class::Cancelled, None));
        assert_eq!((tale.stage().as_str(), tale.loaded.task.life.attempts), (then, 0), "{why:?}");
    }
}

#[test]
fn a_stale_read_is_no_news() {
    let mut tale = Tale::new();
    tale.tell(Happened::IssueSeen { issue: Issue { updated_at: at(9), ..issue(1) } });
    let old = Issue { labels: BTreeSet::new(), updated_at: at(8), ..issue(1) };
    let change = tale.tell(Happened::IssueSeen { issue: old });
    assert_eq!((change.log.len(), tale.stage().as_str()), (0, "checking"));
}

#[test]
fn a_claim_that_nothing_ran_under_is_given_back() {
    let mut tale = Tale::queued();
    tale.claim();
    let edited = Issue { body: Body { hash: hash(1), ..issue(1).body }, updated_at: at(2), ..issue(1) };
    tale.tell(Happened::IssueSeen { issue: edited });
    assert_eq!(tale.stage().as_str(), "claiming", "an edit is judged anew, and this one may go on");
    let bot = Author { login: "ann".to_owned(), kind: AuthorKind::Bot };
    tale.tell(Happened::IssueSeen { issue: Issue { author: bot, updated_at: at(3), ..issue(1) } });
    assert!(matches!(tale.stage(), Stage::Held { hold: Hold::Bot { .. } }), "{:?}", tale.stage());
    assert_eq!((&tale.loaded.task.life.claim, tale.loaded.task.life.attempts), (&None, 0));
}

#[test]
fn another_pilots_task_is_left_alone() {
    let mut tale = Tale::queued();
    tale.claim();
    tale.done("claim", Happened::ClaimLost { generation: Generation(1), owner: "other".to_owned() });
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::Elsewhere { owner: "other".to_owned() } });
    assert_eq!(tale.lanes(), [""; 0], "no label, no comment");
    assert_eq!(tale.wait(1).looks, [Look::Claim]);
    tale.tell(Happened::ClaimSeen { owner: None });
    assert_eq!(tale.stage().as_str(), "queued");
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
        // The account is at fault: the task waits with everybody else.
        (Class::Auth, None, "held", 1),
        // A person stopped it, and it was not cancelled: it goes on.
        (Class::Cancelled, None, "queued", 0),
    ] {
        let mut tale = Tale::running();
        tale.run_ends(stopped(class, again_at));
        assert_eq!(tale.stage().as_str(), expect, "{class}");
        assert_eq!(tale.loaded.task.life.attempts, attempts, "{class}");
    }
    let mut tale = Tale::running();
    tale.run_ends(stopped(Class::RateLimit, Some(again)));
    assert_eq!(*tale.stage(), Stage::Waiting { until: again, why: Wait::Retry { class: Class::RateLimit } });
    tale.wait(100);
    assert_eq!(tale.stage().as_str(), "queued");
}

#[test]
fn attempts_have_a_cap_and_death_counts_for_nothing() {
    let mut tale = Tale::running();
    for life in 1..20 {
        tale.tell(Happened::Abandoned { generation: tale.loaded.task.generation });
        assert_eq!((tale.stage().as_str(), tale.loaded.task.life.abandoned), ("queued", life));
        tale.claim();
        tale.begin();
    }
    assert_eq!(tale.loaded.task.life.attempts, 0);
    for attempt in 1..=tale.policy.max_attempts {
        tale.run_ends(stopped(Class::ApiError, Some(tale.now)));
        if attempt < tale.policy.max_attempts {
            tale.loaded.project.facts.failures = 0;
            tale.wait(1);
            tale.claim();
            tale.begin();
        }
    }
    let gave_up = GivenUp::Attempts { count: 7, class: Class::ApiError };
    assert_eq!(*tale.stage(), Stage::Ended { ending: Ending::GivenUp(gave_up) });
}

#[test]
fn what_fails_is_tried_again_ever_more_slowly() {
    let mut tale = Tale::running();
    tale.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    let mut waits = Vec::new();
    for _ in 0..7 {
        tale.fails("push", FailureKind::Server);
        waits.push(tale.not_before("push").since(tale.now).as_secs());
        if waits.len() == 4 {
            assert_eq!(tale.stage().as_str(), "publishing");
        }
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128]);
    let Stage::Held { hold: Hold::Trouble { lane, .. } } = tale.stage() else { panic!() };
    assert_eq!(lane, "push", "a person is told after a while");
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch, sha: sha(10) });
    assert_eq!((tale.stage().as_str(), tale.loaded.task.trouble.len()), ("opening", 0));
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
        let mut tale = Tale::running();
        tale.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
        let held = (1..10).find(|_| {
            tale.fails("push", kind);
            tale.stage().as_str() == "held"
        });
        assert_eq!(held, Some(tries), "{kind:?}");
    }
}

#[test]
fn what_a_forge_would_do_twice_is_not_repeated_before_its_lists_can_be_believed() {
    let mut tale = Tale::running();
    tale.fails("comment", FailureKind::Lost);
    tale.fails("label", FailureKind::Lost);
    assert_eq!(tale.not_before("comment"), tale.now.after(tale.policy.settle));
    assert_eq!(tale.not_before("label"), tale.now.after(Duration::from_secs(2)));
    tale.fails("comment", FailureKind::Interrupted);
    assert_eq!(tale.not_before("comment"), tale.now.after(tale.policy.settle));
}

#[test]
fn the_failed_pull_request_is_closed_before_the_fix_is_told() {
    let mut tale = Tale::continued();
    assert_eq!(*tale.stage(), Stage::Continued { by: IssueNumber(8) });
    let Some(Action::ClosePr { head, .. }) = tale.action("close-pr") else { panic!() };
    assert_eq!(head.as_ref(), Some(&sha(10)));
    assert!(!tale.lanes().contains(&"tell"), "what the fix pushes must not find the old one open");
    tale.done("close-pr", Happened::PrClosed { pr: PrNumber(7) });
    let Some(Action::Tell { issue, news: News::Adopted(lineage), .. }) = tale.action("tell") else {
        panic!()
    };
    assert_eq!((*issue, lineage.root, lineage.iteration), (IssueNumber(8), IssueNumber(1), 1));
    assert_eq!((lineage.branch.as_str(), &lineage.sha), ("pilot/GH-1", &sha(10)));
    let told =
        Happened::Told { to: crate::name::TaskKey::of_issue(IssueNumber(8)), about: NewsKind::Adopted };
    tale.done("tell", told);
    assert_eq!(tale.lanes().iter().filter(|lane| **lane == "tell").count(), 0);
}

#[test]
fn who_pushed_to_the_failed_pull_request_keeps_it() {
    let mut tale = Tale::continued();
    tale.done("close-pr", Happened::PrSeen { pr: pr(7, sha(12)) });
    assert!(!tale.lanes().contains(&"close-pr"));
    assert!(tale.lanes().contains(&"tell"));
}

#[test]
fn a_line_of_fixes_ends_together() {
    let mut given_up = Tale::continued();
    given_up.tell(Happened::Heard { news: News::GaveUp { issue: IssueNumber(8) } });
    let why = GivenUp::FixGivenUp { issue: IssueNumber(8) };
    assert_eq!(*given_up.stage(), Stage::Ended { ending: Ending::GivenUp(why) });

    let mut cancelled = Tale::continued();
    cancelled.done("close-pr", Happened::PrClosed { pr: PrNumber(7) });
    let to = crate::name::TaskKey::of_issue(IssueNumber(8));
    cancelled.done("tell", Happened::Told { to, about: NewsKind::Adopted });
    cancelled.tell(Happened::IssueGone);
    assert!(cancelled.action("tell").is_none(), "one answer that it is gone may be wrong");
    cancelled.ordered(Order::Cancel);
    assert!(matches!(cancelled.action("tell"), Some(Action::Tell { news: News::LetGo, .. })));
    cancelled.tell(Happened::Heard { news: News::GaveUp { issue: IssueNumber(8) } });
    assert_eq!(cancelled.stage().as_str(), "cancelled");
}

#[test]
fn a_fix_goes_on_where_the_other_stopped() {
    let mut parent = Tale::continued();
    parent.done("close-pr", Happened::PrClosed { pr: PrNumber(7) });
    let Some(Action::Tell { news, .. }) = parent.action("tell") else { panic!() };
    let mut fix = Tale::new();
    fix.loaded.task = TaskFacts::new(project_id(), IssueNumber(8));
    let me = Author { login: "pilot-bot".to_owned(), kind: AuthorKind::Me };
    let mut own = Issue { author: me, ..issue(8) };
    own.labels.insert(crate::words::label::FIX.to_owned());
    fix.tell(Happened::IssueSeen { issue: own });
    assert_eq!(*fix.stage(), Stage::Held { hold: Hold::UnknownFix }, "its text alone proves nothing");
    fix.tell(Happened::Heard { news: news.clone() });
    assert_eq!(fix.stage().as_str(), "queued");
    fix.claim();
    fix.done("claim", Happened::ClaimPlaced { generation: Generation(1) });
    let change =
        fix.done("run", Happened::RunStarted { generation: Generation(1), body: hash(0), silent: false });
    let order = change.run.expect("it may begin");
    assert_eq!((order.branch.as_str(), order.from, order.iteration), ("pilot/GH-1", Some(sha(10)), 1));
    fix.run_ends(RunEnding::Completed(Box::new(work(sha(12)))));
    let Some(Action::Push { expect, .. }) = fix.action("push") else { panic!() };
    assert_eq!(expect.as_ref(), Some(&sha(10)));
    fix.ordered(Order::Retry);
    assert_eq!(fix.stage().as_str(), "publishing", "the root is what can be begun again");
}

#[test]
fn labels_follow_the_claim_and_are_painted_over() {
    let mut tale = Tale::running();
    let Some(Action::Label { add, remove, .. }) = tale.action("label") else { panic!() };
    assert_eq!((add.len(), add.contains("pilot-in-progress"), remove.len()), (1, true, 0));
    tale.done("label", Happened::Labelled { labels: vec!["pilot-in-progress".to_owned()] });
    // A read that is older than a forge may lag proves nothing.
    tale.tell(Happened::IssueSeen { issue: issue(1) });
    assert!(tale.action("label").is_none());
    tale.now = tale.now.after(Duration::from_secs(60));
    tale.tell(Happened::IssueSeen { issue: Issue { updated_at: at(9), ..issue(1) } });
    assert!(tale.action("label").is_some(), "somebody took it off");
}

#[test]
fn an_action_has_one_key_whenever_it_is_decided() {
    let (mut one, mut other) = (Tale::opened(), Tale::opened());
    other.wait(17);
    one.judged(Conclusion::Success);
    other.judged(Conclusion::Success);
    let expect = format!("merge:7@{}", sha(10));
    assert_eq!((one.key("merge").as_str(), one.key("merge")), (expect.as_str(), other.key("merge")));
}

#[test]
fn a_decision_is_a_function() {
    for tale in [Tale::queued(), Tale::running(), Tale::opened(), Tale::continued()] {
        let decide = || step(&tale.loaded.task, &tale.loaded.project.facts, &tale.policy, tale.now);
        assert_eq!(decide(), decide());
    }
}
