//! Issues and who wrote them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::name::{BodyHash, IssueNumber};
use crate::time::Timestamp;

/// An issue as it was read at one moment. The text itself is not kept: it is read again when a run starts, and must hash the
/// same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its number.
    pub number: IssueNumber,
    /// What it is called, on one line.
    pub title: String,
    /// Who wrote it.
    pub author: Author,
    /// Its labels.
    pub labels: BTreeSet<String>,
    /// Open or closed.
    pub state: IssueState,
    /// What its text says that matters for a decision.
    pub body: Body,
    /// When it was written.
    pub created_at: Timestamp,
    /// When anything about it changed, as the forge says: an older one is a stale read.
    pub updated_at: Timestamp,
}

impl Issue {
    /// Whether it has a label; forges do not tell small from capital letters.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|own| own.eq_ignore_ascii_case(label))
    }

    /// Whether anything that matters differs. The forge's own time of change does not: a comment moves it.
    pub fn differs(&self, other: &Issue) -> bool {
        let Issue { number, title, author, labels, state, body, created_at, updated_at: _ } = self;
        *number != other.number
            || *title != other.title
            || *author != other.author
            || *labels != other.labels
            || *state != other.state
            || *body != other.body
            || *created_at != other.created_at
    }
}

/// Who wrote something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The account's name.
    pub login: String,
    /// What kind of account.
    pub kind: AuthorKind,
}

/// What kind of account wrote something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    /// A person.
    Person,
    /// A program.
    Bot,
    /// This Pilot's own account.
    Me,
}

/// Open or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    /// Open.
    Open,
    /// Closed, for whatever reason.
    Closed,
}

/// What an issue's text says that a decision needs; made by [`crate::intake::read_body`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The text's hash.
    pub hash: BodyHash,
    /// What `Depends on: #n` names.
    pub depends_on: BTreeSet<IssueNumber>,
    /// Lines that begin like a dependency and name none.
    pub unread: Vec<String>,
    /// Where the work will be.
    pub reach: Reach,
}

/// The directories a task is expected to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The text names paths in these; `.` is the root.
    Named(BTreeSet<String>),
    /// The text names none: it may be anywhere.
    Unknown,
}

impl Reach {
    /// Whether two tasks might change the same files: one's directory is, or holds, the other's.
    pub fn meets(&self, other: &Reach) -> bool {
        match (self, other) {
            (Reach::Named(ours), Reach::Named(theirs)) => {
                ours.iter().any(|our| theirs.iter().any(|their| within(our, their) || within(their, our)))
            }
            (Reach::Unknown, _) | (_, Reach::Unknown) => true,
        }
    }
}

/// Whether `inner` is `outer` or below it. Files of the root meet one another, not everything.
fn within(inner: &str, outer: &str) -> bool {
    inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// What an account may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read, and sort issues.
    Triage,
    /// Write.
    Write,
    /// Write, and a part of the settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Permission {
    /// Whether this is enough to set Pilot to work and to give it orders.
    pub fn may_order(self) -> bool {
        self >= Permission::Write
    }
}

/// What became of an issue that another depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    /// Still open.
    Open,
    /// Closed.
    Closed,
    /// There is none of this number.
    Missing,
}

#[cfg(test)]
mod tests {
    use super::{Permission, Reach};

    fn named(directories: &[&str]) -> Reach {
        Reach::Named(directories.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn tasks_meet_where_they_might_touch_the_same_files() {
        let check = |ours: &Reach, theirs: &Reach, meet: bool| {
            assert_eq!(ours.meets(theirs), meet, "{ours:?} {theirs:?}");
            assert_eq!(theirs.meets(ours), meet, "{theirs:?} {ours:?}");
        };
        check(&named(&["src/auth"]), &named(&["src/auth"]), true);
        check(&named(&["src/auth"]), &named(&["src"]), true);
        check(&named(&["src/auth"]), &named(&["src/author"]), false);
        check(&named(&["src/auth", "docs"]), &named(&["web", "docs"]), true);
        check(&named(&["."]), &named(&["."]), true);
        check(&named(&["."]), &named(&["src"]), false);
        check(&named(&["src"]), &Reach::Unknown, true);
        check(&Reach::Unknown, &Reach::Unknown, true);
    }

    #[test]
    fn write_access_is_the_line() {
        let may = [
            Permission::None,
            Permission::Read,
            Permission::Triage,
            Permission::Write,
            Permission::Maintain,
            Permission::Admin,
        ];
        assert_eq!(may.map(Permission::may_order), [false, false, false, true, true, true]);
    }
}
