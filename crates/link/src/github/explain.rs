//! What an answer that is no success means.

use serde::Deserialize;
use serde_json::Value;

use super::{Field, Forbidden, Why};
use crate::http::{HttpError, Reply};

/// Fields beyond this are left out.
const MOST_FIELDS: usize = 10;

/// The reason behind a failed call; a rename is not seen through here. `is_effect`: whether doubt matters.
pub(super) fn why(error: &HttpError, is_effect: bool) -> Why {
    if is_effect && error.leaves_doubt() {
        return Why::Unknown { detail: error.to_string() };
    }
    match error {
        HttpError::Unreachable { host, detail } => {
            Why::Unreachable { detail: format!("no connection to {host}: {detail}") }
        }
        HttpError::Lost { host, detail } => {
            Why::Unreachable { detail: format!("no whole answer from {host}: {detail}") }
        }
        HttpError::Held { until, why } => Why::RateLimited { until: *until, hold: *why },
        HttpError::Moved { .. } => Why::Renamed { to: None },
        HttpError::Refused { reply } => refusal(reply),
        HttpError::TooLarge { limit, .. } => Why::TooMuch { limit: format!("{limit} bytes") },
        HttpError::Malformed { detail, .. } => Why::Malformed { detail: detail.clone() },
    }
}

fn refusal(reply: &Reply) -> Why {
    let message = reply.message();
    match reply.status.as_u16() {
        401 => Why::Unauthorised { message },
        403 | 451 if message.contains("archived") => Why::Archived,
        403 | 451 => forbidden(reply, message),
        404 | 410 => Why::NotFound { message },
        409 => Why::Conflict { message },
        422 => Why::Validation { message, fields: fields(&reply.body) },
        status if reply.status.is_server_error() => Why::Server { status, message },
        status => Why::Refused { status, message },
    }
}

fn forbidden(reply: &Reply, message: String) -> Why {
    let lower = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let reason = if reply.header("x-github-sso").is_some() || has(&["saml", "single sign-on"]) {
        Forbidden::SingleSignOn
    } else if has(&["ip allow list", "ip address"]) {
        Forbidden::Address
    } else if has(&["not accessible", "must have", "permission", "rights", "scope", "write access"]) {
        Forbidden::Rights
    } else {
        Forbidden::Other
    };
    let named = reply.header("x-accepted-github-permissions").filter(|named| !named.is_empty());
    Why::Forbidden { reason, message, needs: named.map(str::to_owned) }
}

/// The `errors` of a 422: objects, or only words.
fn fields(body: &[u8]) -> Vec<Field> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        errors: Value,
    }
    #[derive(Default, Deserialize)]
    struct Wire {
        resource: Option<String>,
        field: Option<String>,
        code: Option<String>,
        message: Option<String>,
    }
    let Ok(Body { errors }) = serde_json::from_slice(body) else { return Vec::new() };
    let all = match errors {
        Value::Array(all) => all,
        Value::Null => Vec::new(),
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![one],
    };
    let field = |value: Value| {
        if let Value::String(message) = value {
            return Field { message, ..Field::default() };
        }
        let wire: Wire = serde_json::from_value(value).unwrap_or_default();
        Field {
            resource: wire.resource.unwrap_or_default(),
            field: wire.field.unwrap_or_default(),
            code: wire.code.unwrap_or_default(),
            message: wire.message.unwrap_or_default(),
        }
    };
    all.into_iter().take(MOST_FIELDS).map(field).collect()
}
