//! Tickets and their authors.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{BodyHash, TaskKey};
use crate::time::Timestamp;

/// A ticket as it was read at one moment. Its text is not kept: it is read again when a run starts, and must hash the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    pub key: TaskKey,
    /// On one line.
    pub title: String,
    pub author: Author,
    pub labels: BTreeSet<String>,
    pub state: TicketState,
    /// What its text says that matters for a decision.
    pub body: Body,
    pub created_at: Timestamp,
    /// When anything about it changed, by the tracker's clock: an older one is a stale read.
    pub updated_at: Timestamp,
}

impl Ticket {
    /// Whether it has a label; labels are compared without case.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|own| own.eq_ignore_ascii_case(label))
    }

    /// Whether anything that matters differs. The tracker's own time of change does not: a comment moves it.
    pub fn differs(&self, other: &Ticket) -> bool {
        let Ticket { key, title, author, labels, state, body, created_at, updated_at: _ } = self;
        *key != other.key
            || *title != other.title
            || *author != other.author
            || *labels != other.labels
            || *state != other.state
            || *body != other.body
            || *created_at != other.created_at
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub login: String,
    pub kind: AuthorKind,
}

/// What kind of account wrote something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    Person,
    Bot,
    /// This Pilot's own account.
    Me,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketState {
    Open,
    /// Closed, for whatever reason.
    Closed,
}

/// What a ticket's text says that a decision needs; made by [`crate::intake::read_body`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    pub hash: BodyHash,
    /// What `Depends on: #12` names.
    pub depends_on: BTreeSet<TaskKey>,
    /// Lines that begin like a dependency and name none.
    pub unread: Vec<String>,
    pub paths: TouchedPaths,
}

/// The directories a task is expected to change, by its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TouchedPaths {
    /// The text names paths in these; `.` is the root.
    Named(BTreeSet<String>),
    /// The text names none: it may be anywhere.
    Unknown,
}

impl TouchedPaths {
    /// Whether two tasks might change the same files: one's directory is, or holds, the other's.
    pub fn overlaps(&self, other: &TouchedPaths) -> bool {
        match (self, other) {
            (TouchedPaths::Named(ours), TouchedPaths::Named(theirs)) => {
                ours.iter().any(|our| theirs.iter().any(|their| within(our, their) || within(their, our)))
            }
            (TouchedPaths::Unknown, _) | (_, TouchedPaths::Unknown) => true,
        }
    }
}

/// Whether `inner` is `outer` or below it. Files of the root overlap with one another, not with everything.
fn within(inner: &str, outer: &str) -> bool {
    inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether an account may set Pilot to work and give it commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Untrusted,
    /// The tracker cannot say.
    Unknown,
}

impl Trust {
    /// Unknown is no yes.
    pub fn is_trusted(self) -> bool {
        self == Trust::Trusted
    }
}

/// What became of a ticket that another depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    Open,
    Closed,
    /// No ticket has this key.
    Missing,
}

#[cfg(test)]
mod tests {
    use super::TouchedPaths;

    fn named(directories: &[&str]) -> TouchedPaths {
        TouchedPaths::Named(directories.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn tasks_meet_where_they_might_touch_the_same_files() {
        let check = |ours: &TouchedPaths, theirs: &TouchedPaths, meet: bool| {
            assert_eq!(ours.overlaps(theirs), meet, "{ours:?} {theirs:?}");
            assert_eq!(theirs.overlaps(ours), meet, "{theirs:?} {ours:?}");
        };
        check(&named(&["src/auth"]), &named(&["src/auth"]), true);
        check(&named(&["src/auth"]), &named(&["src"]), true);
        check(&named(&["src/auth"]), &named(&["src/author"]), false);
        check(&named(&["src/auth", "docs"]), &named(&["web", "docs"]), true);
        check(&named(&["."]), &named(&["."]), true);
        check(&named(&["."]), &named(&["src"]), false);
        check(&named(&["src"]), &TouchedPaths::Unknown, true);
        check(&TouchedPaths::Unknown, &TouchedPaths::Unknown, true);
    }
}
