//! The stages of a task with a pull request.

use crate::ci::{CheckState, Inconclusive, Verdict};
use crate::fact::{Ending, GivenUp, TaskEvent, UserCommand};
use crate::id::PrNumber;
use crate::observed::{Mergeable, Pr, PrState, Ticket};
use crate::policy::{CiPolicy, Watch};
use crate::task::scenario::{Scenario, at, merged, policy, pr, reading, sha, ticket};
use crate::task::{Hold, Query, Stage, Wait};

fn passed() -> Scenario {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Passed);
    scenario
}

fn doubt(scenario: &Scenario) -> Option<&Inconclusive> {
    let Stage::AwaitingCi { verdict: Verdict::Unknown(doubt), .. } = scenario.stage() else { return None };
    Some(doubt)
}

#[test]
fn a_verdict_leads_to_a_merge_a_fix_or_a_wait() {
    for (conclusion, expect) in [
        (CheckState::Passed, "merging"),
        (CheckState::Failed, "ci_failed"),
        (CheckState::Undecided, "awaiting_ci"),
        (CheckState::Skipped, "awaiting_ci"),
    ] {
        let mut scenario = Scenario::opened();
        scenario.judged(conclusion);
        assert_eq!(scenario.stage().as_str(), expect, "{conclusion:?}");
        // Only a verdict writes anything.
        let writes = scenario.lanes().iter().any(|lane| ["merge", "fix", "close-pr"].contains(lane));
        assert_eq!(writes, expect != "awaiting_ci", "{conclusion:?}");
    }
}

#[test]
fn a_merge_needs_more_than_a_verdict() {
    let seen = |change: fn(&mut Pr)| {
        let mut seen = pr(7, sha(10));
        change(&mut seen);
        TaskEvent::PrRead { pr: seen }
    };
    let mut scenario = passed();
    scenario.tell(seen(|pr| pr.mergeable = Mergeable::No));
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::MergeConflict { pr: PrNumber(7) } });
    assert!(!scenario.lanes().contains(&"merge"), "what was planned is withdrawn");

    let mut scenario = passed();
    scenario.tell(seen(|pr| pr.mergeable = Mergeable::Unknown));
    assert_eq!(doubt(&scenario), Some(&Inconclusive::NotMergeableYet));

    let mut scenario = passed();
    scenario.tell(seen(|pr| pr.head = sha(12)));
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::HeadMoved { pr: PrNumber(7), head: sha(12) } });

    let mut scenario = passed();
    scenario.policy.auto_merge = false;
    scenario.wait(0);
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::AwaitsMerge { pr: PrNumber(7) } });

    let mut scenario = passed();
    scenario.wait(90);
    assert_eq!(doubt(&scenario), Some(&Inconclusive::Unconfirmed), "an old reading is no evidence");

    let mut scenario = passed();
    for _ in 0..10 {
        scenario.loaded.project.facts.merged(scenario.now);
    }
    scenario.wait(0);
    assert!(matches!(scenario.stage(), Stage::Waiting { why: Wait::MergeCap, .. }), "{:?}", scenario.stage());
    assert!(scenario.stage().is_active() && !scenario.lanes().contains(&"merge"));
}

#[test]
fn a_review_that_requests_changes_holds_until_it_is_answered() {
    let read = |pr: u64, by: &[&str]| {
        let requested_by = by.iter().map(|login| (*login).to_owned()).collect();
        TaskEvent::ReviewsRead { pr: PrNumber(pr), requested_by }
    };
    let hold = Hold::ChangesRequested { pr: PrNumber(7), by: ["ann".to_owned()].into() };
    for (conclusion, lane, after) in
        [(CheckState::Passed, "merge", "awaiting_ci"), (CheckState::Failed, "fix", "ci_failed")]
    {
        let mut scenario = Scenario::opened();
        scenario.judged(conclusion);
        let change = scenario.done(lane, read(7, &["ann"]));
        assert_eq!(*scenario.stage(), Stage::Held { hold: hold.clone() });
        assert!(!scenario.lanes().contains(&lane), "{lane}");
        assert!(change.queries.contains(&Query::Reviews { pr: PrNumber(7) }), "{:?}", change.queries);
        scenario.tell(read(8, &[]));
        scenario.wait(7200);
        assert_eq!(*scenario.stage(), Stage::Held { hold: hold.clone() }, "another's reviews change nothing");
        scenario.tell(read(7, &[]));
        assert_eq!(scenario.stage().as_str(), after, "it continues, from a fresh look at CI");
    }
}

#[test]
fn a_head_that_lags_behind_a_push_is_ordinary() {
    let mut scenario = Scenario::running();
    scenario.run_ends(crate::fact::RunEnding::Completed(Box::new(crate::task::scenario::work(sha(10)))));
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
    scenario.done("pr", TaskEvent::PrOpened { pr: pr(7, sha(9)) });
    assert_eq!(scenario.stage().as_str(), "awaiting_ci");
    scenario.wait(11);
    assert!(
        matches!(scenario.stage(), Stage::Held { hold: Hold::HeadMoved { .. } }),
        "{:?}",
        scenario.stage()
    );
}

#[test]
fn one_look_at_a_closed_pull_request_is_not_believed() {
    let mut scenario = Scenario::opened();
    let closed = || TaskEvent::PrRead { pr: Pr { state: PrState::Closed, ..pr(7, sha(10)) } };
    let change = scenario.tell(closed());
    assert_eq!(
        (doubt(&scenario), change.queries),
        (Some(&Inconclusive::Unconfirmed), vec![Query::Pr { pr: PrNumber(7) }])
    );
    scenario.wait(10);
    scenario.tell(TaskEvent::PrRead { pr: pr(7, sha(10)) });
    assert_eq!(doubt(&scenario), Some(&Inconclusive::NotRead), "it was a glitch");
    scenario.tell(closed());
    scenario.wait(40);
    scenario.tell(closed());
    let why = GivenUp::PrClosed { pr: PrNumber(7) };
    assert_eq!(*scenario.stage(), Stage::Ended { ending: Ending::GivenUp(why) });
}

#[test]
fn a_cancelled_pull_request_is_closed_unless_it_was_merged() {
    let mut scenario = passed();
    scenario.command(UserCommand::Cancel);
    assert_eq!(scenario.stage().as_str(), "closing");
    assert!(!scenario.lanes().contains(&"merge"));
    scenario.done("close-pr", TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    assert_eq!(scenario.stage().as_str(), "landing", "what is on the forge goes before what we think of it");

    let mut scenario = passed();
    scenario.command(UserCommand::Cancel);
    scenario.done("close-pr", TaskEvent::PrClosed { pr: PrNumber(7) });
    assert_eq!(scenario.stage().as_str(), "cancelled");
}

#[test]
fn people_hold_a_pull_request_back_and_let_it_go_on() {
    let closed = Ticket { state: crate::observed::TicketState::Closed, updated_at: at(1), ..ticket(1) };
    let unlabelled = Ticket { labels: [].into(), updated_at: at(1), ..ticket(1) };
    for (seen, hold) in [(closed, Hold::TicketClosed), (unlabelled, Hold::LabelGone)] {
        let mut scenario = passed();
        scenario.tell(TaskEvent::TicketRead { ticket: seen });
        assert_eq!(*scenario.stage(), Stage::Held { hold: hold.clone() });
        assert!(!scenario.lanes().contains(&"merge"));
        scenario.tell(TaskEvent::TicketRead { ticket: Ticket { updated_at: at(2), ..ticket(1) } });
        assert_eq!(scenario.stage().as_str(), "merging", "{hold:?}");
    }
}

#[test]
fn somebody_else_may_merge_it() {
    let mut scenario = Scenario::opened();
    scenario.tell(TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    assert_eq!(scenario.stage().as_str(), "landing");
    let change = scenario.wait(0);
    assert_eq!(change.queries, [Query::Base { commit: sha(11) }]);
}

#[test]
fn a_merge_that_is_not_on_the_base_is_a_persons_business() {
    let mut scenario = passed();
    scenario.merges();
    for _ in 0..12 {
        scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: false });
        scenario.wait(30);
    }
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::NotOnBase { pr: PrNumber(7) } });
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    assert_eq!(scenario.stage().as_str(), "done");
}

#[test]
fn fixes_have_an_end() {
    let mut scenario = Scenario::opened();
    scenario.policy.max_ci_fixes = 0;
    scenario.judged(CheckState::Failed);
    let Stage::Held { hold: Hold::CiKeepsFailing { pr, fixes, .. } } = scenario.stage() else { panic!() };
    assert_eq!((*pr, *fixes), (PrNumber(7), 0));
    assert!(!scenario.lanes().contains(&"fix") && !scenario.lanes().contains(&"close-pr"), "it stays open");

    let mut scenario = Scenario::opened();
    for _ in 0..10 {
        scenario.loaded.project.facts.ticket_opened(scenario.now);
    }
    scenario.judged(CheckState::Failed);
    assert!(
        matches!(scenario.stage(), Stage::Waiting { why: Wait::TicketCap, .. }),
        "{:?}",
        scenario.stage()
    );
}

#[test]
fn ci_that_never_says_anything_is_told_to_a_person() {
    let mut scenario = Scenario::opened();
    let mut unreported = reading(sha(10), CheckState::Passed);
    unreported.checks.clear();
    scenario.tell(TaskEvent::CiRead { reading: unreported });
    assert_eq!(doubt(&scenario), Some(&Inconclusive::Discovering));
    scenario.wait(61);
    assert_eq!(doubt(&scenario), Some(&Inconclusive::NoChecks));
    scenario.wait(1800);
    let verdict = Verdict::Unknown(Inconclusive::NoChecks);
    assert_eq!(*scenario.stage(), Stage::Held { hold: Hold::CiLate { pr: PrNumber(7), verdict } });
    assert!(!scenario.lanes().contains(&"merge"));
    scenario.judged(CheckState::Passed);
    assert_eq!(scenario.stage().as_str(), "merging", "late is not never");
}

#[test]
fn no_ci_is_configured_and_never_inferred() {
    let ci = CiPolicy { watch: Watch::Nothing, ..policy().ci };
    let mut scenario = Scenario::with(crate::policy::Policy { ci, ..policy() });
    scenario.be_admitted();
    scenario.claim();
    scenario.begin();
    scenario.publish();
    assert_eq!(scenario.stage().as_str(), "merging");
}
