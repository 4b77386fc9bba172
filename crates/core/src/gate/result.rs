//! What became of one gate.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::excerpt::{EXCERPT_LIMIT, excerpt};
use super::{Gate, GateKind, OnFailure, Percent, Policy, coverage, words};

/// How one attempt of a gate's command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The kernel ended it for want of memory.
    Memory,
    /// It took too long and was ended.
    TimedOut,
    /// It did not start, and why.
    NotStarted(String),
    /// The run was stopped.
    Cancelled,
    /// Nobody knows.
    Lost,
}

/// One attempt of a gate's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// What it printed, on both streams; of much the beginning and the end.
    pub output: String,
    /// How long it took.
    pub duration: Duration,
}

/// What an ending means. Only one of them is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It was not done in time.
    TimedOut,
    /// It could not be started, or a command in it could not.
    NotStarted,
    /// It was not tried, since another one before it did not pass.
    Skipped,
    /// The run was stopped before it ended.
    Cancelled,
}

impl Status {
    /// The name as it is reported.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::TimedOut => "timed_out",
            Status::NotStarted => "not_started",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
        }
    }
}

/// What became of one gate, on one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateResult {
    /// The gate.
    pub gate: Gate,
    /// What follows when it did not pass.
    pub action: OnFailure,
    /// What its ending means.
    pub status: Status,
    /// Why, as a fragment; empty for a pass without anything to say.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How long all attempts took.
    pub duration: Duration,
    /// The exit code of the last attempt.
    pub exit_code: Option<i32>,
    /// The coverage it told.
    pub coverage: Option<Percent>,
    /// What of its output helps to mend it; empty for a pass.
    pub output: String,
    /// Files under version control that it changed; they are as before again.
    pub changed: Vec<String>,
}

impl GateResult {
    /// Judges the last of so many attempts that took so long together.
    pub fn of(gate: &Gate, policy: &Policy, attempts: u32, duration: Duration, ran: &Ran) -> GateResult {
        let judged = judge(gate, ran);
        let output = match judged.status {
            Status::Passed => String::new(),
            Status::Failed | Status::TimedOut | Status::NotStarted | Status::Skipped | Status::Cancelled => {
                excerpt(&ran.output, EXCERPT_LIMIT)
            }
        };
        GateResult {
            gate: gate.clone(),
            action: gate.action(policy),
            status: judged.status,
            reason: judged.reason,
            attempts,
            duration,
            exit_code: match ran.ending {
                Ending::Code(code) => Some(code),
                Ending::Signal(_)
                | Ending::Memory
                | Ending::TimedOut
                | Ending::NotStarted(_)
                | Ending::Cancelled
                | Ending::Lost => None,
            },
            coverage: judged.coverage,
            output,
            changed: Vec::new(),
        }
    }

    /// A gate that was not tried: another one did not pass, or the run was stopped.
    pub fn untried(gate: &Gate, policy: &Policy, status: Status, reason: String) -> GateResult {
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

    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.status == Status::Passed
    }

    /// Whether it holds its commit up.
    pub fn holds_up(&self) -> bool {
        !self.passed() && self.action != OnFailure::Warn
    }

    /// Whether another attempt may help and is allowed. What is not there will not be there in five seconds.
    pub fn is_worth_another_attempt(&self) -> bool {
        let may_help = match self.status {
            Status::Failed | Status::TimedOut => true,
            Status::Passed | Status::NotStarted | Status::Skipped | Status::Cancelled => false,
        };
        may_help && self.attempts <= self.gate.max_retries
    }

    /// Whether those behind it need not be tried: the run fails whatever they say, or they would only say the same.
    pub fn ends_the_round(&self) -> bool {
        self.holds_up() && (self.action == OnFailure::Fail || self.gate.kind == GateKind::Build)
    }

    /// The result as it is reported.
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
    status: Status,
    reason: String,
    coverage: Option<Percent>,
}

fn judge(gate: &Gate, ran: &Ran) -> Judged {
    let plain = |status, reason| Judged { status, reason, coverage: None };
    match &ran.ending {
        Ending::Code(0) => measured(gate, &ran.output),
        // What a shell says when it finds no such program, or may not run it.
        Ending::Code(code @ (126 | 127)) => plain(Status::NotStarted, words::no_command(*code)),
        Ending::Code(code) => plain(Status::Failed, format!("exit code {code}")),
        Ending::Signal(signal) => plain(Status::Failed, format!("ended by signal {signal}")),
        Ending::Memory => plain(Status::Failed, words::no_memory()),
        Ending::TimedOut => plain(Status::TimedOut, words::too_long(gate.timeout)),
        Ending::NotStarted(why) => plain(Status::NotStarted, why.clone()),
        Ending::Cancelled => plain(Status::Cancelled, "the run was stopped".to_owned()),
        Ending::Lost => plain(Status::Failed, "nobody knows how it ended".to_owned()),
    }
}

/// A command that ended well passes, unless it was to measure something.
fn measured(gate: &Gate, output: &str) -> Judged {
    let Some(threshold) = gate.threshold else {
        return Judged { status: Status::Passed, reason: String::new(), coverage: None };
    };
    match coverage(output) {
        None => Judged { status: Status::Failed, reason: words::no_coverage(threshold), coverage: None },
        Some(found) => Judged {
            status: if found.percent >= threshold { Status::Passed } else { Status::Failed },
            reason: words::coverage(found, threshold),
            coverage: Some(found.percent),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Ending, GateResult, Ran, Status};
    use crate::gate::{Gate, GateKind, OnFailure, Percent, Policy};

    fn ran(ending: Ending, output: &str) -> Ran {
        Ran { ending, output: output.to_owned(), duration: Duration::from_secs(1) }
    }

    fn result(gate: &Gate, ending: Ending, output: &str) -> GateResult {
        GateResult::of(gate, &Policy::default(), 1, Duration::from_secs(1), &ran(ending, output))
    }

    #[test]
    fn only_an_end_without_complaint_is_a_pass() {
        let gate = Gate::new("test", GateKind::Test, "cargo test");
        for (ending, status, reason) in [
            (Ending::Code(0), Status::Passed, ""),
            (Ending::Code(1), Status::Failed, "exit code 1"),
            (Ending::Code(127), Status::NotStarted, "a command was not found (exit code 127)"),
            (Ending::Code(126), Status::NotStarted, "a command could not be run (exit code 126)"),
            (Ending::Signal(11), Status::Failed, "ended by signal 11"),
            (Ending::Memory, Status::Failed, "the kernel ended it for want of memory"),
            (Ending::TimedOut, Status::TimedOut, "not done after 10m"),
            (Ending::NotStarted("no sh".to_owned()), Status::NotStarted, "no sh"),
            (Ending::Cancelled, Status::Cancelled, "the run was stopped"),
            (Ending::Lost, Status::Failed, "nobody knows how it ended"),
        ] {
            let result = result(&gate, ending.clone(), "error: x\n");
            assert_eq!((result.status, result.reason.as_str()), (status, reason), "{ending:?}");
            assert_eq!(result.output.is_empty(), status == Status::Passed, "{ending:?}");
            assert_eq!(result.holds_up(), status != Status::Passed, "{ending:?}");
        }
    }

    #[test]
    fn coverage_that_nobody_told_is_no_pass() {
        let gate = Gate {
            threshold: Percent::parse("80"),
            ..Gate::new("coverage", GateKind::Coverage, "make cover")
        };
        for (output, code, status, reason) in [
            ("coverage: 80.0% of statements", 0, Status::Passed, "coverage 80%"),
            ("coverage: 79.9% of statements", 0, Status::Failed, "coverage 79.9% is below 80%"),
            (
                "coverage: 90% of a\ncoverage: 10% of b",
                0,
                Status::Failed,
                "coverage 10%, the lowest of 2 figures, is below 80%",
            ),
            ("all is well", 0, Status::Failed, "no coverage figure in the output, and 80% is wanted"),
            ("coverage: 99%", 1, Status::Failed, "exit code 1"),
        ] {
            let result = result(&gate, Ending::Code(code), output);
            assert_eq!((result.status, result.reason.as_str()), (status, reason), "{output}");
        }
    }

    #[test]
    fn another_attempt_only_where_it_may_help() {
        let gate = Gate { max_retries: 1, ..Gate::new("test", GateKind::Test, "x") };
        let policy = Policy::default();
        for (ending, attempts, again) in [
            (Ending::Code(1), 1, true),
            (Ending::Code(1), 2, false),
            (Ending::TimedOut, 1, true),
            (Ending::Code(127), 1, false),
            (Ending::Code(0), 1, false),
            (Ending::Cancelled, 1, false),
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
            let result = result(gate, Ending::Code(1), "");
            assert_eq!((result.action, result.holds_up(), result.ends_the_round()), (action, holds_up, ends));
        }
    }
}
