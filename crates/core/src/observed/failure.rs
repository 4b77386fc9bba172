//! Calls that did not do what was asked, and what each means for trying again.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::NotAName;
use crate::time::Timestamp;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// The other side's words, cut and without secrets.
    pub detail: String,
    /// Not before this; only ever with [`FailureKind::RateLimited`].
    pub retry_at: Option<Timestamp>,
}

/// The kinds of failure that are told apart because something different follows from each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request did not reach the other side: nothing happened there.
    NotSent,
    /// The reply was lost, or says nothing: it may have happened.
    Lost,
    /// Pilot stopped in the middle: it may have happened.
    Interrupted,
    /// The other side broke: it may have happened.
    Server,
    /// A limit on calls, primary or secondary.
    RateLimited,
    /// The credentials are not accepted.
    Unauthorised,
    /// The credentials are good and not enough; an archived repository answers so too.
    Forbidden,
    /// There is no such thing, or it may not be seen.
    NotFound,
    /// It is not in the state that was expected: a branch moved, a head changed.
    Conflict,
    /// The other side will not do it as asked.
    Refused,
}

impl FailureKind {
    /// Whether the effect may have happened all the same.
    pub fn may_have_happened(self) -> bool {
        match self {
            FailureKind::Lost | FailureKind::Interrupted | FailureKind::Server => true,
            FailureKind::NotSent
            | FailureKind::RateLimited
            | FailureKind::Unauthorised
            | FailureKind::Forbidden
            | FailureKind::NotFound
            | FailureKind::Conflict
            | FailureKind::Refused => false,
        }
    }

    /// Whether a retry can help without a person doing anything.
    pub fn passes_by_itself(self) -> bool {
        match self {
            FailureKind::NotSent
            | FailureKind::Lost
            | FailureKind::Interrupted
            | FailureKind::Server
            | FailureKind::RateLimited => true,
            FailureKind::Unauthorised
            | FailureKind::Forbidden
            | FailureKind::NotFound
            | FailureKind::Conflict
            | FailureKind::Refused => false,
        }
    }
}

impl Failure {
    /// A failure without a time to wait for.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Failure {
        Failure { kind, detail: detail.into(), retry_at: None }
    }
}

/// A name that the other side gave and that is none.
impl From<NotAName> for Failure {
    fn from(error: NotAName) -> Failure {
        Failure::new(FailureKind::Server, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FailureKind::NotSent => "not reached",
            FailureKind::Lost => "no reply",
            FailureKind::Interrupted => "interrupted",
            FailureKind::Server => "the server failed",
            FailureKind::RateLimited => "rate limit",
            FailureKind::Unauthorised => "credentials not accepted",
            FailureKind::Forbidden => "not allowed",
            FailureKind::NotFound => "not found",
            FailureKind::Conflict => "not in the expected state",
            FailureKind::Refused => "refused",
        };
        match self.detail.as_str() {
            "" => f.write_str(kind),
            detail => write!(f, "{kind}: {detail}"),
        }
    }
}
