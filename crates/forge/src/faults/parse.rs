//! Validation of a plan while it is parsed, so that errors have a line and column.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::fault::{Fault, Reason};
use super::plan::Rule;
use crate::api;
use crate::server::RouteKind;

/// The longest delay and CI run: ten minutes.
const MOST_MILLIS: u64 = 600_000;

/// The largest clock offset: ten years.
const MOST_SKEW: u64 = 10 * 365 * 86_400_000;

/// A rule as written, with the fields of all faults.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    #[serde(default)]
    method: Option<String>,
    route: String,
    #[serde(default, deserialize_with = "calls")]
    calls: Vec<u64>,
    fault: FaultName,
    #[serde(default)]
    ms: Option<u64>,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    reason: Option<Reason>,
    #[serde(default)]
    retry_after: Option<u64>,
    #[serde(default)]
    by: Option<i64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultName {
    Refuse,
    LoseReply,
    Delay,
    ResetMidBody,
    TruncatedJson,
    Html,
    Status,
    StaleRead,
    WithoutNewest,
    PageDrift,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error("no route has the pattern {0:?}; GET /_forge/requests shows the patterns")]
    Route(String),
    #[error("the fault `{fault}` needs the field `{field}`")]
    Missing { fault: String, field: &'static str },
    #[error("the fault `{fault}` has no field `{field}`")]
    UnknownField { fault: String, field: &'static str },
    #[error("{0} is not an HTTP status")]
    Status(u16),
    #[error("the status {0} is not a failure; use 301, 401, 403, 404, 409, 410, 422, 429 or 500 to 599")]
    NotAFailure(u16),
    #[error("the time is more than {MOST_MILLIS} milliseconds")]
    TooLong,
}

impl TryFrom<RawRule> for Rule {
    type Error = RuleError;

    fn try_from(mut written: RawRule) -> Result<Rule, RuleError> {
        let fault = written.fault()?;
        if let Some(field) = written.unused_field() {
            return Err(RuleError::UnknownField { fault: fault.name(), field });
        }
        let rule = Rule { method: written.method, route: written.route, calls: written.calls, fault };
        let faulty = |kind: RouteKind| matches!(kind, RouteKind::Api | RouteKind::Git);
        let mut routes = api::ROUTES.iter().flat_map(|routes| routes.iter());
        if routes.any(|route| faulty(route.kind) && rule.matches(route.method, route.pattern)) {
            Ok(rule)
        } else {
            Err(RuleError::Route(rule.route))
        }
    }
}

impl RawRule {
    /// Takes the fault with its fields.
    fn fault(&mut self) -> Result<Fault, RuleError> {
        Ok(match self.fault {
            FaultName::Refuse => Fault::Refuse,
            FaultName::LoseReply => Fault::LoseReply,
            FaultName::Delay => {
                let ms = required("delay", "ms", self.ms.take())?;
                if ms > MOST_MILLIS {
                    return Err(RuleError::TooLong);
                }
                Fault::Delay { ms }
            }
            FaultName::ResetMidBody => Fault::ResetMidBody,
            FaultName::TruncatedJson => Fault::TruncatedJson,
            FaultName::Html => {
                let status = required("html", "status", self.status.take())?;
                if !(200..=599).contains(&status) {
                    return Err(RuleError::Status(status));
                }
                Fault::Html { status }
            }
            FaultName::Status => Fault::Status {
                status: failure(required("status", "status", self.status.take())?)?,
                reason: self.reason.take().unwrap_or_default(),
                retry_after: self.retry_after.take(),
            },
            FaultName::StaleRead => Fault::StaleRead,
            FaultName::WithoutNewest => Fault::WithoutNewest,
            FaultName::PageDrift => Fault::PageDrift { by: required("page_drift", "by", self.by.take())? },
        })
    }

    /// A field that the fault does not have.
    fn unused_field(&self) -> Option<&'static str> {
        let fields = [
            ("ms", self.ms.is_some()),
            ("status", self.status.is_some()),
            ("reason", self.reason.is_some()),
            ("retry_after", self.retry_after.is_some()),
            ("by", self.by.is_some()),
        ];
        fields.into_iter().find(|(_, given)| *given).map(|(field, _)| field)
    }
}

fn required<T>(fault: &str, field: &'static str, value: Option<T>) -> Result<T, RuleError> {
    value.ok_or_else(|| RuleError::Missing { fault: fault.to_owned(), field })
}

/// Checks that a status is one that clients see as a failure.
fn failure(status: u16) -> Result<u16, RuleError> {
    match status {
        301 | 401 | 403 | 404 | 409 | 410 | 422 | 429 | 500..=599 => Ok(status),
        100..=499 => Err(RuleError::NotAFailure(status)),
        _ => Err(RuleError::Status(status)),
    }
}

pub(super) fn calls<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let calls = Vec::<u64>::deserialize(from)?;
    if calls.contains(&0) {
        return Err(D::Error::custom("calls are counted from 1"));
    }
    Ok(calls)
}

pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let ms = u64::deserialize(from)?;
    if ms > MOST_MILLIS {
        return Err(D::Error::custom(RuleError::TooLong));
    }
    Ok(ms)
}

pub(super) fn skew<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let ms = i64::deserialize(from)?;
    if ms.unsigned_abs() > MOST_SKEW {
        return Err(D::Error::custom("the clock is off by more than ten years"));
    }
    Ok(ms)
}
