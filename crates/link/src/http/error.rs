//! The ways a request can fail.

use std::error::Error;

use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use reqwest::{StatusCode, Url};

use super::reply::first_line;
use super::{HeldBack, HttpReply};
use crate::time::format_rfc3339;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection; nothing was sent.
    #[error("reach {host}: {detail}; check the network, the proxy and the address")]
    Unreachable { host: String, detail: String },
    /// The request may have arrived, but no complete reply came back.
    #[error("get a reply from {host}: {detail}")]
    Lost { host: String, detail: String },
    /// A rate limit of the service; the request was not carried out.
    #[error("send before {}: {}", format_rfc3339(*until), limit.reason())]
    RateLimited { until: Timestamp, limit: HeldBack },
    #[error("follow a redirect (status {}): redirects are not followed here", status.as_u16())]
    Redirected { status: StatusCode, to: Option<Url> },
    /// A complete reply whose status is an error.
    #[error("get a success: status {}: {}", reply.status.as_u16(), reply.message())]
    Refused { reply: Box<HttpReply> },
    #[error("read a reply of {host}: it has more than {limit} bytes")]
    TooLarge { host: String, limit: usize },
    /// A success whose body cannot be parsed.
    #[error("parse a reply of {host}: {detail}; is a proxy or a login page in between?")]
    Malformed { host: String, detail: String },
}

impl HttpError {
    /// Whether the request may have been carried out all the same.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::TooLarge { .. } | Self::Malformed { .. } => true,
            Self::Refused { reply } => reply.status.is_server_error(),
            Self::Unreachable { .. } | Self::RateLimited { .. } | Self::Redirected { .. } => false,
        }
    }

    /// Whether a retry soon may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Malformed { .. } => true,
            Self::Refused { reply } => matches!(reply.status.as_u16(), 408 | 500 | 502 | 503 | 504),
            Self::RateLimited { .. } | Self::Redirected { .. } | Self::TooLarge { .. } => false,
        }
    }
}

/// Only a failure to connect proves that nothing was sent.
pub(super) fn convert_error(error: reqwest::Error, host: String, secrets: &Secrets) -> HttpError {
    let unsent = error.is_connect() || error.is_builder();
    let detail = secrets.redact(&describe_causes(&error.without_url()));
    if unsent { HttpError::Unreachable { host, detail } } else { HttpError::Lost { host, detail } }
}

/// The causes of an error, outermost first, each named once.
pub(super) fn describe_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    first_line(&text)
}
