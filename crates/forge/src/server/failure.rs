//! Failures in GitHub's format: a status, a message, and the invalid fields.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::git::GitError;
use crate::server::reply::Reply;

const DOCUMENTATION: &str = "https://docs.github.com/rest";

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct FieldError {
    resource: &'static str,
    field: &'static str,
    code: &'static str,
    message: Option<String>,
    value: Option<Value>,
}

impl FieldError {
    /// `code` is GitHub's: `missing_field`, `invalid`, `already_exists`.
    pub(crate) fn new(resource: &'static str, field: &'static str, code: &'static str) -> FieldError {
        FieldError { resource, field, code, message: None, value: None }
    }

    /// An invalid field with a message.
    pub(crate) fn custom(
        resource: &'static str,
        field: &'static str,
        message: impl Into<String>,
    ) -> FieldError {
        FieldError { message: Some(message.into()), ..FieldError::new(resource, field, "custom") }
    }

    pub(crate) fn with_value(self, value: impl Into<Value>) -> FieldError {
        FieldError { value: Some(value.into()), ..self }
    }

    fn json(&self) -> Value {
        let mut json = json!({"resource": self.resource, "code": self.code, "field": self.field});
        if let Some(message) = &self.message {
            json["message"] = message.as_str().into();
        }
        if let Some(value) = &self.value {
            json["value"] = value.clone();
        }
        json
    }
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), errors: Vec::new(), headers: Vec::new() }
    }

    /// 404, also for resources that the user may not know of.
    pub(crate) fn not_found() -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(crate) fn unauthorized(message: &str) -> Failure {
        Failure::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::CONFLICT, message)
    }

    /// 422 about one field.
    pub(crate) fn invalid(error: FieldError) -> Failure {
        Failure { errors: vec![error], ..Failure::unprocessable("Validation Failed") }
    }

    /// 422 with a message only.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// 422 because a field is absent.
    pub(crate) fn missing(resource: &'static str, field: &'static str) -> Failure {
        Failure::invalid(FieldError::new(resource, field, "missing_field"))
    }

    /// 500 with the cause: the forge belongs to its user.
    pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Server Error: {cause}"))
    }

    /// The message on a page.
    pub(crate) fn user_message(&self) -> String {
        let of_field = |error: &FieldError| match (&error.message, error.code) {
            (Some(message), _) => message.clone(),
            (None, "missing_field") => format!("The {} is missing.", name(error.field)),
            (None, "already_exists") => format!("This {} is taken.", name(error.field)),
            (None, _) => format!("The {} is not valid.", name(error.field)),
        };
        match &self.errors[..] {
            [] => self.message.clone(),
            errors => errors.iter().map(of_field).collect::<Vec<_>>().join(" "),
        }
    }

    pub(crate) fn reply(self) -> Reply {
        let mut json = json!({
            "message": self.message,
            "documentation_url": DOCUMENTATION,
            "status": self.status.as_str(),
        });
        if !self.errors.is_empty() {
            json["errors"] = self.errors.iter().map(FieldError::json).collect();
        }
        let mut reply = Reply::json(self.status, &json);
        for (name, value) in &self.headers {
            reply.set(name, value);
        }
        reply
    }
}

/// The name of a field on a page.
fn name(field: &str) -> String {
    match field {
        "tag_name" => "tag".to_owned(),
        "target_commitish" => "branch or commit".to_owned(),
        other => other.replace('_', " "),
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Failure::internal(&error)
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        Failure::internal(&error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::internal(&error)
    }
}
