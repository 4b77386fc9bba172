use std::time::Duration;

use proptest::prelude::*;

use super::{End, Moment, Next, Policy, Task, next};
use crate::course::{GateEnd, Gated, History, ReviewEnd, Step, WorkEnd};
use crate::outcome::{Class, Outcome, tests_only_completed};
use crate::retry::{Counters, Marks, Place, RetryConfig};

const MOMENT: Moment = Moment { now: 1_000, jitter: 0.5, elapsed: Duration::from_secs(1) };

fn policy(retry: &RetryConfig) -> Policy<'_> {
    Policy { retry, gates: true, review: true, has_fallback: false, place: Place::Foreground }
}

fn worked(head: &str) -> Step {
    work(tests_only_completed(), Some(head))
}

fn failed(class: Class) -> Step {
    work(Outcome::not_completed(class, "why"), None)
}

fn work(outcome: Outcome, head: Option<&str>) -> Step {
    Step::Work(WorkEnd { outcome, head: head.map(str::to_owned), marks: Marks::Readable })
}

fn gates(head: &str, said: Gated) -> Step {
    Step::Gates(GateEnd { head: head.to_owned(), said })
}

fn mend() -> Gated {
    Gated::Mend { why: "test failed".to_owned() }
}

fn reviewed(head: &str) -> Step {
    Step::Review(ReviewEnd { head: head.to_owned(), stopped: false })
}

/// What comes next, in a word or two.
fn after(steps: &[Step], gates: bool, review: bool) -> String {
    let retry = RetryConfig::default();
    let mut history = History::new(Counters::default());
    steps.iter().for_each(|step| history.add(step.clone()));
    say(&next(&history, &Policy { gates, review, ..policy(&retry) }, &MOMENT))
}

fn say(next: &Next) -> String {
    match next {
        Next::Work(work) => match &work.task {
            Task::First => "work".to_owned(),
            Task::Again(again) => format!("again, counted as {}", again.counts.as_str()),
            Task::Mend { round } => format!("mend {round}"),
        },
        Next::Gates { head } => format!("gates {head}"),
        Next::Review { head } => format!("review {head}"),
        Next::End(End::Done { head, stepped_back }) => {
            let back = if *stepped_back { ", stepped back" } else { "" };
            format!("done {}{back}", head.as_deref().unwrap_or("without a commit"))
        }
        Next::End(End::AsJudged { .. }) => "as judged".to_owned(),
        Next::End(End::Gates { why }) => format!("gates: {why}"),
        Next::End(End::Stopped) => "stopped".to_owned(),
    }
}

#[test]
fn the_way_of_a_run() {
    let pass = |head| gates(head, Gated::Passed);
    let fail = |head| gates(head, Gated::Failed { why: "lint failed".to_owned() });
    for (steps, with, expect) in [
        (vec![], (true, true), "work"),
        (vec![worked("a")], (true, true), "gates a"),
        (vec![worked("a")], (false, true), "review a"),
        (vec![worked("a")], (false, false), "done a"),
        (vec![work(tests_only_completed(), None)], (true, true), "done without a commit"),
        (vec![worked("a"), pass("a")], (true, true), "review a"),
        (vec![worked("a"), pass("a")], (true, false), "done a"),
        (vec![worked("a"), pass("a"), reviewed("a")], (true, true), "done a"),
        (vec![worked("a"), pass("a"), reviewed("b")], (true, true), "gates b"),
        (vec![worked("a"), reviewed("b")], (false, true), "done b"),
        (vec![worked("a"), pass("a"), reviewed("b"), pass("b")], (true, true), "done b"),
        (vec![worked("a"), pass("a"), reviewed("b"), fail("b")], (true, true), "done a, stepped back"),
        (
            vec![worked("a"), pass("a"), reviewed("b"), gates("b", mend())],
            (true, true),
            "done a, stepped back",
        ),
        (vec![worked("a"), gates("a", mend())], (true, true), "mend 1"),
        (vec![worked("a"), gates("a", mend()), worked("b")], (true, true), "gates b"),
        (vec![worked("a"), gates("a", mend()), worked("b"), gates("b", mend())], (true, true), "mend 2"),
        (vec![worked("a"), gates("a", mend()), worked("a")], (true, true), "gates: test failed"),
        (vec![worked("a"), fail("a")], (true, true), "gates: lint failed"),
        (vec![worked("a"), gates("a", Gated::Stopped)], (true, true), "stopped"),
        (vec![failed(Class::Cancelled)], (true, true), "stopped"),
        (vec![failed(Class::ApiError), Step::Stopped], (true, true), "stopped"),
        (vec![failed(Class::ApiError)], (true, true), "again, counted as api_error"),
        (vec![failed(Class::Refused)], (true, true), "as judged"),
        (vec![failed(Class::BudgetExceeded)], (true, true), "as judged"),
        (vec![Step::Review(ReviewEnd { head: "a".to_owned(), stopped: true })], (true, true), "stopped"),
    ] {
        assert_eq!(after(&steps, with.0, with.1), expect, "{steps:?}");
    }
}

proptest! {
    /// Whatever agents, gates and reviewers do, a run ends, and it is only ever done with a commit its gates let pass.
    #[test]
    fn every_run_ends(dice in prop::collection::vec(0_usize..64, 64), mends in 0_u32..4) {
        let retry = RetryConfig::default();
        let policy = policy(&retry);
        let mut history = History::new(Counters::default());
        let (mut dice, mut commits, mut passed) = (dice.into_iter().cycle(), 0, Vec::new());
        let mut roll = |sides: usize| dice.next().unwrap_or(0) % sides;
        let end = (0..200).find_map(|_| {
            match next(&history, &policy, &MOMENT) {
                Next::End(end) => return Some(end),
                Next::Work(work) => {
                    if let Task::Again(again) = &work.task {
                        history.count(again.counts);
                    }
                    commits += roll(2);
                    let class = Class::ALL.get(roll(40)).copied();
                    let outcome = match class {
                        Some(class) => Outcome::not_completed(class, "why"),
                        None => tests_only_completed(),
                    };
                    history.add(self::work(outcome, Some(&commits.to_string())));
                }
                Next::Gates { head } => {
                    let said = match roll(3) {
                        0 => Gated::Passed,
                        1 if history.mended() < mends => mend(),
                        _ => Gated::Failed { why: String::new() },
                    };
                    if said == Gated::Passed {
                        passed.push(head.clone());
                    }
                    history.add(gates(&head, said));
                }
                Next::Review { .. } => {
                    commits += roll(2);
                    history.add(reviewed(&commits.to_string()));
                }
            }
            None
        });
        match end {
            None => prop_assert!(false, "{history:?} never ends"),
            Some(End::Done { head: Some(head), .. }) => prop_assert!(passed.contains(&head)),
            Some(End::Done { head: None, .. }) => prop_assert!(false, "there was a commit"),
            Some(End::AsJudged { .. } | End::Gates { .. } | End::Stopped) => {}
        }
    }
}
