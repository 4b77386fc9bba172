//! What people read about a run that gets nowhere.

use std::time::Duration;

use super::{Repeat, RoundCap, StagnationLevel, StagnationReason, StagnationVerdict};
use crate::duration;

pub fn reason(reason: &StagnationReason) -> String {
    match reason {
        StagnationReason::Repeated { times, what: Repeat::Report } => {
            format!("the agent reported the same phase, progress and iteration {times} times in a row")
        }
        StagnationReason::Repeated { times, what: Repeat::Work } => {
            format!("{times} reports in a row show the same phase, progress, indicators, changes and error")
        }
        StagnationReason::NoProgress { quiet } => format!("no progress for {}", whole_seconds(*quiet)),
        StagnationReason::Iterations { iteration, cap: RoundCap::Configured(cap) } => {
            format!("the agent is in iteration {iteration}; the limit is {cap}")
        }
        StagnationReason::Iterations { iteration, cap: RoundCap::Planned(planned) } => {
            format!("the agent is in iteration {iteration} and had planned {planned}")
        }
        StagnationReason::AgentSaysSo(claim) if claim.retry_exhausted => {
            "the agent says it is stuck and has used up its retries".to_owned()
        }
        StagnationReason::AgentSaysSo(_) => "the agent says it is stuck".to_owned(),
    }
}

pub fn verdict(verdict: &StagnationVerdict) -> String {
    let why = verdict.reason.as_ref().map(reason).unwrap_or_default();
    match verdict.level {
        StagnationLevel::None => "the run is getting on".to_owned(),
        StagnationLevel::Warn => format!("the run may be stuck: {why}"),
        StagnationLevel::Pause => format!("the run is stuck and needs a person: {why}"),
        StagnationLevel::Abort => format!("the run is stuck for good: {why}"),
    }
}

/// Fractions of a second are of no use to a reader.
fn whole_seconds(length: Duration) -> String {
    duration::text(Duration::from_secs(length.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{AgentClaim, Repeat, RoundCap, StagnationLevel, StagnationReason, StagnationVerdict};
    use super::{reason, verdict};

    #[test]
    fn every_reason_has_a_sentence() {
        for (given, words) in [
            (
                StagnationReason::Repeated { times: 3, what: Repeat::Report },
                "the agent reported the same phase, progress and iteration 3 times in a row",
            ),
            (
                StagnationReason::Repeated { times: 5, what: Repeat::Work },
                "5 reports in a row show the same phase, progress, indicators, changes and error",
            ),
            (StagnationReason::NoProgress { quiet: Duration::from_millis(1_200_700) }, "no progress for 20m"),
            (
                StagnationReason::Iterations { iteration: 12, cap: RoundCap::Configured(12) },
                "the agent is in iteration 12; the limit is 12",
            ),
            (
                StagnationReason::Iterations { iteration: 11, cap: RoundCap::Planned(10) },
                "the agent is in iteration 11 and had planned 10",
            ),
            (
                StagnationReason::AgentSaysSo(AgentClaim { retry_exhausted: false }),
                "the agent says it is stuck",
            ),
            (
                StagnationReason::AgentSaysSo(AgentClaim { retry_exhausted: true }),
                "the agent says it is stuck and has used up its retries",
            ),
        ] {
            assert_eq!(reason(&given), words);
        }
    }

    #[test]
    fn every_level_has_a_sentence() {
        let why = || Some(StagnationReason::NoProgress { quiet: Duration::from_secs(600) });
        for (level, reason, words) in [
            (StagnationLevel::None, None, "the run is getting on"),
            (StagnationLevel::Warn, why(), "the run may be stuck: no progress for 10m"),
            (StagnationLevel::Pause, why(), "the run is stuck and needs a person: no progress for 10m"),
            (StagnationLevel::Abort, why(), "the run is stuck for good: no progress for 10m"),
        ] {
            assert_eq!(verdict(&StagnationVerdict { level, reason, ..StagnationVerdict::default() }), words);
        }
    }
}
