//! A remote repository: its address and credential.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GitError;

const LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone)]
pub struct Remote {
    url: String,
    /// `https://host:port`; none for a path.
    origin: Option<String>,
    pub(super) login: Option<Login>,
    pub(super) limit: Duration,
}

/// A user name and a password, and the askpass program that passes them to git.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) askpass: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("use {url:?} as a repository address: {why}")]
    BadUrl { url: String, why: &'static str },
    #[error("push to {branch:?}: only branches below {prefix:?} are pushed to")]
    NotOurs { branch: String, prefix: String },
    #[error("authenticate at {url}: {message}; check that the token is valid and may write contents")]
    Auth { url: String, message: String },
    #[error(
        "get permission at {url}: {message}; check that the token may write contents and that the repository is not archived"
    )]
    Denied { url: String, message: String },
    #[error("reach {url}: {message}; check the network, the proxy and the address")]
    Unreachable { url: String, message: String },
    #[error("find a repository at {url}: {message}; check its name, and that the token may read it")]
    NotFound { url: String, message: String },
    #[error("use {url}: it redirects: {message}; put the repository's new name into the configuration")]
    Moved { url: String, message: String },
    #[error("find the branch {branch:?} at {url}: it was deleted or renamed; name another base branch")]
    NoBranch { branch: String, url: String },
    #[error(
        "push {commit}: it is not in {}; another Pilot that shares the database made it elsewhere, so let both work in one \
         checkout, or give each a database of its own", dir.display()
    )]
    NoCommit { commit: String, dir: PathBuf },
    #[error(
        "get a usable answer from {url}: {message}; it may have taken effect, so it is checked before it is repeated"
    )]
    Unknown { url: String, message: String },
}

impl Remote {
    /// An address: `https://…`, `http://…` on this machine, or a path, without user name and password.
    pub fn parse(url: &str) -> Result<Self, RemoteError> {
        let bad = |why| RemoteError::BadUrl { url: url.chars().take(200).collect(), why };
        if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(bad("it has spaces or control characters"));
        }
        let remote = |origin| Self { url: url.to_owned(), origin, login: None, limit: LIMIT };
        if url.starts_with('/') {
            return Ok(remote(None));
        }
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| bad("write it as https://host/owner/name.git"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || path.is_empty() {
            return Err(bad("it has no host or no path"));
        }
        if authority.contains('@') {
            return Err(bad("it contains a user name or a password; configure the token instead"));
        }
        match scheme {
            "https" => {}
            "http" if is_loopback(authority) => {}
            "http" => return Err(bad("the token would be sent unencrypted; use https")),
            _ => return Err(bad("only https is supported; use the repository's https address")),
        }
        Ok(remote(Some(format!("{scheme}://{authority}"))))
    }

    /// With a user name and a password, which `askpass`, a program that calls [`super::askpass::main`], passes to git.
    #[must_use]
    pub fn with_password(self, user: &str, password: &str, askpass: &Path) -> Self {
        let (user, password) = (user.to_owned(), password.to_owned());
        Self { login: Some(Login { user, password, askpass: askpass.to_owned() }), ..self }
    }

    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL prefix the password is for, as git names it in its prompt.
    pub(super) fn credential_url(&self, login: &Login) -> Option<String> {
        let (scheme, authority) = self.origin.as_ref()?.split_once("://")?;
        Some(format!("{scheme}://{}@{authority}", login.user))
    }

    /// The settings that let git connect to this address and no other.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        let mut set = |key: &str, value: &str| settings.push((key.to_owned(), value.to_owned()));
        let protocol = match &self.origin {
            None => "file",
            Some(origin) if origin.starts_with("https:") => "https",
            Some(_) => "http",
        };
        set(&format!("protocol.{protocol}.allow"), "always");
        set("http.followRedirects", "false");
        set("http.proxy", "");
        // A slower transfer for that many seconds counts as dead.
        set("http.lowSpeedLimit", "1");
        set("http.lowSpeedTime", "60");
        if let Some(login) = &self.login {
            set("credential.username", &login.user);
            set("http.proactiveAuth", "basic");
        }
        settings
    }

    /// Classifies git's message. Only messages from before anything was sent may mean that nothing happened.
    pub(super) fn explain(&self, complaint: &str) -> RemoteError {
        let (url, message) = (self.url.clone(), one_line(complaint));
        let has = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if has(&DENIED) {
            RemoteError::Denied { url, message }
        } else if has(&AUTH) {
            RemoteError::Auth { url, message }
        } else if has(&["RPC failed", "hung up unexpectedly", "early EOF"]) {
            RemoteError::Unknown { url, message }
        } else if has(&NOT_FOUND) {
            RemoteError::NotFound { url, message }
        } else if has(&MOVED) {
            RemoteError::Moved { url, message }
        } else if has(&["unable to access", "Could not resolve", "onnection refused", "timed out"]) {
            RemoteError::Unreachable { url, message }
        } else {
            RemoteError::Unknown { url, message }
        }
    }
}

const AUTH: [&str; 5] = [
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "returned error: 401",
    "HTTP 401",
];

const DENIED: [&str; 3] = ["returned error: 403", "HTTP 403", "denied to"];

const NOT_FOUND: [&str; 4] =
    ["returned error: 404", "' not found", "does not appear to be a git repository", "HTTP 404"];

const MOVED: [&str; 5] =
    ["redirect", "returned error: 301", "returned error: 302", "returned error: 307", "returned error: 308"];

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.url)
    }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => return rest.starts_with("::1]"),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host == "127.0.0.1"
}

pub(super) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join("; ");
    joined.chars().filter(|c| !c.is_control()).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::{Remote, RemoteError};

    #[test]
    fn addresses_are_checked_before_anything_goes_there() {
        for (url, fine) in [
            ("https://github.com/ada/engine.git", true),
            ("https://ghe.example:8443/ada/engine", true),
            ("http://127.0.0.1:4000/ada/engine.git", true),
            ("http://localhost/x", true),
            ("http://[::1]:4000/x", true),
            ("/srv/git/engine.git", true),
            ("http://forge.example/x", false),
            ("http://127.0.0.1.evil.example/x", false),
            ("https://token@github.com/x", false),
            ("https://user:token@github.com/x", false),
            ("https:///x", false),
            ("https://github.com", false),
            ("ssh://git@github.com/x", false),
            ("git@github.com:x/y.git", false),
            ("ext::sh -c true", false),
            ("--upload-pack=x", false),
            ("file:///srv/x", false),
            ("https://x/y\nz", false),
            ("", false),
        ] {
            assert_eq!(Remote::parse(url).is_ok(), fine, "{url:?}");
        }
    }

    #[test]
    fn messages_of_git_are_classified() {
        let remote = Remote::parse("https://forge.example/x").unwrap();
        for (complaint, expected) in [
            ("fatal: Authentication failed for 'https://forge.example/x/'", "auth"),
            ("fatal: unable to access 'https://x/': The requested URL returned error: 403", "denied"),
            ("remote: Permission to ada/engine.git denied to eve.", "denied"),
            ("fatal: repository 'https://forge.example/x/' not found", "not found"),
            ("fatal: '/x' does not appear to be a git repository", "not found"),
            ("fatal: unable to access 'https://x/': The requested URL returned error: 301", "moved"),
            ("fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"),
            ("fatal: unable to access 'https://x/': The requested URL returned error: 502", "unreachable"),
            ("error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502", "unknown"),
            ("send-pack: unexpected disconnect\nfatal: the remote end hung up unexpectedly", "unknown"),
            ("something new", "unknown"),
        ] {
            let name = match remote.explain(complaint) {
                RemoteError::Auth { .. } => "auth",
                RemoteError::Denied { .. } => "denied",
                RemoteError::NotFound { .. } => "not found",
                RemoteError::Moved { .. } => "moved",
                RemoteError::Unreachable { .. } => "unreachable",
                RemoteError::Unknown { .. } => "unknown",
                RemoteError::Git(_)
                | RemoteError::BadUrl { .. }
                | RemoteError::NotOurs { .. }
                | RemoteError::NoCommit { .. }
                | RemoteError::NoBranch { .. } => "another",
            };
            assert_eq!(name, expected, "{complaint}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let remote =
            Remote::parse("https://h/x").unwrap().with_password("u", "s3cr3t", "/bin/pilot".as_ref());
        assert_eq!(format!("{remote:?}"), "Remote(https://h/x)");
        assert!(remote.settings().iter().all(|(_, value)| !value.contains("s3cr3t")));
    }
}
