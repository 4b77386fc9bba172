//! Where a task with a pull request stands.

use crate::ci::{Conclusion, Doubt, Verdict};
use crate::fact::{Ending, GivenUp, Happened, Order};
use crate::name::PrNumber;
use crate::policy::{CiPolicy, Watch};
use crate::seen::{Issue, Mergeable, Pr, PrState};
use crate::task::tale::{Tale, at, issue, merged, policy, pr, reading, sha};
use crate::task::{Hold, Look, Stage, Wait};

fn passed() -> Tale {
    let mut tale = Tale::opened();
    tale.judged(Conclusion::Success);
    tale
}

fn doubt(tale: &Tale) -> Option<&Doubt> {
    let Stage::AwaitingCi { verdict: Verdict::Unknown(doubt), .. } = tale.stage() else { return None };
    Some(doubt)
}

#[test]
fn a_verdict_leads_to_a_merge_a_fix_or_a_wait() {
    for (conclusion, expect) in [
        (Conclusion::Success, "merging"),
        (Conclusion::Failure, "ci_failed"),
        (Conclusion::TimedOut, "ci_failed"),
        (Conclusion::Cancelled, "awaiting_ci"),
        (Conclusion::Skipped, "awaiting_ci"),
    ] {
        let mut tale = Tale::opened();
        tale.judged(conclusion);
        assert_eq!(tale.stage().as_str(), expect, "{conclusion:?}");
        // Only a verdict writes anything.
        let writes = tale.lanes().iter().any(|lane| ["merge", "fix", "close-pr"].contains(lane));
        assert_eq!(writes, expect != "awaiting_ci", "{conclusion:?}");
    }
}

#[test]
fn a_merge_needs_more_than_a_verdict() {
    let seen = |change: fn(&mut Pr)| {
        let mut seen = pr(7, sha(10));
        change(&mut seen);
        Happened::PrSeen { pr: seen }
    };
    let mut tale = passed();
    tale.tell(seen(|pr| pr.mergeable = Mergeable::No));
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::MergeConflict { pr: PrNumber(7) } });
    assert!(!tale.lanes().contains(&"merge"), "what was planned is withdrawn");

    let mut tale = passed();
    tale.tell(seen(|pr| pr.mergeable = Mergeable::Unknown));
    assert_eq!(doubt(&tale), Some(&Doubt::NotMergeableYet));

    let mut tale = passed();
    tale.tell(seen(|pr| pr.head = sha(12)));
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::HeadMoved { pr: PrNumber(7), head: sha(12) } });

    let mut tale = passed();
    tale.policy.auto_merge = false;
    tale.wait(0);
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::AwaitsMerge { pr: PrNumber(7) } });

    let mut tale = passed();
    tale.wait(90);
    assert_eq!(doubt(&tale), Some(&Doubt::Unconfirmed), "an old reading is no evidence");

    let mut tale = passed();
    for _ in 0..10 {
        tale.loaded.project.facts.merged(tale.now);
    }
    tale.wait(0);
    assert!(matches!(tale.stage(), Stage::Waiting { why: Wait::MergeCap, .. }), "{:?}", tale.stage());
    assert!(tale.stage().is_active() && !tale.lanes().contains(&"merge"));
}

#[test]
fn a_head_that_lags_behind_a_push_is_ordinary() {
    let mut tale = Tale::running();
    tale.run_ends(crate::fact::RunEnding::Completed(Box::new(crate::task::tale::work(sha(10)))));
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch, sha: sha(10) });
    tale.done("pr", Happened::PrOpened { pr: pr(7, sha(9)) });
    assert_eq!(tale.stage().as_str(), "awaiting_ci");
    tale.wait(11);
    assert!(matches!(tale.stage(), Stage::Held { hold: Hold::HeadMoved { .. } }), "{:?}", tale.stage());
}

#[test]
fn one_look_at_a_closed_pull_request_is_not_believed() {
    let mut tale = Tale::opened();
    let closed = || Happened::PrSeen { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } };
    let change = tale.tell(closed());
    assert_eq!((doubt(&tale), change.looks), (Some(&Doubt::Unconfirmed), vec![Look::Pr { pr: PrNumber(7) }]));
    tale.wait(10);
    tale.tell(Happened::PrSeen { pr: pr(7, sha(10)) });
    assert_eq!(doubt(&tale), Some(&Doubt::NotRead), "it was a glitch");
    tale.tell(closed());
    tale.wait(40);
    tale.tell(closed());
    let why = GivenUp::PrClosed { pr: PrNumber(7) };
    assert_eq!(*tale.stage(), Stage::Ended { ending: Ending::GivenUp(why) });
}

#[test]
fn a_cancelled_pull_request_is_closed_unless_it_was_merged() {
    let mut tale = passed();
    tale.ordered(Order::Cancel);
    assert_eq!(tale.stage().as_str(), "closing");
    assert!(!tale.lanes().contains(&"merge"));
    tale.done("close-pr", Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    assert_eq!(tale.stage().as_str(), "landing", "what is on the forge goes before what we think of it");

    let mut tale = passed();
    tale.ordered(Order::Cancel);
    tale.done("close-pr", Happened::PrClosed { pr: PrNumber(7) });
    assert_eq!(tale.stage().as_str(), "cancelled");
}

#[test]
fn people_hold_a_pull_request_back_and_let_it_go_on() {
    let closed = Issue { state: crate::seen::IssueState::Closed, updated_at: at(1), ..issue(1) };
    let unlabelled = Issue { labels: [].into(), updated_at: at(1), ..issue(1) };
    for (seen, hold) in [(closed, Hold::IssueClosed), (unlabelled, Hold::LabelGone)] {
        let mut tale = passed();
        tale.tell(Happened::IssueSeen { issue: seen });
        assert_eq!(*tale.stage(), Stage::Held { hold: hold.clone() });
        assert!(!tale.lanes().contains(&"merge"));
        tale.tell(Happened::IssueSeen { issue: Issue { updated_at: at(2), ..issue(1) } });
        assert_eq!(tale.stage().as_str(), "merging", "{hold:?}");
    }
}

#[test]
fn somebody_else_may_merge_it() {
    let mut tale = Tale::opened();
    tale.tell(Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    assert_eq!(tale.stage().as_str(), "landing");
    let change = tale.wait(0);
    assert_eq!(change.looks, [Look::Base { commit: sha(11) }]);
}

#[test]
fn a_merge_that_is_not_on_the_base_is_a_persons_business() {
    let mut tale = passed();
    tale.merges();
    for _ in 0..12 {
        tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: false });
        tale.wait(30);
    }
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::NotOnBase { pr: PrNumber(7) } });
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    assert_eq!(tale.stage().as_str(), "done");
}

#[test]
fn fixes_have_an_end() {
    let mut tale = Tale::opened();
    tale.policy.max_ci_fixes = 0;
    tale.judged(Conclusion::Failure);
    let Stage::Held { hold: Hold::CiKeepsFailing { pr, fixes, .. } } = tale.stage() else { panic!() };
    assert_eq!((*pr, *fixes), (PrNumber(7), 0));
    assert!(!tale.lanes().contains(&"fix") && !tale.lanes().contains(&"close-pr"), "it stays open");

    let mut tale = Tale::opened();
    for _ in 0..10 {
        tale.loaded.project.facts.issue_opened(tale.now);
    }
    tale.judged(Conclusion::Failure);
    assert!(matches!(tale.stage(), Stage::Waiting { why: Wait::IssueCap, .. }), "{:?}", tale.stage());
}

#[test]
fn ci_that_never_says_anything_is_told_to_a_person() {
    let mut tale = Tale::opened();
    let mut silent = reading(sha(10), Conclusion::Success);
    silent.checks.clear();
    tale.tell(Happened::CiRead { reading: silent });
    assert_eq!(doubt(&tale), Some(&Doubt::Discovering));
    tale.wait(61);
    assert_eq!(doubt(&tale), Some(&Doubt::NoChecks));
    tale.wait(1800);
    let verdict = Verdict::Unknown(Doubt::NoChecks);
    assert_eq!(*tale.stage(), Stage::Held { hold: Hold::CiLate { pr: PrNumber(7), verdict } });
    assert!(!tale.lanes().contains(&"merge"));
    tale.judged(Conclusion::Success);
    assert_eq!(tale.stage().as_str(), "merging", "late is not never");
}

#[test]
fn no_ci_is_configured_and_never_inferred() {
    let ci = CiPolicy { watch: Watch::Nothing, ..policy().ci };
    let mut tale = Tale::with(crate::policy::Policy { ci, ..policy() });
    tale.be_admitted();
    tale.claim();
    tale.begin();
    tale.publish();
    assert_eq!(tale.stage().as_str(), "merging");
}
