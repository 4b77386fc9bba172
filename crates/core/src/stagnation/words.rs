//! What people read about a run that gets nowhere.

use std::time::Duration;

use super::{Cap, Level, Reason, Repeat, Verdict};
use crate::duration;

/// Why a level was reached: a sentence without its full stop.
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Repeated { times, what: Repeat::Report } => {
            format!("the agent reported the same phase, progress and iteration {times} times in a row")
        }
        Reason::Repeated { times, what: Repeat::Work } => {
            format!("{times} reports in a row show the same phase, progress, indicators, changes and error")
        }
        Reason::NoProgress { quiet } => format!("no progress for {}", whole_seconds(*quiet)),
        Reason::Iterations { iteration, cap: Cap::Configured(cap) } => {
            format!("the agent is in iteration {iteration}; the limit is {cap}")
        }
        Reason::Iterations { iteration, cap: Cap::Planned(planned) } => {
            format!("the agent is in iteration {iteration} and had planned {planned}")
        }
        Reason::AgentSaysSo(claim) if claim.retry_exhausted => {
            "the agent says it is stuck and has used up its retries".to_owned()
        }
        Reason::AgentSaysSo(_) => "the agent says it is stuck".to_owned(),
    }
}

/// What a verdict means for the run.
pub fn verdict(verdict: &Verdict) -> String {
    let why = verdict.reason.as_ref().map(reason).unwrap_or_default();
    match verdict.level {
        Level::None => "the run is getting on".to_owned(),
        Level::Warn => format!("the run may be stuck: {why}"),
        Level::Pause => format!("the run is stuck and needs a person: {why}"),
        Level::Abort => format!("the run is stuck for good: {why}"),
    }
}

/// Fractions of a second are of no use to a reader.
fn whole_seconds(length: Duration) -> String {
    duration::text(Duration::from_secs(length.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{AgentClaim, Cap, Level, Reason, Repeat, Verdict};
    use super::{reason, verdict};

    #[test]
    fn every_reason_has_a_sentence() {
        for (given, words) in [
            (
                Reason::Repeated { times: 3, what: Repeat::Report },
                "the agent reported the same phase, progress and iteration 3 times in a row",
            ),
            (
                Reason::Repeated { times: 5, what: Repeat::Work },
                "5 reports in a row show the same phase, progress, indicators, changes and error",
            ),
            (Reason::NoProgress { quiet: Duration::from_millis(1_200_700) }, "no progress for 20m"),
            (
                Reason::Iterations { iteration: 12, cap: Cap::Configured(12) },
                "the agent is in iteration 12; the limit is 12",
            ),
            (
                Reason::Iterations { iteration: 11, cap: Cap::Planned(10) },
                "the agent is in iteration 11 and had planned 10",
            ),
            (Reason::AgentSaysSo(AgentClaim { retry_exhausted: false }), "the agent says it is stuck"),
            (
                Reason::AgentSaysSo(AgentClaim { retry_exhausted: true }),
                "the agent says it is stuck and has used up its retries",
            ),
        ] {
            assert_eq!(reason(&given), words);
        }
    }

    #[test]
    fn every_level_has_a_sentence() {
        let why = || Some(Reason::NoProgress { quiet: Duration::from_secs(600) });
        for (level, reason, words) in [
            (Level::None, None, "the run is getting on"),
            (Level::Warn, why(), "the run may be stuck: no progress for 10m"),
            (Level::Pause, why(), "the run is stuck and needs a person: no progress for 10m"),
            (Level::Abort, why(), "the run is stuck for good: no progress for 10m"),
        ] {
            assert_eq!(verdict(&Verdict { level, reason, ..Verdict::default() }), words);
        }
    }
}
