//! What became of one gate.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::excerpt::{EXCERPT_LIMIT, excerpt};
use super::{Gate, GateKind, GatePolicy, OnFailure, Percent, coverage, words};
use crate::text::word_enum;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateEnding {
    Code(i32),
    Signal(i32),
    /// The kernel ended it for want of memory.
    Memory,
    TimedOut,
    NotStarted(String),
    Cancelled,
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub ending: GateEnding,
    /// What it printed, on both streams; of much the beginning and the end.
    pub output: String,
    pub duration: Duration,
}

word_enum! {
    /// What an ending means. Only one of them is a pass.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum GateStatus {
        Passed = "passed",
        Failed = "failed",
        TimedOut = "timed_out",
        /// It could not be started, or a command in it could not.
        NotStarted = "not_started",
        /// It was not tried, since another one before it did not pass.
        Skipped = "skipped",
        Cancelled = "cancelled",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateResult {
    pub gate: Gate,
    pub action: OnFailure,
    pub status: GateStatus,
    /// Why, as a fragment; empty for a pass without anything to say.
    pub reason: String,
    pub attempts: u32,
    pub duration: Duration,
    pub exit_code: Option<i32>,
    pub coverage: Option<Percent>,
    /// The part of its output that helps to fix it; empty for a pass.
    pub output: String,
    /// Files under version control that it changed; they are as before again.
    pub changed: Vec<String>,
}

impl GateResult {
    /// Judges the last of so many attempts that took so long together.
    pub fn of(gate: &Gate, policy: &GatePolicy, attempts: u32, duration: Duration, ran: &Ran) -> GateResult {
        let Judged { status, reason, coverage } = judge(gate, ran);
        let passed = status == GateStatus::Passed;
        GateResult {
            attempts,
            duration,
            exit_code: if let GateEnding::Code(code) = ran.ending { Some(code) } else { None },
            coverage,
            output: if passed { String::new() } else { excerpt(&ran.output, EXCERPT_LIMIT) },
            ..GateResult::untried(gate, policy, status, reason)
        }
    }

    /// A gate that was not tried: another one did not pass, or the run was stopped.
    pub fn untried(gate: &Gate, policy: &GatePolicy, status: GateStatus, reason: String) -> GateResult {
        GateResult {
            gate: gate.clone(),
            action: gate.action(policy),
            status,
            reason,
            attempts: 0,
            duration: Duration::ZERO,
            exit_code: None,
            coverage: None,
            output: String::new(),
            changed: Vec::new(),
        }
    }

    pub fn passed(&self) -> bool {
        self.status == GateStatus::Passed
    }

    /// Whether it holds its commit up.
    pub fn holds_up(&self) -> bool {
        !self.passed() && self.action != OnFailure::Warn
    }

    /// Whether another attempt may help and is allowed. What is not there will not be there in five seconds.
    pub fn is_worth_another_attempt(&self) -> bool {
        matches!(self.status, GateStatus::Failed | GateStatus::TimedOut)
            && self.attempts <= self.gate.max_retries
    }

    /// Whether those behind it need not be tried: the run fails whatever they say, or they would only say the same.
    pub fn ends_the_round(&self) -> bool {
        self.holds_up() && (self.action == OnFailure::Fail || self.gate.kind == GateKind::Build)
    }

    pub fn json(&self) -> Json {
        json!({
            "name": self.gate.name,
            "type": self.gate.kind.as_str(),
            "command": self.gate.command,
            "required": self.action != OnFailure::Warn,
            "status": self.status.as_str(),
            "reason": if self.reason.is_empty() { Json::Null } else { json!(self.reason) },
            "attempts": self.attempts,
            "exit_code": self.exit_code,
            "coverage": self.coverage,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "changed": self.changed,
        })
    }
}

struct Judged {
    status: GateStatus,
    reason: String,
    coverage: Option<Percent>,
}

fn judge(gate: &Gate, ran: &Ran) -> Judged {
    let plain = |status, reason| Judged { status, reason, coverage: None };
    match &ran.ending {
        GateEnding::Code(0) => measured(gate, &ran.output),
        // What a shell says when it finds no such program, or may not run it.
        GateEnding::Code(code @ (126 | 127)) => plain(GateStatus::NotStarted, words::no_command(*code)),
        GateEnding::Code(code) => plain(GateStatus::Failed, format!("exit code {code}")),
        GateEnding::Signal(signal) => plain(GateStatus::Failed, format!("ended by signal {signal}")),
        GateEnding::Memory => plain(GateStatus::Failed, words::no_memory()),
        GateEnding::TimedOut => plain(GateStatus::TimedOut, words::too_long(gate.timeout)),
        GateEnding::NotStarted(why) => plain(GateStatus::NotStarted, why.clone()),
        GateEnding::Cancelled => plain(GateStatus::Cancelled, "the run was stopped".to_owned()),
        GateEnding::Lost => plain(GateStatus::Failed, "its exit code was lost".to_owned()),
    }
}

/// A command that ended well passes, unless it was to measure something.
fn measured(gate: &Gate, output: &str) -> Judged {
    let Some(threshold) = gate.threshold else {
        return Judged { status: GateStatus::Passed, reason: String::new(), coverage: None };
    };
    match coverage(output) {
        None => Judged { status: GateStatus::Failed, reason: words::no_coverage(threshold), coverage: None },
        Some(found) => Judged {
            status: if found.percent >= threshold { GateStatus::Passed } else { GateStatus::Failed },
            reason: words::coverage(found, threshold),
            coverage: Some(found.percent),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{GateEnding, GateResult, GateStatus, Ran};
    use crate::gate::{Gate, GateKind, GatePolicy, OnFailure, Percent};

    fn ran(ending: GateEnding, output: &str) -> Ran {
        Ran { ending, output: output.to_owned(), duration: Duration::from_secs(1) }
    }

    fn result(gate: &Gate, ending: GateEnding, output: &str) -> GateResult {
        GateResult::of(gate, &GatePolicy::default(), 1, Duration::from_secs(1), &ran(ending, output))
    }

    #[test]
    fn only_an_end_without_complaint_is_a_pass() {
        let gate = Gate::new("test", GateKind::Test, "cargo test");
        for (ending, status, reason) in [
            (GateEnding::Code(0), GateStatus::Passed, ""),
            (GateEnding::Code(1), GateStatus::Failed, "exit code 1"),
            (GateEnding::Code(127), GateStatus::NotStarted, "a command was not found (exit code 127)"),
            (GateEnding::Code(126), GateStatus::NotStarted, "a command could not be run (exit code 126)"),
            (GateEnding::Signal(11), GateStatus::Failed, "ended by signal 11"),
            (GateEnding::Memory, GateStatus::Failed, "the kernel ended it for want of memory"),
            (GateEnding::TimedOut, GateStatus::TimedOut, "not done after 10m"),
            (GateEnding::NotStarted("no sh".to_owned()), GateStatus::NotStarted, "no sh"),
            (GateEnding::Cancelled, GateStatus::Cancelled, "the run was stopped"),
            (GateEnding::Lost, GateStatus::Failed, "its exit code was lost"),
        ] {
            let result = result(&gate, ending.clone(), "error: x\n");
            assert_eq!((result.status, result.reason.as_str()), (status, reason), "{ending:?}");
            assert_eq!(result.output.is_empty(), status == GateStatus::Passed, "{ending:?}");
            assert_eq!(result.holds_up(), status != GateStatus::Passed, "{ending:?}");
        }
    }

    #[test]
    fn missing_coverage_is_no_pass() {
        let gate = Gate {
            threshold: Percent::parse("80"),
            ..Gate::new("coverage", GateKind::Coverage, "make cover")
        };
        for (output, code, status, reason) in [
            ("coverage: 80.0% of statements", 0, GateStatus::Passed, "coverage 80%"),
            ("coverage: 79.9% of statements", 0, GateStatus::Failed, "coverage 79.9% is below 80%"),
            (
                "coverage: 90% of a\ncoverage: 10% of b",
                0,
                GateStatus::Failed,
                "coverage 10%, the lowest of 2 figures, is below 80%",
            ),
            ("all is well", 0, GateStatus::Failed, "no coverage figure in the output, and 80% is wanted"),
            ("coverage: 99%", 1, GateStatus::Failed, "exit code 1"),
        ] {
            let result = result(&gate, GateEnding::Code(code), output);
            assert_eq!((result.status, result.reason.as_str()), (status, reason), "{output}");
        }
    }

    #[test]
    fn another_attempt_only_where_it_may_help() {
        let gate = Gate { max_retries: 1, ..Gate::new("test", GateKind::Test, "x") };
        let policy = GatePolicy::default();
        for (ending, attempts, again) in [
            (GateEnding::Code(1), 1, true),
            (GateEnding::Code(1), 2, false),
            (GateEnding::TimedOut, 1, true),
            (GateEnding::Code(127), 1, false),
            (GateEnding::Code(0), 1, false),
            (GateEnding::Cancelled, 1, false),
        ] {
            let result = GateResult::of(&gate, &policy, attempts, Duration::ZERO, &ran(ending.clone(), ""));
            assert_eq!(result.is_worth_another_attempt(), again, "{ending:?} {attempts}");
        }
    }

    #[test]
    fn an_advisory_gate_only_warns_and_a_build_that_fails_ends_the_round() {
        let build = Gate::new("build", GateKind::Build, "x");
        let test = Gate::new("test", GateKind::Test, "x");
        let advisory = Gate { required: false, ..build.clone() };
        let warns = Gate { on_failure: Some(OnFailure::Warn), ..build.clone() };
        let fails = Gate { on_failure: Some(OnFailure::Fail), ..test.clone() };
        for (gate, action, holds_up, ends) in [
            (&build, OnFailure::Retry, true, true),
            (&test, OnFailure::Retry, true, false),
            (&advisory, OnFailure::Warn, false, false),
            (&warns, OnFailure::Warn, false, false),
            (&fails, OnFailure::Fail, true, true),
        ] {
            let result = result(gate, GateEnding::Code(1), "");
            assert_eq!((result.action, result.holds_up(), result.ends_the_round()), (action, holds_up, ends));
        }
    }
}
