//! The serde types on both sides of a worker's pipe, and how a run ended by them.

use serde::{Deserialize, Serialize};

use crate::budget::Shortage;
use crate::fact::{Gate, LONGEST_REASON, RunEnding, RunFailure, Work};
use crate::gate::{GateResult, GateStatus};
use crate::id::Sha;
use crate::outcome::{Class, RunStatus};
use crate::progress::ShownPhase;
use crate::route::Route;
use crate::stream::Usage;
use crate::text::truncate;
use crate::time::Timestamp;

/// The object of `pilot task --json`. Its field names are used from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    pub task: String,
    pub run: String,
    pub status: RunStatus,
    pub class: Option<Class>,
    pub reason: String,
    pub branch: Option<String>,
    pub base_sha: Option<Sha>,
    pub commit_sha: Option<Sha>,
    pub commits: u64,
    pub files_changed: u64,
    pub route: Route,
    pub attempts: u64,
    /// None when no gates were wanted.
    pub gates: Option<Vec<GateReport>>,
    /// The first line of the review.
    pub review: Option<String>,
    pub usage: Usage,
    pub progress: u8,
    pub phase: String,
    pub final_message: String,
    pub duration_ms: u64,
    pub pr_number: Option<u64>,
    pub pr_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    pub name: String,
    pub status: ReportedStatus,
    pub attempts: u32,
    pub duration_ms: u64,
}

/// A gate that could not start is reported as failed, one that was cancelled as skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    Passed,
    Failed,
    TimedOut,
    Skipped,
}

impl ReportedStatus {
    pub fn words(self) -> &'static str {
        match self {
            ReportedStatus::Passed => "passed",
            ReportedStatus::Failed => "failed",
            ReportedStatus::TimedOut => "timed out",
            ReportedStatus::Skipped => "skipped",
        }
    }
}

impl From<&GateResult> for GateReport {
    fn from(result: &GateResult) -> GateReport {
        GateReport {
            name: result.gate.name.clone(),
            status: match result.status {
                GateStatus::Passed => ReportedStatus::Passed,
                GateStatus::Failed | GateStatus::NotStarted => ReportedStatus::Failed,
                GateStatus::TimedOut => ReportedStatus::TimedOut,
                GateStatus::Skipped | GateStatus::Cancelled => ReportedStatus::Skipped,
            },
            attempts: result.attempts,
            duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunProgress {
    pub phase: ShownPhase,
    pub percent: u8,
    /// The agent's last message without its signals, on one line and cut; empty before the first.
    pub last_message: String,
    /// The cost so far; none when it is unknown.
    pub cost_usd: Option<f64>,
}

/// One line on a worker's standard output. `Result`, `Refused` and `Broken` are last lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerLine {
    Progress(RunProgress),
    /// A warning for the daemon's log.
    Complaint {
        text: String,
    },
    Result {
        result: Box<RunResult>,
        /// When another attempt makes sense, in seconds since 1970.
        not_before: Option<u64>,
        /// The limit of the day or month at which it was stopped.
        shortage: Option<Shortage>,
    },
    /// The budget did not admit the run.
    Refused {
        shortage: Shortage,
    },
    /// The run could not be carried out at all.
    Broken {
        why: String,
        /// Whether the cause may pass without a person.
        passes: bool,
    },
}

impl RunResult {
    /// The delivered work; none without a commit.
    pub fn work(&self) -> Option<Work> {
        let gates = self.gates.iter().flatten();
        let complexity = self.route.complexity;
        Some(Work {
            sha: self.commit_sha.clone()?,
            base: self.base_sha.clone()?,
            gates: gates
                .map(|gate| Gate { name: gate.name.clone(), result: gate.status.words().to_owned() })
                .collect(),
            review: self.review.clone(),
            route: Some(match &self.route.model {
                Some(model) => format!("{complexity}, {model}"),
                None => complexity.to_string(),
            }),
            cost_micro_usd: self.usage.cost_usd.map(|usd| (usd * 1_000_000.0) as u64),
            files_changed: Some(self.files_changed),
        })
    }

    fn ending(&self, not_before: Option<u64>, now: Timestamp) -> RunEnding {
        if self.status == RunStatus::Completed {
            return match self.work() {
                Some(work) => RunEnding::Completed(Box::new(work)),
                None => RunFailure::NoCommit.ending("the run completed and named no commit", now),
            };
        }
        let seconds = not_before.and_then(|seconds| i64::try_from(seconds).ok());
        RunEnding::Stopped {
            class: self.class.unwrap_or(Class::Unknown),
            reason: truncate(&self.reason, LONGEST_REASON).to_owned(),
            again_at: seconds.map(|seconds| Timestamp(seconds.saturating_mul(1_000_000))),
        }
    }
}

/// How a run ended, by the last line of its worker and the worker's exit code (none after a signal).
pub fn run_ending(last: Option<&WorkerLine>, code: Option<i32>, now: Timestamp) -> RunEnding {
    match last {
        Some(WorkerLine::Result { shortage: Some(shortage), .. } | WorkerLine::Refused { shortage }) => {
            RunEnding::OverBudget { shortage: shortage.clone() }
        }
        Some(WorkerLine::Result { result, not_before, shortage: None }) => result.ending(*not_before, now),
        Some(WorkerLine::Broken { why, passes: false }) => RunFailure::Setup.ending(why, now),
        Some(WorkerLine::Broken { why, passes: true }) => RunFailure::Machine.ending(why, now),
        Some(WorkerLine::Progress(_) | WorkerLine::Complaint { .. }) | None => {
            let code = code.map_or("by a signal".to_owned(), |code| format!("with code {code}"));
            RunFailure::Lost.ending(&format!("the worker ended {code} and left no result"), now)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{GateReport, ReportedStatus, RunProgress, RunResult, WorkerLine, run_ending};
    use crate::budget::{Limit, Shortage, Usd};
    use crate::fact::{Gate, LONGEST_REASON, RunEnding, RunFailure, Work};
    use crate::id::Sha;
    use crate::outcome::{Class, RunStatus};
    use crate::phase::Phase;
    use crate::progress::{Activity, ShownPhase};
    use crate::route::{Complexity, Route};
    use crate::stream::Usage;
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp(7);

    fn sha(digit: &str) -> Sha {
        Sha::parse(&digit.repeat(40)).unwrap()
    }

    fn completed() -> RunResult {
        let gate =
            |name: &str, status| GateReport { name: name.to_owned(), status, attempts: 1, duration_ms: 5 };
        RunResult {
            task: "GH-7".to_owned(),
            run: "r".to_owned(),
            status: RunStatus::Completed,
            class: None,
            reason: "1 commit".to_owned(),
            branch: Some("pilot/GH-7".to_owned()),
            base_sha: Some(sha("a")),
            commit_sha: Some(sha("b")),
            commits: 1,
            files_changed: 2,
            route: Route {
                complexity: Complexity::Simple,
                model: Some("opus".to_owned()),
                effort: None,
                timeout: Duration::from_secs(60),
                reasons: Vec::new(),
            },
            attempts: 1,
            gates: Some(vec![gate("test", ReportedStatus::Passed), gate("lint", ReportedStatus::TimedOut)]),
            review: Some("clean".to_owned()),
            usage: Usage { input_tokens: 1, cost_usd: Some(0.25), ..Usage::default() },
            progress: 100,
            phase: "complete".to_owned(),
            final_message: "done".to_owned(),
            duration_ms: 9,
            pr_number: None,
            pr_url: None,
        }
    }

    fn failed(class: Class, reason: &str) -> RunResult {
        RunResult {
            status: RunStatus::of(Some(class)),
            class: Some(class),
            reason: reason.to_owned(),
            ..completed()
        }
    }

    fn line(result: RunResult, not_before: Option<u64>) -> Option<WorkerLine> {
        Some(WorkerLine::Result { result: Box::new(result), not_before, shortage: None })
    }

    fn shortage(has_begun: bool) -> Shortage {
        Shortage {
            limit: Limit::Daily,
            size: Complexity::Medium,
            reserve: Usd::from_micros(1),
            spent: Usd::from_micros(2),
            reserved: Usd::from_micros(3),
            most: Usd::from_micros(4),
            until: Timestamp(5),
            has_begun,
        }
    }

    #[test]
    fn every_last_line_of_a_worker_is_an_ending() {
        let gate = |name: &str, result: &str| Gate { name: name.to_owned(), result: result.to_owned() };
        let work = Work {
            sha: sha("b"),
            base: sha("a"),
            gates: vec![gate("test", "passed"), gate("lint", "timed out")],
            review: Some("clean".to_owned()),
            route: Some("simple, opus".to_owned()),
            cost_micro_usd: Some(250_000),
            files_changed: Some(2),
        };
        let stopped =
            |class, reason: &str, again_at| RunEnding::Stopped { class, reason: reason.to_owned(), again_at };
        let why = || "why".to_owned();
        let lost = |words: &str| RunFailure::Lost.ending(words, NOW);
        let without_commit = RunResult { commit_sha: None, ..completed() };
        for (last, code, expected) in [
            (line(completed(), None), Some(0), RunEnding::Completed(Box::new(work))),
            (
                line(without_commit, None),
                Some(0),
                RunFailure::NoCommit.ending("the run completed and named no commit", NOW),
            ),
            (
                line(failed(Class::RateLimit, "wait"), Some(3)),
                Some(0),
                stopped(Class::RateLimit, "wait", Some(Timestamp(3_000_000))),
            ),
            (
                line(RunResult { class: None, ..failed(Class::Blocked, "no key") }, None),
                Some(0),
                stopped(Class::Unknown, "no key", None),
            ),
            (
                line(failed(Class::Timeout, &"x".repeat(10_000)), None),
                Some(0),
                stopped(Class::Timeout, &"x".repeat(LONGEST_REASON), None),
            ),
            (
                Some(WorkerLine::Refused { shortage: shortage(false) }),
                Some(0),
                RunEnding::OverBudget { shortage: shortage(false) },
            ),
            (
                Some(WorkerLine::Result {
                    result: Box::new(failed(Class::BudgetExceeded, "spent")),
                    not_before: None,
                    shortage: Some(shortage(true)),
                }),
                Some(0),
                RunEnding::OverBudget { shortage: shortage(true) },
            ),
            (
                Some(WorkerLine::Broken { why: why(), passes: false }),
                Some(0),
                RunFailure::Setup.ending("why", NOW),
            ),
            (
                Some(WorkerLine::Broken { why: why(), passes: true }),
                Some(0),
                RunFailure::Machine.ending("why", NOW),
            ),
            (
                Some(WorkerLine::Progress(RunProgress::default())),
                Some(1),
                lost("the worker ended with code 1 and left no result"),
            ),
            (
                Some(WorkerLine::Complaint { text: why() }),
                None,
                lost("the worker ended by a signal and left no result"),
            ),
            (None, None, lost("the worker ended by a signal and left no result")),
        ] {
            assert_eq!(run_ending(last.as_ref(), code, NOW), expected, "{last:?}");
        }
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let phases = [
            ShownPhase::Starting,
            ShownPhase::Guessed(Activity::Testing),
            ShownPhase::Reported(Phase::Impl),
            ShownPhase::Reported(Phase::parse("code review")),
        ];
        let progress = phases.map(|phase| {
            WorkerLine::Progress(RunProgress {
                phase,
                percent: 65,
                last_message: "Working.".to_owned(),
                cost_usd: Some(0.5),
            })
        });
        let others = [
            line(completed(), Some(9)).unwrap(),
            line(failed(Class::NoChanges, "nothing changed"), None).unwrap(),
            WorkerLine::Complaint { text: "x".to_owned() },
            WorkerLine::Refused { shortage: shortage(false) },
            WorkerLine::Broken { why: "x".to_owned(), passes: true },
        ];
        for line in progress.into_iter().chain(others) {
            let text = serde_json::to_string(&line).unwrap();
            assert!(!text.contains('\n'));
            assert_eq!(serde_json::from_str::<WorkerLine>(&text).unwrap(), line, "{text}");
        }
    }

    #[test]
    fn the_result_object_keeps_its_names() {
        let object = serde_json::to_string(&completed()).unwrap();
        assert_eq!(
            object,
            format!(
                "{{\"task\":\"GH-7\",\"run\":\"r\",\"status\":\"completed\",\"class\":null,\"reason\":\"1 commit\",\
                 \"branch\":\"pilot/GH-7\",\"base_sha\":\"{}\",\"commit_sha\":\"{}\",\"commits\":1,\"files_changed\":2,\
                 \"route\":{{\"complexity\":\"simple\",\"model\":\"opus\",\"effort\":null,\"timeout_s\":60,\"reasons\":[]}},\
                 \"attempts\":1,\"gates\":[{{\"name\":\"test\",\"status\":\"passed\",\"attempts\":1,\"duration_ms\":5}},\
                 {{\"name\":\"lint\",\"status\":\"timed_out\",\"attempts\":1,\"duration_ms\":5}}],\"review\":\"clean\",\
                 \"usage\":{{\"input_tokens\":1,\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0,\
                 \"cost_usd\":0.25}},\"progress\":100,\"phase\":\"complete\",\"final_message\":\"done\",\"duration_ms\":9,\
                 \"pr_number\":null,\"pr_url\":null}}",
                "a".repeat(40),
                "b".repeat(40)
            )
        );
        let failed = serde_json::to_value(failed(Class::NoChanges, "x")).unwrap();
        assert_eq!((&failed["status"], &failed["class"]), (&"no_changes".into(), &"no_changes".into()));
    }
}
