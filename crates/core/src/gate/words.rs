//! Sentences about gates.

use std::time::Duration;

use super::plain::plain;
use super::{Coverage, Gate, GateResult, GateStatus, GateVerdict, NotRun, OnFailure, Percent};
use crate::duration;

pub fn result(result: &GateResult) -> String {
    let name = name(&result.gate);
    let attempts = match result.attempts {
        0 | 1 => String::new(),
        many => format!(" at attempt {many}"),
    };
    let took = match result.attempts {
        0 => String::new(),
        _ => format!(" after {}", duration::text(rounded(result.duration))),
    };
    let advisory = match result.action {
        OnFailure::Warn if !result.passed() => ", only a warning",
        OnFailure::Retry | OnFailure::Fail | OnFailure::Warn => "",
    };
    let changed = match result.changed.len() {
        0 => String::new(),
        1 => "; it changed a file under version control, which is as before again".to_owned(),
        many => format!("; it changed {many} files under version control, which are as before again"),
    };
    format!("{name} {}{attempts}{took}{advisory}{changed}", outcome(result))
}

pub fn verdict(verdict: &GateVerdict) -> String {
    let names = |results: &[&GateResult]| list(results.iter().map(|result| name(&result.gate)).collect());
    let warnings: Vec<&GateResult> = verdict.warnings().collect();
    match verdict {
        GateVerdict::NotRun { why: NotRun::Disabled, .. } => {
            "no gate ran: quality.enabled is false".to_owned()
        }
        GateVerdict::NotRun { why: NotRun::Unwanted, .. } => "no gate ran, as it was wanted".to_owned(),
        GateVerdict::NotRun { why: NotRun::NoneFound, .. } => {
            "no gate ran: none is configured, and the project shows none".to_owned()
        }
        GateVerdict::Unfinished(_) => "the gates did not end: the run was stopped".to_owned(),
        GateVerdict::Passed(_) => {
            let passed: Vec<&GateResult> =
                verdict.results().iter().filter(|result| result.passed()).collect();
            match (passed.is_empty(), warnings.is_empty()) {
                (false, true) => format!("{} passed", names(&passed)),
                (false, false) => {
                    format!("{} passed; {} did not and only warns", names(&passed), names(&warnings))
                }
                (true, _) => format!("{} did not pass and only warns", names(&warnings)),
            }
        }
        GateVerdict::Failed(_) => {
            let failures: Vec<&GateResult> = verdict.failures().collect();
            let gates = if failures.len() == 1 { "gate" } else { "gates" };
            let reasons: Vec<&str> = failures.iter().map(|result| result.reason.as_str()).collect();
            format!("the {gates} {} did not pass: {}", names(&failures), reasons.join("; "))
        }
    }
}

pub(super) fn name(gate: &Gate) -> String {
    plain(&gate.name).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn outcome(result: &GateResult) -> String {
    let status = match result.status {
        GateStatus::Passed => "passed",
        GateStatus::Failed => "failed",
        GateStatus::TimedOut => "timed out",
        GateStatus::NotStarted => "could not start",
        GateStatus::Skipped => "was skipped",
        GateStatus::Cancelled => "was cancelled",
    };
    if result.reason.is_empty() { status.to_owned() } else { format!("{status}, {}", result.reason) }
}

pub fn skipped(because: &GateResult) -> String {
    format!("not tried, since {} did not pass", name(&because.gate))
}

pub(super) fn no_command(code: i32) -> String {
    let what = if code == 127 { "was not found" } else { "could not be run" };
    format!("a command {what} (exit code {code})")
}

pub(super) fn no_memory() -> String {
    "the kernel ended it for want of memory".to_owned()
}

pub(super) fn too_long(limit: Duration) -> String {
    format!("not done after {}", duration::text(limit))
}

pub(super) fn no_coverage(threshold: Percent) -> String {
    format!("no coverage figure in the output, and {threshold} is wanted")
}

pub(super) fn coverage(found: Coverage, threshold: Percent) -> String {
    let lowest = match found.figures {
        0 | 1 => String::new(),
        many => format!(", the lowest of {many} figures,"),
    };
    if found.percent >= threshold {
        return format!("coverage {}", found.percent);
    }
    format!("coverage {}{lowest} is below {threshold}", found.percent)
}

pub(super) fn list(mut names: Vec<String>) -> String {
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

/// Milliseconds are for what takes no second.
fn rounded(length: Duration) -> Duration {
    match length.as_secs() {
        0 => length,
        seconds => Duration::from_secs(seconds),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::gate::verdict::tests::results;
    use crate::gate::{GateEnding, GateVerdict, NotRun, OnFailure};

    #[test]
    fn sentences() {
        use OnFailure::{Retry, Warn};
        let sentence = |gates: &[(&str, OnFailure, GateEnding)]| {
            super::verdict(&crate::gate::verdict("abc", results(gates)))
        };
        for (gates, words) in [
            (
                vec![("build", Retry, GateEnding::Code(0)), ("test", Retry, GateEnding::Code(0))],
                "build and test passed",
            ),
            (
                vec![("build", Retry, GateEnding::Code(0)), ("lint", Warn, GateEnding::Code(1))],
                "build passed; lint did not and only warns",
            ),
            (vec![("lint", Warn, GateEnding::Code(1))], "lint did not pass and only warns"),
            (
                vec![("build", Retry, GateEnding::Code(0)), ("test", Retry, GateEnding::TimedOut)],
                "the gate test did not pass: not done after 10m",
            ),
            (vec![("test", Retry, GateEnding::Cancelled)], "the gates did not end: the run was stopped"),
        ] {
            assert_eq!(sentence(&gates), words);
        }
        for (why, words) in [
            (NotRun::Disabled, "no gate ran: quality.enabled is false"),
            (NotRun::NoneFound, "no gate ran: none is configured, and the project shows none"),
            (NotRun::Unwanted, "no gate ran, as it was wanted"),
        ] {
            assert_eq!(super::verdict(&GateVerdict::NotRun { sha: "abc".to_owned(), why }), words);
        }
    }

    #[test]
    fn lines() {
        let mut one = results(&[("test", OnFailure::Retry, GateEnding::Code(0))]).remove(0);
        assert_eq!(super::result(&one), "test passed after 3s");
        one.attempts = 2;
        one.duration = Duration::from_millis(90_400);
        one.changed = vec!["a".to_owned()];
        assert_eq!(
            super::result(&one),
            "test passed at attempt 2 after 1m30s; it changed a file under version control, which is as before again"
        );
        let two = results(&[("lint", OnFailure::Warn, GateEnding::Code(1))]).remove(0);
        assert_eq!(super::result(&two), "lint failed, exit code 1 after 3s, only a warning");
        assert_eq!(super::skipped(&two), "not tried, since lint did not pass");
    }
}
