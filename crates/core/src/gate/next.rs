//! What follows from a verdict.

use super::feedback::Feedback;
use super::result::GateStatus;
use super::verdict::GateVerdict;
use super::{GatePolicy, OnFailure, words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextGateStep {
    /// The commit is fine as far as gates can tell.
    Proceed,
    /// The agent is told what they found, in the same session and worktree.
    Feedback(Feedback),
    GiveUp {
        /// Why, as a sentence.
        reason: String,
    },
    Stopped,
}

/// What follows from a verdict after so many rounds of feedback. As long as the head of the branch is the verdict's
/// commit the verdict stands; when it is another one, the gates run again.
pub fn next(verdict: &GateVerdict, policy: &GatePolicy, rounds: u32) -> NextGateStep {
    match verdict {
        GateVerdict::Passed(_) | GateVerdict::NotRun { .. } => NextGateStep::Proceed,
        GateVerdict::Unfinished(_) => NextGateStep::Stopped,
        GateVerdict::Failed(_) => match refusal(verdict, policy, rounds) {
            Some(why) => NextGateStep::GiveUp { reason: format!("{} ({why})", words::verdict(verdict)) },
            None => NextGateStep::Feedback(Feedback::of(verdict, rounds + 1, policy.max_retries)),
        },
    }
}

fn refusal(verdict: &GateVerdict, policy: &GatePolicy, rounds: u32) -> Option<String> {
    if let Some(result) = verdict.failures().find(|result| result.action == OnFailure::Fail) {
        return Some(format!("{} is not tried again: on_failure is fail", words::name(&result.gate)));
    }
    if verdict.failures().all(|result| result.status == GateStatus::NotStarted) {
        // Nothing an agent could fix in the repository.
        return Some("what it needs is not on this machine: install it, or set quality.gates".to_owned());
    }
    match policy.max_retries {
        0 => Some("quality.on_failure.max_retries is 0".to_owned()),
        1 if rounds >= 1 => Some("after 1 round of feedback".to_owned()),
        most if rounds >= most => Some(format!("after {rounds} rounds of feedback")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{NextGateStep, next};
    use crate::gate::verdict::tests::results;
    use crate::gate::{GateEnding, GatePolicy, OnFailure, verdict};

    #[test]
    fn every_verdict_has_a_next_step_and_every_loop_an_end() {
        use OnFailure::{Fail, Retry, Warn};
        let two = GatePolicy { action: Retry, max_retries: 2 };
        let none = GatePolicy { action: Retry, max_retries: 0 };
        for (gates, policy, rounds, expect) in [
            (vec![], two, 0, "proceed"),
            (vec![("test", Retry, GateEnding::Code(0))], two, 0, "proceed"),
            (vec![("lint", Warn, GateEnding::Code(1))], two, 0, "proceed"),
            (vec![("test", Retry, GateEnding::Cancelled)], two, 0, "stopped"),
            (vec![("test", Retry, GateEnding::Code(1))], two, 0, "round 1"),
            (vec![("test", Retry, GateEnding::TimedOut)], two, 1, "round 2"),
            (
                vec![("test", Retry, GateEnding::Code(1))],
                two,
                2,
                "the gate test did not pass: exit code 1 (after 2 rounds of feedback)",
            ),
            (
                vec![("test", Retry, GateEnding::Code(1))],
                two,
                99,
                "the gate test did not pass: exit code 1 (after 99 rounds of feedback)",
            ),
            (
                vec![("test", Retry, GateEnding::Code(1))],
                none,
                0,
                "the gate test did not pass: exit code 1 (quality.on_failure.max_retries is 0)",
            ),
            (
                vec![("test", Retry, GateEnding::Code(1)), ("x", Fail, GateEnding::Code(2))],
                two,
                0,
                "the gates test and x did not pass: exit code 1; exit code 2 (x is not tried again: on_failure is fail)",
            ),
            (
                vec![("test", Retry, GateEnding::Code(127))],
                two,
                0,
                "the gate test did not pass: a command was not found (exit code 127) (what it needs is not on this machine: install it, or set quality.gates)",
            ),
            (
                vec![("test", Retry, GateEnding::Code(127)), ("build", Retry, GateEnding::Code(1))],
                two,
                0,
                "round 1",
            ),
        ] {
            let got = match next(&verdict("abc", results(&gates)), &policy, rounds) {
                NextGateStep::Proceed => "proceed".to_owned(),
                NextGateStep::Stopped => "stopped".to_owned(),
                NextGateStep::Feedback(feedback) => format!("round {}", feedback.round),
                NextGateStep::GiveUp { reason } => reason,
            };
            assert_eq!(got, expect, "{gates:?} {rounds}");
        }
    }
}
