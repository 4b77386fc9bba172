//! Labels on issues.

use serde::Deserialize;
use serde_json::json;

use super::{GithubError, Number, Repo, Why};
use crate::http::{Class, Method, Request};

#[derive(Deserialize)]
struct Wire {
    name: String,
}

impl Repo {
    /// Puts labels on an issue, beside those it has. Gives all of them.
    pub async fn add_labels(&self, number: Number, labels: &[&str]) -> Result<Vec<String>, GithubError> {
        let what = self.doing(&format!("label issue {number}"));
        let path = ["issues", &number.0.to_string(), "labels"];
        let body = json!({"labels": labels});
        let request = self.effect(&what, Method::POST, &path, Class::Idempotent, &body)?;
        let labels: Vec<Wire> = self.github.write(&what, request).await?;
        Ok(labels.into_iter().map(|label| label.name).collect())
    }

    /// Takes a label off an issue. Says whether it was there.
    pub async fn remove_label(&self, number: Number, label: &str) -> Result<bool, GithubError> {
        let what = self.doing(&format!("take the label {label:?} off issue {number}"));
        let path = ["issues", &number.0.to_string(), "labels", label];
        let request = Request::new(Method::DELETE, self.url(&what, &path)?, Class::Idempotent);
        match self.github.write::<Vec<Wire>>(&what, request).await {
            Ok(_) => Ok(true),
            // The issue itself may be gone as well, and then GitHub says something else.
            Err(GithubError { why: Why::NotFound { message }, .. }) if message.contains("Label") => Ok(false),
            Err(error) => Err(error),
        }
    }
}
