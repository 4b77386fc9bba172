//! Labels: of a repository, and on its issues.

use serde::Deserialize;
use serde_json::json;

use super::{GithubError, Number, Repo, Why};
use crate::http::{Class, Method, Request};

/// A label that a repository shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its colour, as six hexadecimal digits.
    pub color: &'a str,
    /// What it means.
    pub description: &'a str,
}

#[derive(Deserialize)]
struct Wire {
    name: String,
}

impl Repo {
    /// Makes sure that a label exists; one that does stays as it is. Says whether it was made.
    pub async fn ensure_label(&self, label: &Label<'_>) -> Result<bool, GithubError> {
        let what = self.doing(&format!("make the label {:?}", label.name));
        let body = json!({"name": label.name, "color": label.color, "description": label.description});
        // The name is the key: a second one cannot come to be, so it may be repeated.
        let request = self.effect(&what, Method::POST, &["labels"], Class::Idempotent, &body)?;
        match self.github.write::<Wire>(&what, request).await {
            Ok(_) => Ok(true),
            Err(error) if error.why.says_it_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

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
