//! What went wrong on the wire, and whether anything was sent.

use std::error::Error;

use pilot_core::redact::Secrets;

use super::HttpError;
use super::reply::line;

/// Turns the library's error into ours. Only a failure to connect proves that nothing was sent.
pub(super) fn fault(error: reqwest::Error, host: String, secrets: &Secrets) -> HttpError {
    let unsent = error.is_connect() || error.is_builder();
    let detail = secrets.redact(&detail(&error.without_url()));
    if unsent { HttpError::Unreachable { host, detail } } else { HttpError::Lost { host, detail } }
}

/// The causes of an error, outermost first, each said once.
pub(super) fn detail(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        cause = error.source();
    }
    line(&said)
}
