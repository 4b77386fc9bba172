//! The ways a call to a service can fail, each with what to do about it, and what each means to the core.

use std::fmt;

use pilot_core::observed::{Failure, FailureKind};
use pilot_core::redact::Secrets;
use pilot_core::text::truncate;
use pilot_core::time::Timestamp;

use crate::http::{HeldBack, HttpError, HttpReply};
use crate::time::format_rfc3339;

const LONGEST_DETAIL: usize = 500;

#[derive(Debug, PartialEq, Eq)]
pub struct Service {
    /// `GitHub`
    pub name: &'static str,
    /// Where it is configured: `adapters.github`.
    pub section: &'static str,
}

/// What a call to a service gives.
pub type Result<T, E = LinkError> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    pub service: &'static Service,
    /// What was attempted, as in "read issue #12 of o/r".
    pub action: String,
    pub why: CallFault,
}

/// Why a call failed. `Unreachable` is also a read whose reply was lost each time; after `RateLimited` nothing was done;
/// an effect that is `Unconfirmed` may have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFault {
    Unreachable { detail: String },
    Unauthorised { message: String },
    Forbidden { reason: Forbidden, message: String, needs: Option<String> },
    NotFound { message: String },
    Archived,
    Renamed { to: Option<String> },
    RateLimited { until: Timestamp, limit: HeldBack },
    Conflict { message: String },
    Validation { message: String, fields: Vec<InvalidField> },
    Refused { status: u16, message: String },
    Server { status: u16, message: String },
    Malformed { detail: String },
    TooMuch { limit: String },
    Unconfirmed { detail: String },
    BadName { name: String },
}

/// What an accepted token is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    Permission,
    SingleSignOn,
    Address,
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvalidField {
    pub field: String,
    pub code: String,
    pub message: String,
}

impl InvalidField {
    fn text(&self) -> String {
        if self.message.is_empty() { format!("{} {}", self.field, self.code) } else { self.message.clone() }
    }
}

impl LinkError {
    pub fn new(service: &'static Service, action: impl Into<String>, why: CallFault) -> Self {
        Self { service, action: action.into(), why }
    }

    pub fn malformed(service: &'static Service, action: &str, detail: impl Into<String>) -> Self {
        Self::new(service, action, CallFault::Malformed { detail: detail.into() })
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Service { name, section } = self.service;
        write!(f, "{}: ", self.action)?;
        match &self.why {
            CallFault::Unreachable { detail } => {
                write!(
                    f,
                    "{detail}; is {name} up, and are the network, the proxy and `{section}.api_url` right?"
                )
            }
            CallFault::Unauthorised { message } => write!(
                f,
                "the token is refused ({message}); create a new one and set it in `{section}.token`"
            ),
            CallFault::Forbidden { reason, message, needs } => {
                write!(f, "not allowed ({message}); {}", reason.fix(needs.as_deref()))
            }
            CallFault::NotFound { message } => write!(
                f,
                "not found ({message}), or the token may not see it; check the name, and that the token may read the repository"
            ),
            CallFault::Archived => {
                f.write_str("the repository is archived; unarchive it, or remove it from the projects")
            }
            CallFault::Renamed { to } => {
                let to = to.as_ref().map_or_else(String::new, |to| format!(" to {to}"));
                write!(f, "the repository was renamed{to}; put the new name into the configuration")
            }
            CallFault::RateLimited { until, limit } => write!(
                f,
                "rate limited until {} ({}); Pilot retries by itself",
                format_rfc3339(*until),
                limit.reason()
            ),
            CallFault::Conflict { message } => {
                write!(f, "in conflict with the current state ({message}); read it again before the next try")
            }
            CallFault::Validation { message, fields } => {
                let fields: String = fields.iter().map(|field| format!("; {}", field.text())).collect();
                write!(f, "refused as invalid ({message}{fields}); change what is sent")
            }
            CallFault::Refused { status, message } => write!(f, "refused with status {status} ({message})"),
            CallFault::Server { status, message } => write!(
                f,
                "{name} failed (status {status}: {message}); try again later, and see its status page"
            ),
            CallFault::Malformed { detail } => {
                write!(f, "{detail}; is `{section}.api_url` the address of an API, and not of web pages?")
            }
            CallFault::TooMuch { limit } => write!(f, "more than {limit}; an incomplete list is not used"),
            CallFault::Unconfirmed { detail } => {
                write!(f, "it may or may not have happened ({detail}); Pilot checks before it repeats it")
            }
            CallFault::BadName { name } => write!(f, "{name:?} is not a valid name here"),
        }
    }
}

impl std::error::Error for LinkError {}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Failure {
        let kind = match &error.why {
            CallFault::Unreachable { .. } => FailureKind::NotSent,
            CallFault::Unauthorised { .. } => FailureKind::Unauthorised,
            CallFault::Forbidden { .. } | CallFault::Archived => FailureKind::Forbidden,
            CallFault::NotFound { .. } => FailureKind::NotFound,
            CallFault::RateLimited { .. } => FailureKind::RateLimited,
            CallFault::Conflict { .. } => FailureKind::Conflict,
            CallFault::Server { .. } | CallFault::Malformed { .. } => FailureKind::Server,
            CallFault::Unconfirmed { .. } => FailureKind::Lost,
            CallFault::Renamed { .. }
            | CallFault::Validation { .. }
            | CallFault::Refused { .. }
            | CallFault::TooMuch { .. }
            | CallFault::BadName { .. } => FailureKind::Refused,
        };
        let retry_at = if let CallFault::RateLimited { until, .. } = error.why { Some(until) } else { None };
        Failure { retry_at, ..failure(kind, &error.to_string()) }
    }
}

/// A failure without secrets, of bounded length: a service's message may quote what we sent.
pub(crate) fn failure(kind: FailureKind, detail: &str) -> Failure {
    Failure::new(kind, truncate(&Secrets::default().redact(detail), LONGEST_DETAIL))
}

impl CallFault {
    /// What a failed request means. `read_refusal` is the adapter's own reading of an error reply, where it has one.
    pub fn from_http(
        error: &HttpError,
        is_effect: bool,
        read_refusal: fn(&HttpReply) -> Option<CallFault>,
    ) -> Self {
        if is_effect && error.may_have_happened() {
            return Self::Unconfirmed { detail: error.to_string() };
        }
        match error {
            HttpError::Unreachable { host, detail } => {
                Self::Unreachable { detail: format!("no connection to {host}: {detail}") }
            }
            HttpError::Lost { host, detail } => {
                Self::Unreachable { detail: format!("no complete reply from {host}: {detail}") }
            }
            HttpError::RateLimited { until, limit } => Self::RateLimited { until: *until, limit: *limit },
            HttpError::Redirected { .. } => Self::Renamed { to: None },
            HttpError::Refused { reply } => read_refusal(reply).unwrap_or_else(|| Self::from_status(reply)),
            HttpError::TooLarge { limit, .. } => Self::TooMuch { limit: format!("{limit} bytes") },
            HttpError::Malformed { detail, .. } => Self::Malformed { detail: detail.clone() },
        }
    }

    fn from_status(reply: &HttpReply) -> Self {
        let message = reply.message();
        match reply.status.as_u16() {
            401 => Self::Unauthorised { message },
            403 | 451 => Self::Forbidden { reason: Forbidden::Other, message, needs: None },
            404 | 410 => Self::NotFound { message },
            409 => Self::Conflict { message },
            422 => Self::Validation { message, fields: Vec::new() },
            status if reply.status.is_server_error() => Self::Server { status, message },
            status => Self::Refused { status, message },
        }
    }

    pub fn bad_name(name: &str) -> Self {
        Self::BadName { name: name.chars().take(100).collect() }
    }
}

impl Forbidden {
    fn fix(self, needs: Option<&str>) -> String {
        match (self, needs) {
            (Self::Permission, Some(needs)) => format!("give the token the permission {needs}"),
            (Self::Permission, None) => {
                "give the token write access to contents, issues and pull requests".to_owned()
            }
            (Self::SingleSignOn, _) => "authorise the token for the organisation's single sign-on".to_owned(),
            (Self::Address, _) => "add this machine's address to the organisation's allow list".to_owned(),
            (Self::Other, _) => "ask an owner of the repository".to_owned(),
        }
    }
}

/// Turns "not found" into none once `confirm` has proved that the container (repository, project) itself is visible: a
/// token that lost its permissions, or a repository that moved, gets the same reply.
pub async fn none_if_absent<T, C>(
    found: Result<T>,
    confirm: impl Future<Output = Result<C>>,
) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(LinkError { why: CallFault::NotFound { .. }, .. }) => confirm.await.map(|_| None),
        Err(error) => Err(error),
    }
}
