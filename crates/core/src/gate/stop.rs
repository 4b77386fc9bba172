//! What an agent is answered that wants to stop, when the gates run inside its session.

use super::feedback::findings;
use super::verdict::GateVerdict;

/// The most of all outputs together that such an answer holds, in bytes.
const ANSWER_LIMIT: usize = 8 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopAnswer {
    Stop,
    /// It has to go on, and why.
    GoOn {
        reason: String,
    },
}

/// Whether an agent may stop that was held `held` times of at most `cap`. `active` says that a stop hook holds it already;
/// that counts as one time even if it was another hook, so that two hooks do not add up. Whatever is not certain lets it
/// stop: the gates behind the run decide.
pub fn stop_answer(verdict: &GateVerdict, held: u32, cap: u32, active: bool) -> StopAnswer {
    let held = held.max(u32::from(active));
    match verdict {
        GateVerdict::Passed(_) | GateVerdict::Unfinished(_) | GateVerdict::NotRun { .. } => StopAnswer::Stop,
        GateVerdict::Failed(_) if held >= cap => StopAnswer::Stop,
        GateVerdict::Failed(_) => StopAnswer::GoOn {
            reason: format!(
                "Not done yet: the project's checks do not pass. Fix the cause, not the check, commit, and then stop.\n\n{}",
                findings(verdict, ANSWER_LIMIT)
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{StopAnswer, stop_answer};
    use crate::gate::verdict::tests::results;
    use crate::gate::{GateEnding, OnFailure, verdict};

    #[test]
    fn an_agent_is_held_so_often_and_no_more() {
        let fails = verdict("abc", results(&[("test", OnFailure::Retry, GateEnding::Code(1))]));
        let passes = verdict("abc", results(&[("test", OnFailure::Retry, GateEnding::Code(0))]));
        let stopped = verdict("abc", results(&[("test", OnFailure::Retry, GateEnding::Cancelled)]));
        for (verdict, held, cap, active, goes_on) in [
            (&fails, 0, 2, false, true),
            (&fails, 1, 2, true, true),
            (&fails, 2, 2, true, false),
            (&fails, 2, 2, false, false),
            (&fails, 0, 0, false, false),
            (&fails, 0, 1, true, false),
            (&passes, 0, 2, false, false),
            (&stopped, 0, 2, false, false),
        ] {
            let answer = stop_answer(verdict, held, cap, active);
            assert_eq!(answer != StopAnswer::Stop, goes_on, "{} {held} {cap} {active}", verdict.as_str());
        }
        let StopAnswer::GoOn { reason } = stop_answer(&fails, 0, 2, false) else { panic!("it continues") };
        assert!(
            reason.contains("error: test is broken") && reason.contains("hint for it: look at test"),
            "{reason}"
        );
    }
}
