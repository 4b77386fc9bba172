//! A repository elsewhere: its address, and how we prove who we are there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GitError;

/// How long a push or a fetch may take.
const LIMIT: Duration = Duration::from_secs(600);

/// A repository elsewhere.
#[derive(Clone)]
pub struct Remote {
    url: String,
    /// `https://host:port`; none for a path.
    origin: Option<String>,
    login: Option<Login>,
    proxy: Option<String>,
    limit: Duration,
}

/// A name and a password, and the program that tells them to git.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) askpass: PathBuf,
}

/// Why nothing came of a push or a fetch.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Git here does not work.
    #[error(transparent)]
    Git(#[from] GitError),
    /// This is no address to push to.
    #[error("use {url:?} as the address of a repository: {why}")]
    BadUrl {
        /// The address, cut.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A branch that is not Pilot's own is never pushed to.
    #[error("push to {branch:?}: only branches below {prefix:?} are pushed to")]
    NotOurs {
        /// The branch.
        branch: String,
        /// Where ours are.
        prefix: String,
    },
    /// The password is refused.
    #[error("be let in by {url}: {message}; check that the token is valid and may write contents")]
    Auth {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
    /// Its owner may not do this, or nobody may.
    #[error(
        "be allowed to by {url}: {message}; check that the token may write contents and that the repository is not archived"
    )]
    Denied {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
    /// Nobody answers.
    #[error("reach {url}: {message}; check the network, the proxy and the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
    /// There is no repository.
    #[error("find a repository at {url}: {message}; check its name, and that the token may see it")]
    NotFound {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
    /// The repository is elsewhere now.
    #[error("follow {url} elsewhere: {message}; put the repository's new name into the configuration")]
    Moved {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
    /// There is no such branch.
    #[error("find the branch {branch:?} at {url}: it was deleted or renamed; name another base branch")]
    NoBranch {
        /// The branch.
        branch: String,
        /// The address.
        url: String,
    },
    /// What was to be pushed is not here.
    #[error(
        "push {commit}: it is not in {}; another Pilot that shares the database made it elsewhere, so let both work in one \
         checkout, or give each a database of its own", dir.display()
    )]
    NoCommit {
        /// The commit.
        commit: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// It may have happened or not, and looking did not tell.
    #[error("learn from {url} what became of it: {message}; it is looked at again before it is repeated")]
    Unknown {
        /// The address.
        url: String,
        /// What was said.
        message: String,
    },
}

impl Remote {
    /// An address: `https://…`, `http://…` on this machine, or a path. A name or a password does not belong into it.
    pub fn parse(url: &str) -> Result<Self, RemoteError> {
        let bad = |why| RemoteError::BadUrl { url: url.chars().take(200).collect(), why };
        if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(bad("it has spaces or control characters"));
        }
        let remote = |origin| Self { url: url.to_owned(), origin, login: None, proxy: None, limit: LIMIT };
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
            return Err(bad("it holds a name or a password; the token has a key of its own"));
        }
        match scheme {
            "https" => {}
            "http" if is_loopback(authority) => {}
            "http" => return Err(bad("the token would go there unencrypted; use https")),
            _ => return Err(bad("only https is pushed to; use the repository's https address")),
        }
        Ok(remote(Some(format!("{scheme}://{authority}"))))
    }

    /// With a name and a password, which `askpass`, a program that calls [`super::askpass::main`], tells to git.
    #[must_use]
    pub fn with_password(self, user: &str, password: &str, askpass: &Path) -> Self {
        let (user, password) = (user.to_owned(), password.to_owned());
        Self { login: Some(Login { user, password, askpass: askpass.to_owned() }), ..self }
    }

    /// By a proxy.
    #[must_use]
    pub fn with_proxy(self, proxy: &str) -> Self {
        Self { proxy: Some(proxy.to_owned()), ..self }
    }

    /// With another time limit.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The address.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// For whom the password is, as git names it.
    pub(super) fn whom(&self, login: &Login) -> Option<String> {
        let (scheme, authority) = self.origin.as_ref()?.split_once("://")?;
        Some(format!("{scheme}://{}@{authority}", login.user))
    }

    /// What git needs to be told to go there, and nowhere else.
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
        set("http.proxy", self.proxy.as_deref().unwrap_or_default());
        // A connection that moves less than this for so long is dead.
        set("http.lowSpeedLimit", "1");
        set("http.lowSpeedTime", "60");
        if let Some(login) = &self.login {
            set("credential.username", &login.user);
            set("http.proactiveAuth", "basic");
        }
        settings
    }

    /// What git's complaint means. Only a complaint from before anything was sent may say that nothing happened.
    pub(super) fn explain(&self, complaint: &str) -> RemoteError {
        let (url, message) = (self.url.clone(), in_a_line(complaint));
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

/// Never shows the password.
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

/// What was said, on one line and not too long.
pub(super) fn in_a_line(text: &str) -> String {
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
    fn complaints_have_names() {
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
