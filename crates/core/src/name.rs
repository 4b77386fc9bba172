//! What things are called: projects, tasks, issues, pull requests, branches, commits. Each is parsed once, at the border, and
//! cannot be mixed up with another.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest name of anything here, in bytes.
const LONGEST: usize = 255;

/// Text that is no name of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAName {
    /// What it should have been.
    pub kind: &'static str,
    /// What it was, cut to a line.
    pub text: String,
}

impl fmt::Display for NotAName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no {}", self.text, self.kind)
    }
}

impl std::error::Error for NotAName {}

/// A name made of text that was checked.
macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $valid:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads one.
            pub fn parse(text: &str) -> Result<$name, NotAName> {
                let valid: fn(&str) -> bool = $valid;
                if text.len() <= LONGEST && valid(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(NotAName { kind: $kind, text: text.chars().take(80).collect() })
                }
            }

            /// As it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAName;

            fn try_from(text: String) -> Result<$name, NotAName> {
                $name::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A repository on a forge: `github:acme/app`. Numbers mean something only together with it.
    ProjectId,
    "project: it reads forge:owner/repository",
    |text| {
        let parts = text.split_once(':').and_then(|(forge, path)| Some((forge, path.split_once('/')?)));
        parts.is_some_and(|(forge, (owner, repo))| [forge, owner, repo].into_iter().all(is_word))
    }
);

name!(
    /// A task: `GH-12`.
    TaskKey,
    "key of a task: it reads GH-12",
    |text| {
        let parts = text.split_once('-');
        parts.is_some_and(|(tracker, number)| {
            !tracker.is_empty()
                && tracker.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
                && !number.is_empty()
                && number.len() <= 18
                && number.bytes().all(|b| b.is_ascii_digit())
        })
    }
);

name!(
    /// A branch, without `refs/heads/`.
    Branch,
    "name of a branch",
    |text| {
        let refused = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
        !text.is_empty()
            && !text.contains(refused)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.contains("//")
            && !text.starts_with(['-', '/', '.'])
            && !text.ends_with(['/', '.'])
            && !text.ends_with(".lock")
    }
);

name!(
    /// A commit, by its whole id.
    Sha,
    "id of a commit: 40 or 64 small hexadecimal digits",
    |text| (text.len() == 40 || text.len() == 64) && is_small_hex(text)
);

name!(
    /// What the text of an issue hashes to: SHA-256, by whoever read it.
    BodyHash,
    "hash of a text: 64 small hexadecimal digits",
    |text| text.len() == 64 && is_small_hex(text)
);

name!(
    /// The state directory of one Pilot, the same over restarts. Who writes to a forge says which it is.
    HomeId,
    "name of a state directory",
    is_word
);

name!(
    /// One start of one Pilot.
    InstanceId,
    "name of an instance",
    is_word
);

/// Letters, digits and a few marks, and something else than marks alone.
fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && text.bytes().any(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_small_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

impl TaskKey {
    /// The task of an issue on GitHub.
    pub fn of_issue(issue: IssueNumber) -> TaskKey {
        TaskKey(format!("GH-{}", issue.0))
    }

    /// The number behind the tracker's name.
    pub fn number(&self) -> IssueNumber {
        // A key has digits there, few enough for a number.
        IssueNumber(self.0.split_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(u64::MAX))
    }
}

impl Branch {
    /// Pilot's own branch for a task. Each life of a task has its own: a branch that was merged is never used again.
    pub fn of_task(task: &TaskKey, life: u32) -> Branch {
        match life {
            0 => Branch(format!("pilot/{task}")),
            again => Branch(format!("pilot/{task}-{}", again.saturating_add(1))),
        }
    }
}

impl Sha {
    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

/// A number a forge gives.
macro_rules! number {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "#{}", self.0)
            }
        }
    };
}

number!(
    /// An issue.
    IssueNumber
);
number!(
    /// A pull request.
    PrNumber
);

/// A comment, by the forge's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommentId(pub u64);

/// How often a task was claimed. It is the fencing token: who holds an older one may not write any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// The one behind it.
    pub fn next(self) -> Generation {
        Generation(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Branch, HomeId, IssueNumber, ProjectId, Sha, TaskKey};

    #[test]
    fn names_are_read_or_refused() {
        let check = |ok: bool, good: bool, text: &str| assert_eq!(ok, good, "{text:?}");
        for (text, good) in [
            ("github:acme/app", true),
            ("local:a/b.c", true),
            ("acme/app", false),
            ("github:acme", false),
            ("github:acme/..", false),
            ("github:a/b/c", false),
            ("github:a b/c", false),
        ] {
            check(ProjectId::parse(text).is_ok(), good, text);
        }
        for (text, good) in
            [("GH-12", true), ("LIN2-3", true), ("GH-", false), ("gh-1", false), ("GH-1x", false)]
        {
            check(TaskKey::parse(text).is_ok(), good, text);
        }
        for (text, good) in [
            ("pilot/GH-1", true),
            ("main", true),
            ("a..b", false),
            ("-f", false),
            ("a b", false),
            ("a/", false),
            ("x.lock", false),
            ("a\nb", false),
            ("", false),
        ] {
            check(Branch::parse(text).is_ok(), good, text);
        }
        check(Sha::parse(&"a1".repeat(20)).is_ok(), true, "40");
        check(Sha::parse(&"A1".repeat(20)).is_ok(), false, "capitals");
        check(Sha::parse("abc").is_ok(), false, "short");
        check(HomeId::parse("").is_ok(), false, "empty");
        assert!(Branch::parse(&"x".repeat(300)).is_err());
    }

    #[test]
    fn a_name_read_from_json_is_checked_too() {
        assert!(serde_json::from_str::<Sha>("\"main\"").is_err());
        let words = Sha::parse("main").unwrap_err().to_string();
        assert_eq!(words, "\"main\" is no id of a commit: 40 or 64 small hexadecimal digits");
    }

    #[test]
    fn each_life_has_its_own_branch() {
        let task = TaskKey::of_issue(IssueNumber(12));
        let branches = [0, 1, 2].map(|life| Branch::of_task(&task, life).to_string());
        assert_eq!(branches, ["pilot/GH-12", "pilot/GH-12-2", "pilot/GH-12-3"]);
        assert!(branches.iter().all(|branch| Branch::parse(branch).is_ok()));
    }
}
