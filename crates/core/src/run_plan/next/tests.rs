use std::time::Duration;

use proptest::prelude::*;

use super::{AgentTask, NextStep, RunEnd, RunMoment, RunPolicy, next};
use crate::outcome::{Class, Outcome, tests_only_completed};
use crate::retry::{LastMarks, RetryConfig, RetryCounters, RetryPlace};
use crate::run_plan::{GateAnswer, GateEnd, History, ReviewAnswer, ReviewEnd, RunStep, WorkEnd};

const MOMENT: RunMoment = RunMoment { now: 1_000, jitter: 0.5, elapsed: Duration::from_secs(1) };

fn policy(retry: &RetryConfig) -> RunPolicy<'_> {
    RunPolicy { retry, gates: true, review: true, has_fallback: false, place: RetryPlace::Foreground }
}

fn worked(head: &str) -> RunStep {
    work(tests_only_completed(), Some(head))
}

fn failed(class: Class) -> RunStep {
    work(Outcome::not_completed(class, "why"), None)
}

fn work(outcome: Outcome, head: Option<&str>) -> RunStep {
    RunStep::Work(WorkEnd { outcome, head: head.map(str::to_owned), marks: LastMarks::Readable })
}

fn gates(head: &str, answer: GateAnswer) -> RunStep {
    RunStep::Gates(GateEnd { head: head.to_owned(), answer })
}

fn fix() -> GateAnswer {
    GateAnswer::Fix { why: "test failed".to_owned() }
}

fn reviewed(head: &str) -> RunStep {
    answered(head, ReviewAnswer::Read)
}

fn answered(head: &str, answer: ReviewAnswer) -> RunStep {
    RunStep::Review(ReviewEnd { head: head.to_owned(), answer })
}

/// What comes next, in a word or two.
fn after(steps: &[RunStep], gates: bool, review: bool) -> String {
    let retry = RetryConfig::default();
    let mut history = History::new(RetryCounters::default());
    steps.iter().for_each(|step| history.add(step.clone()));
    say(&next(&history, &RunPolicy { gates, review, ..policy(&retry) }, &MOMENT))
}

fn say(next: &NextStep) -> String {
    match next {
        NextStep::Work(work) => match &work.task {
            AgentTask::First => "work".to_owned(),
            AgentTask::Again(again) => format!("again, counted as {}", again.counts.as_str()),
            AgentTask::Fix { round } => format!("fix {round}"),
        },
        NextStep::Gates { head } => format!("gates {head}"),
        NextStep::Review { head } => format!("review {head}"),
        NextStep::End(RunEnd::Done { head, stepped_back }) => {
            let back = if *stepped_back { ", stepped back" } else { "" };
            format!("done {}{back}", head.as_deref().unwrap_or("without a commit"))
        }
        NextStep::End(RunEnd::AsJudged { .. }) => "as judged".to_owned(),
        NextStep::End(RunEnd::Gates { why }) => format!("gates: {why}"),
        NextStep::End(RunEnd::Stopped) => "stopped".to_owned(),
    }
}

#[test]
fn the_way_of_a_run() {
    let pass = |head| gates(head, GateAnswer::Passed);
    let fail = |head| gates(head, GateAnswer::Failed { why: "lint failed".to_owned() });
    let unread = |head| answered(head, ReviewAnswer::Unreadable);
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
            vec![worked("a"), pass("a"), reviewed("b"), gates("b", fix())],
            (true, true),
            "done a, stepped back",
        ),
        (vec![worked("a"), gates("a", fix())], (true, true), "fix 1"),
        (vec![worked("a"), gates("a", fix()), worked("b")], (true, true), "gates b"),
        (vec![worked("a"), gates("a", fix()), worked("b"), gates("b", fix())], (true, true), "fix 2"),
        (vec![worked("a"), gates("a", fix()), worked("a")], (true, true), "gates: test failed"),
        (vec![worked("a"), fail("a")], (true, true), "gates: lint failed"),
        (vec![worked("a"), gates("a", GateAnswer::Stopped)], (true, true), "stopped"),
        (vec![failed(Class::Cancelled)], (true, true), "stopped"),
        (vec![failed(Class::ApiError), RunStep::Stopped], (true, true), "stopped"),
        (vec![failed(Class::ApiError)], (true, true), "again, counted as api_error"),
        (vec![failed(Class::Refused)], (true, true), "as judged"),
        (vec![failed(Class::BudgetExceeded)], (true, true), "as judged"),
        (vec![answered("a", ReviewAnswer::Stopped)], (true, true), "stopped"),
        (vec![worked("a"), pass("a"), unread("a")], (true, true), "review a"),
        (vec![worked("a"), unread("a")], (false, true), "review a"),
        (vec![worked("a"), pass("a"), unread("a"), reviewed("a")], (true, true), "done a"),
        (vec![worked("a"), pass("a"), unread("a"), unread("a")], (true, true), "done a"),
        (vec![worked("a"), pass("a"), unread("b")], (true, true), "gates b"),
        (vec![worked("a"), pass("a"), unread("b"), pass("b")], (true, true), "review b"),
        (vec![worked("a"), pass("a"), unread("b"), pass("b"), unread("b")], (true, true), "done b"),
        (vec![worked("a"), pass("a"), unread("b"), fail("b")], (true, true), "done a, stepped back"),
    ] {
        assert_eq!(after(&steps, with.0, with.1), expect, "{steps:?}");
    }
}

proptest! {
    /// Whatever agents, gates and reviewers do, a run ends, and it is only ever done with a commit its gates let pass.
    #[test]
    fn every_run_ends(dice in prop::collection::vec(0_usize..64, 64), fixes in 0_u32..4) {
        let retry = RetryConfig::default();
        let policy = policy(&retry);
        let mut history = History::new(RetryCounters::default());
        let (mut dice, mut commits, mut passed) = (dice.into_iter().cycle(), 0, Vec::new());
        let mut roll = |sides: usize| dice.next().unwrap_or(0) % sides;
        let end = (0..200).find_map(|_| {
            match next(&history, &policy, &MOMENT) {
                NextStep::End(end) => return Some(end),
                NextStep::Work(work) => {
                    if let AgentTask::Again(again) = &work.task {
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
                NextStep::Gates { head } => {
                    let answer = match roll(3) {
                        0 => GateAnswer::Passed,
                        1 if history.fixes() < fixes => fix(),
                        _ => GateAnswer::Failed { why: String::new() },
                    };
                    if answer == GateAnswer::Passed {
                        passed.push(head.clone());
                    }
                    history.add(gates(&head, answer));
                }
                NextStep::Review { .. } => {
                    commits += roll(2);
                    let answer =
                        if roll(2) == 0 { ReviewAnswer::Read } else { ReviewAnswer::Unreadable };
                    history.add(answered(&commits.to_string(), answer));
                }
            }
            None
        });
        match end {
            None => prop_assert!(false, "{history:?} never ends"),
            Some(RunEnd::Done { head: Some(head), .. }) => prop_assert!(passed.contains(&head)),
            Some(RunEnd::Done { head: None, .. }) => prop_assert!(false, "there was a commit"),
            Some(RunEnd::AsJudged { .. } | RunEnd::Gates { .. } | RunEnd::Stopped) => {}
        }
    }
}
