//! The ways GitHub can fail us, each with what to do about it.

use std::fmt;

use super::RepoName;
use crate::http::{Hold, Moment};

/// A call that did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct GithubError {
    /// What was to be done, as in "read issue #12 of o/r".
    pub what: String,
    /// Why it was not.
    pub why: Why,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// No connection, or a read whose answer was lost each time.
    #[error("{detail}; is GitHub up, and are the network, the proxy and `adapters.github.api_url` right?")]
    Unreachable {
        /// What the system said.
        detail: String,
    },
    /// The token is not accepted.
    #[error("the token is refused ({message}); make a new one and set it in `adapters.github.token`")]
    Unauthorised {
        /// What GitHub said.
        message: String,
    },
    /// The token is accepted, but not for this.
    #[error("not allowed ({message}); {}", reason.fix(needs.as_deref()))]
    Forbidden {
        /// What kind of wall it is.
        reason: Forbidden,
        /// What GitHub said.
        message: String,
        /// The permission that GitHub names.
        needs: Option<String>,
    },
    /// There is no such thing, or the token may not see it: GitHub does not tell.
    #[error(
        "there is none ({message}), or the token may not see it; check the name, and that the token may read the repository"
    )]
    NotFound {
        /// What GitHub said.
        message: String,
    },
    /// The repository is archived: it can be read, but not written.
    #[error("the repository is archived; unarchive it, or take it out of the projects")]
    Archived,
    /// The repository has another name now.
    #[error("the repository was renamed{}; put the new name into the configuration", to.as_ref().map_or_else(String::new, |to| format!(" to {to}")))]
    Renamed {
        /// The new name, if GitHub tells.
        to: Option<RepoName>,
    },
    /// A limit; nothing was done.
    #[error("held until {until} ({}); it goes on by itself", hold_words(*hold))]
    RateLimited {
        /// When to call again.
        until: Moment,
        /// Which limit.
        hold: Hold,
    },
    /// Something is not as it has to be for this.
    #[error("in conflict with what is there ({message}); look again and decide anew")]
    Conflict {
        /// What GitHub said.
        message: String,
    },
    /// What was sent is not acceptable.
    #[error("refused as invalid ({message}{}); change what is sent", listed(fields))]
    Validation {
        /// What GitHub said.
        message: String,
        /// What it said of single fields.
        fields: Vec<Field>,
    },
    /// Any other refusal.
    #[error("refused with status {status} ({message})")]
    Refused {
        /// The status.
        status: u16,
        /// What GitHub said.
        message: String,
    },
    /// GitHub has trouble of its own.
    #[error("GitHub has trouble (status {status}: {message}); try again later, and see its status page")]
    Server {
        /// The status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The answer cannot be read.
    #[error("{detail}; is `adapters.github.api_url` the address of an API, and not of web pages?")]
    Malformed {
        /// What is wrong with it.
        detail: String,
    },
    /// There is more than we read.
    #[error("more than {limit}; what was read is not all of it, so it is not used")]
    TooMuch {
        /// The bound, with its unit.
        limit: String,
    },
    /// An effect that may or may not have happened; looking did not find it.
    #[error("nobody knows whether it happened ({detail}); it is looked for again before it is repeated")]
    Unknown {
        /// What the system said.
        detail: String,
    },
    /// A name that cannot stand where it has to.
    #[error("{name:?} is no name for this")]
    BadName {
        /// The name, cut.
        name: String,
    },
}

/// What kind of wall stands before a token that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// The token lacks a right.
    Rights,
    /// The organisation wants the token authorised for single sign-on.
    SingleSignOn,
    /// The organisation lets only some addresses in.
    Address,
    /// Something else.
    Other,
}

/// What GitHub says of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The thing it belongs to.
    pub resource: String,
    /// The field.
    pub field: String,
    /// What is wrong, in a word.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
}

/// Why GitHub cannot be called at all.
#[derive(Debug, thiserror::Error)]
pub enum GithubSetupError {
    /// The address is none, or not one to send a token to.
    #[error("use {url:?} as the address of GitHub's API: {why}")]
    ApiUrl {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The token cannot be one.
    #[error("use the token for GitHub: it is empty or has characters that no token has")]
    Token,
    /// The key of the App cannot be read.
    #[error("read the private key of the GitHub App: {why}; download a new one from the App's settings")]
    Key {
        /// What is wrong with it.
        why: &'static str,
    },
}

impl GithubError {
    pub(super) fn new(what: impl Into<String>, why: Why) -> Self {
        Self { what: what.into(), why }
    }
}

impl Why {
    pub(super) fn bad_name(name: &str) -> Self {
        Self::BadName { name: name.chars().take(100).collect() }
    }

    /// Whether GitHub said that what was to be made is there already.
    pub(super) fn says_it_exists(&self) -> bool {
        let Self::Validation { message, fields } = self else { return false };
        let words = |text: &str| text.to_ascii_lowercase().contains("already exists");
        words(message) || fields.iter().any(|field| field.code == "already_exists" || words(&field.message))
    }
}

impl Forbidden {
    fn fix(self, needs: Option<&str>) -> String {
        match (self, needs) {
            (Self::Rights, Some(needs)) => format!("give the token the permission {needs}"),
            (Self::Rights, None) => {
                "give the token write access to contents, issues and pull requests".to_owned()
            }
            (Self::SingleSignOn, _) => "authorise the token for the organisation's single sign-on".to_owned(),
            (Self::Address, _) => "let the organisation's allow list know this machine's address".to_owned(),
            (Self::Other, _) => "ask an owner of the repository".to_owned(),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            write!(f, "{} {}", self.field, self.code)
        } else {
            f.write_str(&self.message)
        }
    }
}

fn listed(fields: &[Field]) -> String {
    fields.iter().map(|field| format!("; {field}")).collect()
}

fn hold_words(hold: Hold) -> &'static str {
    match hold {
        Hold::Spent => "the hour's requests are used up",
        Hold::Reserve => "the rest of the hour's requests is kept for work",
        Hold::Slower => "GitHub asked us to slow down",
    }
}
