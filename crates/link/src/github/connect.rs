//! The client, from what is configured.

use std::fs;
use std::path::PathBuf;

use pilot_core::config::GithubConfig;

use super::{AppKey, Credentials, Github, Repo, RepoName};
use crate::connect::{ConnectError, Connector};

impl Repo {
    pub(crate) fn connect(connector: &Connector, name: &str) -> Result<Repo, ConnectError> {
        let name = RepoName::parse(name)
            .map_err(|error| ConnectError(format!("{error}; write it as owner/name")))?;
        if let Some(github) = connector.github.get() {
            return Ok(github.repo(name));
        }
        let config = &connector.adapters.github;
        let github = Github::new(connector.http()?, &config.api_url, credentials(connector, config)?)
            .map_err(|error| ConnectError(format!("{error}; set adapters.github.api_url")))?;
        Ok(connector.github.get_or_init(|| github).repo(name))
    }
}

fn credentials(connector: &Connector, config: &GithubConfig) -> Result<Credentials, ConnectError> {
    if let Some(token) = config.token.as_ref().filter(|token| !token.is_empty()) {
        return Ok(Credentials::Token(token.to_string()));
    }
    let app = &config.app;
    match (&app.id, app.installation_id, &app.private_key) {
        (Some(id), Some(installation), Some(key)) => {
            let pem = private_key(connector, key)?;
            let key = AppKey::parse(id, u64::from(installation), &pem)
                .map_err(|error| ConnectError(format!("{error}; set adapters.github.app.private_key")))?;
            Ok(Credentials::App(key))
        }
        (None, None, None) => Err(ConnectError(
            "no token for GitHub: set adapters.github.token, as in token: ${GITHUB_TOKEN}, or try `pilot demo`"
                .to_owned(),
        )),
        (_, _, _) => Err(ConnectError(
            "an App needs all of adapters.github.app.id, .installation_id and .private_key: set what is missing"
                .to_owned(),
        )),
    }
}

/// The text of a key, which is configured itself or by the path of its file.
fn private_key(connector: &Connector, key: &str) -> Result<String, ConnectError> {
    if key.contains("-----BEGIN") {
        return Ok(key.to_owned());
    }
    let path = match (key.strip_prefix("~/"), &connector.user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        (_, _) => PathBuf::from(key),
    };
    fs::read_to_string(path).map_err(|error| {
        ConnectError(format!(
            "cannot read {key}: {error}; name the App's key in adapters.github.app.private_key"
        ))
    })
}
