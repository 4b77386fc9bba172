//! The fault plan and its JSON.

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::parse::{self, RawRule};

/// The faults to inject; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// The offset of the forge's clock.
    #[serde(deserialize_with = "parse::skew")]
    pub(crate) clock_skew_ms: i64,
    pub(crate) rules: Vec<Rule>,
    pub(crate) webhooks: Vec<HookRule>,
    pub(crate) ci: Vec<CiRule>,
}

/// Why a plan cannot be used, with line and column.
#[derive(Debug, thiserror::Error)]
#[error("read the fault plan: {0}")]
pub struct PlanError(#[from] serde_json::Error);

impl Plan {
    pub fn parse(json: &str) -> Result<Plan, PlanError> {
        Ok(serde_json::from_str(json)?)
    }

    /// The clock offset in microseconds.
    pub(crate) fn skew(&self) -> i64 {
        self.clock_skew_ms.saturating_mul(1000)
    }
}

/// A fault for some calls of some routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawRule")]
pub(crate) struct Rule {
    /// `None` matches any method.
    pub(crate) method: Option<String>,
    /// The pattern of the route; `*` matches any text.
    pub(crate) route: String,
    /// The call numbers from 1; empty means every call.
    pub(crate) calls: Vec<u64>,
    #[serde(flatten)]
    pub(crate) fault: Fault,
}

impl Rule {
    pub(crate) fn matches(&self, method: &str, pattern: &str) -> bool {
        let same = self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method));
        same && matches_pattern(&self.route, pattern)
    }
}

/// A fault for some webhook deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookRule {
    /// The event; `*` matches any text.
    pub(crate) event: String,
    /// The delivery numbers from 1; empty means every delivery.
    #[serde(default, deserialize_with = "parse::calls")]
    pub(crate) calls: Vec<u64>,
    pub(crate) fault: HookFault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookFault {
    Lose,
    /// Delivered twice with the same id.
    Duplicate,
    /// Delivered after the next one.
    Reorder,
}

/// A forced outcome for some CI runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CiRule {
    /// The branch; `*` matches any text.
    pub(crate) branch: String,
    /// The run numbers from 1; empty means every run.
    #[serde(default, deserialize_with = "parse::calls")]
    pub(crate) calls: Vec<u64>,
    pub(crate) outcome: Outcome,
    /// The duration of the run in milliseconds.
    #[serde(default, deserialize_with = "parse::millis")]
    pub(crate) ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Success,
    Failure,
    Cancelled,
    TimedOut,
    /// The runner was lost: no result for the commit.
    Infrastructure,
}

/// Whether a rule applies to this call number.
pub(super) fn is_due(calls: &[u64], call: u64) -> bool {
    calls.is_empty() || calls.contains(&call)
}

/// Whether a text matches a pattern with `*`.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.len() >= last.len() && text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{Plan, matches_pattern};

    #[test]
    fn stars_match_any_text() {
        for (pattern, text, expect) in [
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("*", "/a", true),
            ("/repos/*/pulls", "/repos/{owner}/{repo}/pulls", true),
            ("/repos/*/pulls", "/repos/{owner}/{repo}/pulls/{number}", false),
            ("*/pulls/*/merge", "/repos/{owner}/{repo}/pulls/{number}/merge", true),
            ("a*b*c", "abc", true),
            ("a*bc", "abc", true),
            ("ab*bc", "abc", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn unknown_fields_and_values_are_errors() {
        assert!(Plan::parse("{}").is_ok_and(|plan| plan == Plan::default()));
        assert!(Plan::parse(r#"{"rules":[{"route":"*","fault":"refuse"}]}"#).is_ok());
        for bad in [
            "",
            r#"{"rule":[]}"#,
            r#"{"rules":[{"route":"*","fault":"explode"}]}"#,
            r#"{"rules":[{"route":"*","fault":"refuse","call":[1]}]}"#,
            r#"{"rules":[{"route":"*","fault":"delay"}]}"#,
            r#"{"rules":[{"route":"*","fault":"delay","ms":1,"by":1}]}"#,
        ] {
            assert!(Plan::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_name_the_value_and_its_line() {
        for (bad, expect) in [
            (r#""rules": [{"route": "/nope", "fault": "refuse"}]"#, "no route has the pattern \"/nope\""),
            (
                r#""rules": [{"method": "PUT", "route": "/user", "fault": "refuse"}]"#,
                "no route has the pattern \"/user\"",
            ),
            (r#""rules": [{"route": "*", "fault": "status", "status": 999}]"#, "999 is not an HTTP status"),
            (r#""rules": [{"route": "*", "fault": "status", "status": 200}]"#, "200 is not a failure"),
            (r#""rules": [{"route": "*", "fault": "refuse", "ms": 1}]"#, "`refuse` has no field `ms`"),
            (r#""rules": [{"route": "*", "fault": "page_drift"}]"#, "`page_drift` needs the field `by`"),
            (r#""rules": [{"route": "*", "fault": "delay", "ms": 600001}]"#, "more than 600000 milliseconds"),
            (r#""rules": [{"route": "*", "fault": "refuse", "calls": [0]}]"#, "counted from 1"),
            (
                r#""ci": [{"branch": "*", "outcome": "success", "ms": 600001}]"#,
                "more than 600000 milliseconds",
            ),
            (r#""webhooks": [{"event": "*", "fault": "lose", "calls": [0]}]"#, "counted from 1"),
            (r#""clock_skew_ms": 400000000000"#, "more than ten years"),
        ] {
            let error = Plan::parse(&format!("{{\n  {bad}}}")).unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("at line 2 column"), "{bad}: {error}");
        }
    }
}
