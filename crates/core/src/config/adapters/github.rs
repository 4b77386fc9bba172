//! GitHub, or something that answers like it, as tracker and as forge.

use std::time::Duration;

use super::TrackerSettings;
use crate::config::check::Faults;
use crate::config::scalar::read_filled;
use crate::config::{Config, Secret, section};
use crate::id::{KeyStyle, ProjectId, References};

/// The forge's name in a [`ProjectId`].
pub(super) const FORGE: &str = "github";

/// Issues and pull requests of one repository.
pub(super) fn references() -> References {
    References {
        tickets: KeyStyle::Numbered { prefix: "GH".to_owned() },
        pull_sign: '#',
        closing_word: Some("Closes".to_owned()),
    }
}

/// The longest name of a label that GitHub takes, in characters.
const LONGEST_LABEL: usize = 50;

section! {
    /// GitHub, or something that answers like it.
    pub struct GithubConfig at (adapters.github) {
        /// Whether Pilot works on the issues of GitHub.
        user enabled: bool = true;
        /// The token Pilot authenticates with; write `${GITHUB_TOKEN:-}` rather than the token itself.
        secret token: Option<Secret> = None;
        /// The address of the API: of github.com, of an Enterprise server, or of the local forge.
        user api_url: String = "https://api.github.com".to_owned();
        /// The repository, as in `owner/name`, where no project names its own; unset is what the remote `origin` names.
        user repo: Option<String> = None, read_filled;
        section app: GithubApp = GithubApp::default();
        section polling: Polling = Polling::default();
        /// Accounts, also of bots, that may ask for work without having write access.
        user allowed_users: Vec<String> = Vec::new();
    }
}

impl GithubConfig {
    pub(super) fn tracker_settings(&self) -> TrackerSettings<'_> {
        TrackerSettings {
            label: &self.polling.label,
            allowed_users: &self.allowed_users,
            poll_interval: self.polling.interval,
        }
    }
}

section! {
    pub struct GithubApp at (adapters.github.app) {
        /// The id of the GitHub App that Pilot authenticates as, instead of a token.
        user id: Option<String> = None, read_filled;
        /// The number of the installation of that App.
        user installation_id: Option<u32> = None;
        /// The private key of that App: the text of its PEM file, or the path of that file.
        secret private_key: Option<Secret> = None;
    }
}

section! {
    pub struct Polling at (adapters.github.polling) {
        /// How often GitHub is polled for work and for changes.
        user interval: Duration = Duration::from_secs(30);
        /// The label of an issue that asks for work.
        user label: String = "pilot".to_owned();
    }
}

/// Values that can be read and still make no sense.
pub(in crate::config) fn check(config: &Config, faults: &mut Faults) {
    let github = &config.adapters.github;
    let has_host = ["https://", "http://"].iter().any(|scheme| {
        let rest = github.api_url.strip_prefix(scheme).unwrap_or_default();
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace)
    });
    if !has_host {
        let why = "this is no address of an API; write for example https://api.github.com";
        faults.add("adapters.github.api_url", why);
    }
    if let Some(repo) = github.repo.as_deref().filter(|repo| !is_repository(repo)) {
        let shown: String = repo.chars().take(80).collect();
        faults.add("adapters.github.repo", format!("{shown:?} is no repository; write owner/name"));
    }
    // The error must not quote it.
    if github.token.as_deref().is_some_and(|token| token.contains(|c: char| !c.is_ascii_graphic())) {
        faults.add("adapters.github.token", "a token is one word; this one holds spaces or line breaks");
    }
    let app = &github.app;
    let parts = [app.id.is_some(), app.installation_id.is_some(), app.private_key.is_some()];
    if parts.contains(&true) && parts.contains(&false) {
        faults.add(
            "adapters.github.app.id",
            "an App needs id, installation_id and private_key; write all three",
        );
    } else if parts.contains(&true) && github.token.is_some() {
        faults.add("adapters.github.app.id", "with a token there is no need for an App; keep one of them");
    }
    let label = &github.polling.label;
    if label.trim().is_empty() || label.contains(char::is_control) || label.chars().count() > LONGEST_LABEL {
        faults.add("adapters.github.polling.label", "this is no name of a label; write for example pilot");
    }
    if github.allowed_users.iter().any(|user| user.is_empty() || user.contains(char::is_whitespace)) {
        let why = "an account is one word without spaces, such as ada or dependabot[bot]";
        faults.add("adapters.github.allowed_users", why);
    }
}

fn is_repository(text: &str) -> bool {
    text.matches('/').count() == 1 && ProjectId::parse(&format!("github:{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{GithubApp, GithubConfig, Secret};

    #[test]
    fn no_secret_is_written_by_accident() {
        let secret = || Some(Secret::new("s3cret"));
        let app = GithubApp { private_key: secret(), ..GithubApp::default() };
        let github = GithubConfig { token: secret(), app, ..GithubConfig::default() };
        let shown = format!("{github:?}");
        assert!(!shown.contains("s3cret") && shown.matches("********").count() == 2, "{shown}");
    }
}
