//! GitHub's error replies.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{CallFault, Forbidden, InvalidField};
use crate::http::HttpReply;

/// Fields beyond this are left out.
const MAX_FIELDS: usize = 10;

/// The reason behind an error reply, where GitHub tells more than its status.
pub(super) fn read_refusal(reply: &HttpReply) -> Option<CallFault> {
    let message = reply.message();
    match reply.status.as_u16() {
        403 | 451 if message.contains("archived") => Some(CallFault::Archived),
        403 | 451 => Some(read_forbidden(reply, message)),
        422 => Some(CallFault::Validation { message, fields: read_fields(&reply.body) }),
        _ => None,
    }
}

/// Whether GitHub replied that what was to be created exists already.
pub(super) fn is_already_exists(why: &CallFault) -> bool {
    let CallFault::Validation { message, fields } = why else { return false };
    let matches = |text: &str| text.to_ascii_lowercase().contains("already exists");
    matches(message) || fields.iter().any(|field| field.code == "already_exists" || matches(&field.message))
}

fn read_forbidden(reply: &HttpReply, message: String) -> CallFault {
    let lower = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let reason = if reply.header("x-github-sso").is_some() || has(&["saml", "single sign-on"]) {
        Forbidden::SingleSignOn
    } else if has(&["ip allow list", "ip address"]) {
        Forbidden::Address
    } else if has(&["not accessible", "must have", "permission", "rights", "scope", "write access"]) {
        Forbidden::Permission
    } else {
        Forbidden::Other
    };
    let needs = reply.header("x-accepted-github-permissions").filter(|needs| !needs.is_empty());
    CallFault::Forbidden { reason, message, needs: needs.map(str::to_owned) }
}

/// The `errors` of a 422: objects, or only text.
fn read_fields(body: &[u8]) -> Vec<InvalidField> {
    #[derive(Deserialize)]
    struct BodyWire {
        #[serde(default)]
        errors: Value,
    }
    #[derive(Default, Deserialize)]
    struct FieldWire {
        field: Option<String>,
        code: Option<String>,
        message: Option<String>,
    }
    let Ok(BodyWire { errors }) = serde_json::from_slice(body) else { return Vec::new() };
    let errors = match errors {
        Value::Array(errors) => errors,
        Value::Null => Vec::new(),
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![one],
    };
    let to_field = |value: Value| {
        if let Value::String(message) = value {
            return InvalidField { message, ..InvalidField::default() };
        }
        let wire: FieldWire = serde_json::from_value(value).unwrap_or_default();
        InvalidField {
            field: wire.field.unwrap_or_default(),
            code: wire.code.unwrap_or_default(),
            message: wire.message.unwrap_or_default(),
        }
    };
    errors.into_iter().take(MAX_FIELDS).map(to_field).collect()
}
