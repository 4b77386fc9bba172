//! What all gates together say about one commit.

use serde_json::{Value as Json, json};

use super::choose::NotRun;
use super::result::{GateResult, Status};
use super::words;

/// What ran, and on which commit. Only [`verdict`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    sha: String,
    results: Vec<GateResult>,
}

/// What all gates together say about one commit, and about no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every gate that may hold a commit up passed.
    Passed(Evidence),
    /// One that may hold a commit up did not.
    Failed(Evidence),
    /// The run was stopped before all of them ended.
    Unfinished(Evidence),
    /// There was none to run.
    NotRun {
        /// The commit.
        sha: String,
        /// Why.
        why: NotRun,
    },
}

/// Judges a commit by the results of its gates.
pub fn verdict(sha: &str, results: Vec<GateResult>) -> Verdict {
    let evidence = Evidence { sha: sha.to_owned(), results };
    let results = &evidence.results;
    if results.is_empty() {
        return Verdict::NotRun { sha: evidence.sha, why: NotRun::NoneFound };
    }
    if results.iter().any(|result| result.status == Status::Cancelled) {
        return Verdict::Unfinished(evidence);
    }
    if results.iter().any(GateResult::holds_up) {
        Verdict::Failed(evidence)
    } else {
        Verdict::Passed(evidence)
    }
}

impl Verdict {
    /// The commit it is about.
    pub fn sha(&self) -> &str {
        match self {
            Verdict::Passed(evidence) | Verdict::Failed(evidence) | Verdict::Unfinished(evidence) => {
                &evidence.sha
            }
            Verdict::NotRun { sha, .. } => sha,
        }
    }

    /// What became of each gate.
    pub fn results(&self) -> &[GateResult] {
        match self {
            Verdict::Passed(evidence) | Verdict::Failed(evidence) | Verdict::Unfinished(evidence) => {
                &evidence.results
            }
            Verdict::NotRun { .. } => &[],
        }
    }

    /// Whether the gates passed on exactly this commit.
    pub fn passed_at(&self, sha: &str) -> bool {
        matches!(self, Verdict::Passed(evidence) if evidence.sha == sha)
    }

    /// The gates that hold the commit up, without those that were not tried because of them.
    pub fn failures(&self) -> impl Iterator<Item = &GateResult> {
        self.results().iter().filter(|result| result.holds_up() && result.status != Status::Skipped)
    }

    /// The gates that did not pass and only warn.
    pub fn warnings(&self) -> impl Iterator<Item = &GateResult> {
        self.results().iter().filter(|result| !result.passed() && !result.holds_up())
    }

    /// The verdict in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Verdict::Passed(_) => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Unfinished(_) => "unfinished",
            Verdict::NotRun { .. } => "not_run",
        }
    }

    /// The verdict as it is reported.
    pub fn json(&self) -> Json {
        json!({
            "verdict": self.as_str(),
            "sha": self.sha(),
            "reason": words::verdict(self),
            "results": self.results().iter().map(GateResult::json).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::{Verdict, verdict};
    use crate::gate::{Ending, Gate, GateKind, GateResult, NotRun, OnFailure, Policy, Ran, Status};

    /// Results of gates by name, action and ending.
    pub(crate) fn results(gates: &[(&str, OnFailure, Ending)]) -> Vec<GateResult> {
        let result = |(name, action, ending): &(&str, OnFailure, Ending)| {
            let gate = Gate {
                on_failure: Some(*action),
                failure_hint: Some(format!("look at {name}")),
                ..Gate::new(*name, GateKind::of_name(name), format!("make {name}"))
            };
            let ran = Ran {
                ending: ending.clone(),
                output: format!("error: {name} is broken\n"),
                duration: Duration::from_secs(3),
            };
            GateResult::of(&gate, &Policy::default(), 1, Duration::from_secs(3), &ran)
        };
        gates.iter().map(result).collect()
    }

    #[test]
    fn one_that_did_not_pass_is_enough() {
        use OnFailure::{Fail, Retry, Warn};
        for (gates, word) in [
            (vec![("build", Retry, Ending::Code(0)), ("lint", Warn, Ending::Code(0))], "passed"),
            (vec![("build", Retry, Ending::Code(0)), ("lint", Warn, Ending::Code(1))], "passed"),
            (vec![("lint", Warn, Ending::TimedOut), ("x", Warn, Ending::Code(127))], "passed"),
            (vec![("build", Retry, Ending::Code(1)), ("lint", Warn, Ending::Code(0))], "failed"),
            (vec![("test", Retry, Ending::TimedOut)], "failed"),
            (vec![("test", Fail, Ending::NotStarted("x".to_owned()))], "failed"),
            (vec![("test", Retry, Ending::Code(127))], "failed"),
            (vec![("test", Retry, Ending::Lost)], "failed"),
            (vec![("build", Retry, Ending::Code(1)), ("test", Retry, Ending::Cancelled)], "unfinished"),
            (vec![("lint", Warn, Ending::Cancelled)], "unfinished"),
            (vec![], "not_run"),
        ] {
            let verdict = verdict("abc", results(&gates));
            assert_eq!(verdict.as_str(), word, "{gates:?}");
            assert_eq!(verdict.passed_at("abc"), word == "passed", "{gates:?}");
            assert!(!verdict.passed_at("abd"), "a later commit is another one");
        }
        let none = verdict("abc", Vec::new());
        assert_eq!(none, Verdict::NotRun { sha: "abc".to_owned(), why: NotRun::NoneFound });
    }

    #[test]
    fn failures_and_warnings_are_told_apart() {
        let mut all = results(&[
            ("build", OnFailure::Retry, Ending::Code(1)),
            ("lint", OnFailure::Warn, Ending::Code(1)),
        ]);
        let test = Gate::new("test", GateKind::Test, "x");
        all.push(GateResult::untried(&test, &Policy::default(), Status::Skipped, "not tried".to_owned()));
        let verdict = verdict("abc", all);
        let names = |results: Vec<&GateResult>| -> Vec<String> {
            results.iter().map(|result| result.gate.name.clone()).collect()
        };
        assert_eq!(names(verdict.failures().collect()), ["build"]);
        assert_eq!(names(verdict.warnings().collect()), ["lint"]);
        let json = verdict.json();
        assert_eq!((&json["verdict"], &json["sha"]), (&"failed".into(), &"abc".into()));
        assert_eq!(json["results"][2]["status"], "skipped");
    }
}
