//! GitHub, or something that answers like it, as tracker and as forge.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::TrackerSettings;
use crate::config::check::{Faults, SHORTEST_TICK};
use crate::config::node::Node;
use crate::config::problem::Fault;
use crate::config::projects::read_section;
use crate::config::scalar::{bad, read_filled, text};
use crate::config::sections::{Flaw, item_draft};
use crate::config::{Config, Project, Secret, section};
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

/// The repository of a project: the one it names, else `adapters.github.repo`, else what its remote names.
pub(super) fn repository(
    named: Option<&str>,
    config: &GithubConfig,
    remote: Option<&str>,
) -> Result<String, String> {
    if !config.enabled {
        return Err("adapters.github.enabled is false, so there is nothing to work on".to_owned());
    }
    let configured = named.or(config.repo.as_deref()).map(str::to_owned);
    let Some(found) = configured.or_else(|| repository_of(remote?)) else {
        return Err(
            "it has no repository on GitHub: set adapters.github.repo, or github: {owner, repo} of the \
                    project"
                .to_owned(),
        );
    };
    if is_repository(&found) {
        Ok(found)
    } else {
        Err(format!("{found:?} is no repository on GitHub; write it as owner/name"))
    }
}

/// `owner/name` of an address.
fn repository_of(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?.1,
    };
    let mut parts = path.trim_end_matches('/').trim_end_matches(".git").rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{name}"))
}

item_draft! {
    /// What a project says of GitHub.
    pub(super) struct GithubDraft {
        /// The owner of its repository on GitHub; unset, with `github.repo`, is `adapters.github.repo`, else what the remote
        /// `origin` names.
        "github.owner" owner: String, read_part;
        /// The name of that repository.
        "github.repo" repo: String, read_part;
    }
}

impl GithubDraft {
    pub(super) fn read(&mut self, section: &Node, flaws: &mut Vec<Flaw>) -> bool {
        read_section(("github", GithubDraft::KEYS), self, section, flaws)
    }

    /// The repository that is named.
    pub(super) fn finish(self) -> Result<Option<String>, &'static str> {
        match (self.owner, self.repo) {
            (Some(owner), Some(repo)) => Ok(Some(format!("{owner}/{repo}"))),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err("a repository has an owner and a repo; write both"),
        }
    }
}

fn read_part(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    let is_one_part = !scalar.text.contains('/');
    match ProjectId::parse(&format!("github:x/{}", scalar.text)) {
        Ok(_) if is_one_part => Ok(Some(scalar.text.clone())),
        Ok(_) | Err(_) => {
            Err(bad(scalar, "write the owner and the repo apart, as their address has them".to_owned()))
        }
    }
}

/// A project's repository, as it is written in the configuration.
pub(super) fn show(repo: Option<&str>) -> Json {
    let parts = repo.and_then(|repo| repo.split_once('/'));
    json!(parts.map(|(owner, repo)| json!({"owner": owner, "repo": repo})))
}

/// Values that can be read and still make no sense.
pub(super) fn check(config: &Config, faults: &mut Faults) {
    let github = &config.adapters.github;
    faults.check_time("adapters.github.polling.interval", github.polling.interval, SHORTEST_TICK);
    check_projects(config, faults);
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

/// Two checkouts of one repository would do everything twice. Two that both name it are reported by their lines already.
fn check_projects(config: &Config, faults: &mut Faults) {
    let Some(repo) = &config.adapters.github.repo else { return };
    let is_it = |project: &&Project| match (project.services.identities().next(), &project.services.github) {
        (None, _) => true,
        (Some(_), own) => own.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(repo)),
    };
    let names: Vec<&str> =
        config.projects.iter().filter(is_it).map(|project| project.name.as_str()).collect();
    if let [one, other, ..] = names[..] {
        let why =
            format!("{one:?} and {other:?} are both {repo}; say which is which with github: {{owner, repo}}");
        faults.add("projects", why);
    }
}

fn is_repository(text: &str) -> bool {
    text.matches('/').count() == 1 && ProjectId::parse(&format!("github:{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{GithubApp, GithubConfig, Secret, repository, repository_of};

    #[test]
    fn a_repository_is_the_named_one_then_the_configured_then_the_remotes() {
        let with =
            |repo: Option<&str>| GithubConfig { repo: repo.map(str::to_owned), ..GithubConfig::default() };
        let remote = Some("https://github.com/remote/app.git");
        for (named, configured, remote, expect) in [
            (Some("named/app"), Some("set/app"), remote, Ok("named/app")),
            (None, Some("set/app"), remote, Ok("set/app")),
            (None, None, remote, Ok("remote/app")),
            (None, None, Some("/srv/git/app.git"), Err("it has no repository on GitHub")),
            (None, None, Some("git@host:a/ä.git"), Err("is no repository on GitHub; write it as owner/name")),
            (None, None, None, Err("set adapters.github.repo")),
        ] {
            match (repository(named, &with(configured), remote), expect) {
                (Ok(found), Ok(expect)) => assert_eq!(found, expect),
                (Err(why), Err(expect)) => assert!(why.contains(expect), "{why}"),
                (found, expect) => panic!("{found:?} is not {expect:?}"),
            }
        }
        let off = GithubConfig { enabled: false, ..with(None) };
        assert!(repository(Some("a/b"), &off, remote).unwrap_err().contains("adapters.github.enabled"));
    }

    #[test]
    fn a_remote_names_its_repository() {
        for (url, name) in [
            ("https://github.com/acme/app.git", Some("acme/app")),
            ("https://github.com/acme/app", Some("acme/app")),
            ("git@github.com:acme/app.git", Some("acme/app")),
            ("ssh://git@github.com/acme/app.git/", Some("acme/app")),
            ("http://127.0.0.1:3000/demo/shop.git", Some("demo/shop")),
            ("/srv/git/app.git", None),
            ("app", None),
        ] {
            assert_eq!(repository_of(url).as_deref(), name, "{url}");
        }
    }

    #[test]
    fn no_secret_is_written_by_accident() {
        let secret = || Some(Secret::new("s3cret"));
        let app = GithubApp { private_key: secret(), ..GithubApp::default() };
        let github = GithubConfig { token: secret(), app, ..GithubConfig::default() };
        let shown = format!("{github:?}");
        assert!(!shown.contains("s3cret") && shown.matches("********").count() == 2, "{shown}");
    }
}
