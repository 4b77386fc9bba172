//! The plan as it is written: JSON.

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::written::{self, WrittenRule};

/// What goes wrong, and when. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// By how many milliseconds the forge's clock is off.
    #[serde(deserialize_with = "written::skew")]
    pub(crate) clock_skew_ms: i64,
    /// Faults of calls.
    pub(crate) rules: Vec<Rule>,
    /// Faults of webhooks.
    pub(crate) webhooks: Vec<HookRule>,
    /// How runs of CI end.
    pub(crate) ci: Vec<CiRule>,
}

/// Why a plan cannot be used: no JSON, none of a plan, or something that cannot be; with its line and column.
#[derive(Debug, thiserror::Error)]
#[error("read the fault plan: {0}")]
pub struct PlanError(#[from] serde_json::Error);

impl Plan {
    /// Reads a plan.
    pub fn parse(json: &str) -> Result<Plan, PlanError> {
        Ok(serde_json::from_str(json)?)
    }

    /// By how many microseconds the clock is off.
    pub(crate) fn skew(&self) -> i64 {
        self.clock_skew_ms.saturating_mul(1000)
    }
}

/// A fault of some calls of some routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenRule")]
pub(crate) struct Rule {
    /// The method; none is any.
    pub(crate) method: Option<String>,
    /// The route's pattern, with `*` for any text.
    pub(crate) route: String,
    /// Which calls of it, from 1; none is every call.
    pub(crate) calls: Vec<u64>,
    #[serde(flatten)]
    pub(crate) fault: Fault,
}

impl Rule {
    pub(crate) fn matches(&self, method: &str, pattern: &str) -> bool {
        let same = self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method));
        same && fits(&self.route, pattern)
    }
}

/// A fault of some webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookRule {
    /// The event, with `*` for any text.
    pub(crate) event: String,
    /// Which deliveries of it, from 1; none is every one.
    #[serde(default, deserialize_with = "written::calls")]
    pub(crate) calls: Vec<u64>,
    pub(crate) fault: HookFault,
}

/// What becomes of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookFault {
    /// It never comes.
    Lose,
    /// It comes twice, with one id.
    Duplicate,
    /// It comes behind the next.
    Reorder,
}

/// How some runs of CI end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CiRule {
    /// The branch, with `*` for any text.
    pub(crate) branch: String,
    /// Which runs of it, from 1; none is every one.
    #[serde(default, deserialize_with = "written::calls")]
    pub(crate) calls: Vec<u64>,
    pub(crate) outcome: Outcome,
    /// How long the run takes, in milliseconds.
    #[serde(default, deserialize_with = "written::millis")]
    pub(crate) ms: u64,
}

/// How a run of CI ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Success,
    Failure,
    Cancelled,
    TimedOut,
    /// The machine that ran it was lost, which says nothing about the commit.
    Infrastructure,
}

/// Whether a rule is for the call with this number.
pub(super) fn is_due(calls: &[u64], call: u64) -> bool {
    calls.is_empty() || calls.contains(&call)
}

/// Whether a text fits a pattern with stars.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
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
    use super::{Plan, fits};

    #[test]
    fn stars_stand_for_anything() {
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
            assert_eq!(fits(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn plans_are_read_strictly() {
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
    fn what_cannot_be_is_named_with_its_line() {
        for (bad, expect) in [
            (r#""rules": [{"route": "/nope", "fault": "refuse"}]"#, "no route is called \"/nope\""),
            (
                r#""rules": [{"method": "PUT", "route": "/user", "fault": "refuse"}]"#,
                "no route is called \"/user\"",
            ),
            (
                r#""rules": [{"route": "*", "fault": "status", "status": 999}]"#,
                "no answer has the status 999",
            ),
            (r#""rules": [{"route": "*", "fault": "status", "status": 200}]"#, "200 is no failure"),
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
