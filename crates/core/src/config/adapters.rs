//! Where work comes from.

use std::fmt;
use std::time::Duration;

use super::secret::MASK;

/// Where work comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adapters {
    /// GitHub, or something that answers like it.
    pub github: GithubConfig,
}

/// GitHub, or something that answers like it.
#[derive(Clone, PartialEq, Eq)]
pub struct GithubConfig {
    /// Whether Pilot works on its issues.
    pub enabled: bool,
    /// By which Pilot says who it is.
    pub token: Option<String>,
    /// Where its API is.
    pub api_url: String,
    /// The repository, as in `owner/name`, where no project says its own; none is where `origin` leads.
    pub repo: Option<String>,
    /// The App that Pilot is, instead of a token.
    pub app: GithubApp,
    /// How it is asked.
    pub polling: Polling,
    /// Accounts, of people and of programs, that may ask for work whatever their permission.
    pub allowed_users: Vec<String>,
}

impl Default for GithubConfig {
    fn default() -> GithubConfig {
        GithubConfig {
            enabled: true,
            token: None,
            api_url: "https://api.github.com".to_owned(),
            repo: None,
            app: GithubApp::default(),
            polling: Polling::default(),
            allowed_users: Vec::new(),
        }
    }
}

impl fmt::Debug for GithubConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubConfig")
            .field("enabled", &self.enabled)
            .field("token", &self.token.as_ref().map(|_| MASK))
            .field("api_url", &self.api_url)
            .field("repo", &self.repo)
            .field("app", &self.app)
            .field("polling", &self.polling)
            .field("allowed_users", &self.allowed_users)
            .finish()
    }
}

/// A GitHub App.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct GithubApp {
    /// Its id, or its client id.
    pub id: Option<String>,
    /// The number of its installation.
    pub installation_id: Option<u32>,
    /// Its key: the text of the PEM file, or where that is.
    pub private_key: Option<String>,
}

impl fmt::Debug for GithubApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubApp")
            .field("id", &self.id)
            .field("installation_id", &self.installation_id)
            .field("private_key", &self.private_key.as_ref().map(|_| MASK))
            .finish()
    }
}

/// How it is asked for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polling {
    /// How often.
    pub interval: Duration,
    /// The label that asks for work.
    pub label: String,
}

impl Default for Polling {
    fn default() -> Polling {
        Polling { interval: Duration::from_secs(30), label: "pilot".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::{GithubApp, GithubConfig};

    #[test]
    fn no_secret_is_written_by_accident() {
        let secret = || Some("s3cret".to_owned());
        let app = GithubApp { private_key: secret(), ..GithubApp::default() };
        let github = GithubConfig { token: secret(), app, ..GithubConfig::default() };
        let shown = format!("{github:?}");
        assert!(!shown.contains("s3cret") && shown.matches("********").count() == 2, "{shown}");
    }
}
