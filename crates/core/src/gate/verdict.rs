//! What all gates together say about one commit.

use serde_json::{Value as Json, json};

use super::choose::NotRun;
use super::result::{GateResult, GateStatus};
use super::words;

/// What ran, and on which commit. Only [`verdict`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateEvidence {
    sha: String,
    results: Vec<GateResult>,
}

/// What all gates together say about one commit, and about no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    /// Every gate that may hold a commit up passed.
    Passed(GateEvidence),
    /// One that may hold a commit up did not.
    Failed(GateEvidence),
    /// The run was stopped before all of them ended.
    Unfinished(GateEvidence),
    /// There was none to run.
    NotRun { sha: String, why: NotRun },
}

pub fn verdict(sha: &str, results: Vec<GateResult>) -> GateVerdict {
    let evidence = GateEvidence { sha: sha.to_owned(), results };
    let results = &evidence.results;
    if results.is_empty() {
        return GateVerdict::NotRun { sha: evidence.sha, why: NotRun::NoneFound };
    }
    if results.iter().any(|result| result.status == GateStatus::Cancelled) {
        return GateVerdict::Unfinished(evidence);
    }
    if results.iter().any(GateResult::holds_up) {
        GateVerdict::Failed(evidence)
    } else {
        GateVerdict::Passed(evidence)
    }
}

impl GateVerdict {
    pub fn sha(&self) -> &str {
        match self {
            GateVerdict::Passed(evidence)
            | GateVerdict::Failed(evidence)
            | GateVerdict::Unfinished(evidence) => &evidence.sha,
            GateVerdict::NotRun { sha, .. } => sha,
        }
    }

    pub fn results(&self) -> &[GateResult] {
        match self {
            GateVerdict::Passed(evidence)
            | GateVerdict::Failed(evidence)
            | GateVerdict::Unfinished(evidence) => &evidence.results,
            GateVerdict::NotRun { .. } => &[],
        }
    }

    /// Whether the gates passed on exactly this commit.
    pub fn passed_at(&self, sha: &str) -> bool {
        matches!(self, GateVerdict::Passed(evidence) if evidence.sha == sha)
    }

    /// The gates that hold the commit up, without those that were not tried because of them.
    pub fn failures(&self) -> impl Iterator<Item = &GateResult> {
        self.results().iter().filter(|result| result.holds_up() && result.status != GateStatus::Skipped)
    }

    /// The gates that did not pass and only warn.
    pub fn warnings(&self) -> impl Iterator<Item = &GateResult> {
        self.results().iter().filter(|result| !result.passed() && !result.holds_up())
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            GateVerdict::Passed(_) => "passed",
            GateVerdict::Failed(_) => "failed",
            GateVerdict::Unfinished(_) => "unfinished",
            GateVerdict::NotRun { .. } => "not_run",
        }
    }

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

    use super::{GateVerdict, verdict};
    use crate::gate::{
        Gate, GateEnding, GateKind, GatePolicy, GateResult, GateStatus, NotRun, OnFailure, Ran,
    };

    pub(crate) fn results(gates: &[(&str, OnFailure, GateEnding)]) -> Vec<GateResult> {
        let result = |(name, action, ending): &(&str, OnFailure, GateEnding)| {
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
            GateResult::of(&gate, &GatePolicy::default(), 1, Duration::from_secs(3), &ran)
        };
        gates.iter().map(result).collect()
    }

    #[test]
    fn one_that_did_not_pass_is_enough() {
        use OnFailure::{Fail, Retry, Warn};
        for (gates, word) in [
            (vec![("build", Retry, GateEnding::Code(0)), ("lint", Warn, GateEnding::Code(0))], "passed"),
            (vec![("build", Retry, GateEnding::Code(0)), ("lint", Warn, GateEnding::Code(1))], "passed"),
            (vec![("lint", Warn, GateEnding::TimedOut), ("x", Warn, GateEnding::Code(127))], "passed"),
            (vec![("build", Retry, GateEnding::Code(1)), ("lint", Warn, GateEnding::Code(0))], "failed"),
            (vec![("test", Retry, GateEnding::TimedOut)], "failed"),
            (vec![("test", Fail, GateEnding::NotStarted("x".to_owned()))], "failed"),
            (vec![("test", Retry, GateEnding::Code(127))], "failed"),
            (vec![("test", Retry, GateEnding::Lost)], "failed"),
            (
                vec![("build", Retry, GateEnding::Code(1)), ("test", Retry, GateEnding::Cancelled)],
                "unfinished",
            ),
            (vec![("lint", Warn, GateEnding::Cancelled)], "unfinished"),
            (vec![], "not_run"),
        ] {
            let verdict = verdict("abc", results(&gates));
            assert_eq!(verdict.as_str(), word, "{gates:?}");
            assert_eq!(verdict.passed_at("abc"), word == "passed", "{gates:?}");
            assert!(!verdict.passed_at("abd"), "a later commit is another one");
        }
        let none = verdict("abc", Vec::new());
        assert_eq!(none, GateVerdict::NotRun { sha: "abc".to_owned(), why: NotRun::NoneFound });
    }

    #[test]
    fn failures_and_warnings_are_told_apart() {
        let mut all = results(&[
            ("build", OnFailure::Retry, GateEnding::Code(1)),
            ("lint", OnFailure::Warn, GateEnding::Code(1)),
        ]);
        let test = Gate::new("test", GateKind::Test, "x");
        all.push(GateResult::untried(
            &test,
            &GatePolicy::default(),
            GateStatus::Skipped,
            "not tried".to_owned(),
        ));
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
