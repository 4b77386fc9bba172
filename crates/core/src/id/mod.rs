//! What things are called: projects, tasks, comments, pull requests, branches, commits. Each is parsed once, at the border,
//! and cannot be mixed up with another.

mod reference;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use reference::{KeyStyle, References};

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
            pub fn parse(text: &str) -> Result<$name, NotAName> {
                let valid: fn(&str) -> bool = $valid;
                if text.len() <= LONGEST && valid(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(NotAName { kind: $kind, text: text.chars().take(80).collect() })
                }
            }

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
    /// A repository on a forge: `github:acme/app`, `gitlab:group/team/app`, `azure:org/project/app`.
    ProjectId,
    "project: it reads forge:owner/repository",
    |text| {
        text.split_once(':').is_some_and(|(forge, path)| {
            is_word(forge) && path.contains('/') && path.split('/').all(is_word)
        })
    }
);

impl ProjectId {
    /// The forge's name: `github`.
    pub fn forge(&self) -> &str {
        self.0.split_once(':').map_or("", |(forge, _)| forge)
    }

    /// Its name on the forge: `acme/app`.
    pub fn path(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, path)| path)
    }
}

name!(
    /// A task, by the key of its ticket: `GH-12`, `ENG-123`, `PLANE-WEB-4`. Unique within a project.
    TaskKey,
    "key of a task: it reads GH-12",
    |text| {
        let Some((prefix, number)) = text.rsplit_once('-') else { return false };
        let is_capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        prefix.split('-').all(|part| !part.is_empty() && part.bytes().all(is_capital))
            && !number.is_empty()
            && number.len() <= 19
            && number.bytes().all(|b| b.is_ascii_digit())
    }
);

name!(
    /// A comment, by the id its tracker or forge gave it. Ids have no order: comments are ordered by time.
    CommentId,
    "id of a comment",
    |text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
);

name!(
    /// A branch, without `refs/heads/`, by the rules of `git check-ref-format --branch`.
    Branch,
    "name of a branch that git allows",
    |text| {
        let refused = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
        // File systems allow 255 bytes for a component, and git adds `.lock`.
        let good_part = |part: &str| {
            let dots = part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock");
            !part.is_empty() && part.len() <= 200 && !dots
        };
        text.split('/').all(good_part)
            && !text.contains(refused)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.starts_with('-')
            && text != "@"
            && text != "HEAD"
    }
);

name!(
    /// A commit, by its whole id.
    Sha,
    "id of a commit: 40 or 64 small hexadecimal digits",
    |text| (text.len() == 40 || text.len() == 64) && is_small_hex(text)
);

name!(
    /// The SHA-256 of a ticket's text, computed by the adapter that read it.
    BodyHash,
    "hash of a text: 64 small hexadecimal digits",
    |text| text.len() == 64 && is_small_hex(text)
);

name!(
    /// The state directory of one Pilot, the same over restarts. Claims on a forge carry it.
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
    /// The key of a ticket that its tracker numbers: `("GH", 12)` gives `GH-12`.
    pub fn numbered(prefix: &str, number: u64) -> TaskKey {
        TaskKey(format!("{prefix}-{number}"))
    }

    /// The ticket's number, if the key has this prefix.
    pub fn number_with(&self, prefix: &str) -> Option<u64> {
        self.0.strip_prefix(prefix)?.strip_prefix('-')?.parse().ok()
    }
}

impl Branch {
    /// Pilot's own branch for a task. Each life of a task has its own: a merged branch is never used again.
    pub fn of_task(task: &TaskKey, life: u32) -> Branch {
        match life {
            0 => Branch(format!("pilot/{task}")),
            again => Branch(format!("pilot/{task}-{}", again.saturating_add(1))),
        }
    }

    /// The full name of its ref: `refs/heads/…`.
    pub fn ref_name(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl Sha {
    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

/// A pull request, by the number its forge gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrNumber(pub u64);

/// How often a task was claimed: the fencing token. A holder of an older one may not write any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    #[must_use]
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
    use super::{Branch, CommentId, HomeId, ProjectId, Sha, TaskKey};

    #[test]
    fn names_are_read_or_refused() {
        let check = |ok: bool, good: bool, text: &str| assert_eq!(ok, good, "{text:?}");
        for (text, good) in [
            ("github:acme/app", true),
            ("local:a/b.c", true),
            ("gitlab:group/team/app", true),
            ("azure:org/project/app", true),
            ("acme/app", false),
            ("github:acme", false),
            ("github:acme/..", false),
            ("github:acme//app", false),
            ("github:/app", false),
            ("github:a b/c", false),
        ] {
            check(ProjectId::parse(text).is_ok(), good, text);
        }
        for (text, good) in [
            ("GH-12", true),
            ("LIN2-3", true),
            ("AZDO-4", true),
            ("ASANA-1209384756102938", true),
            ("PLANE-WEB-4", true),
            ("GH-", false),
            ("gh-1", false),
            ("GH-1x", false),
            ("PLANE--4", false),
            ("-4", false),
            ("12", false),
        ] {
            check(TaskKey::parse(text).is_ok(), good, text);
        }
        for (text, good) in
            [("17", true), ("0191-uuid", true), ("IC_kw/=", true), ("", false), ("a b", false)]
        {
            check(CommentId::parse(text).is_ok(), good, text);
        }
        check(HomeId::parse("").is_ok(), false, "empty");
    }

    #[test]
    fn branch_names_follow_the_rules_of_git() {
        for name in ["main", "pilot/GH-1", "pilot/GH-12", "release/2026/11", "grün", "a.b", "x@y"] {
            assert!(Branch::parse(name).is_ok(), "{name:?}");
        }
        for name in [
            "", "-f", "a b", "a..b", "a/.b", "a./b", "a/", "/a", "a//b", "x.lock", "x.lock/y", "a.", "HEAD",
            "@", "a@{1}", "a\n", "a\nb", "a~1", "a:b", "a\\b",
        ] {
            assert!(Branch::parse(name).is_err(), "{name:?}");
        }
        assert!(Branch::parse(&"x".repeat(201)).is_err());
        assert!(Branch::parse(&"x".repeat(300)).is_err());
        assert!(Branch::parse(&["x"; 150].join("/")).is_err());
        assert_eq!(Branch::parse("pilot/GH-1").unwrap().ref_name(), "refs/heads/pilot/GH-1");
    }

    #[test]
    fn a_commit_id_is_40_or_64_small_hexadecimal_digits() {
        for (text, good) in [
            ("0123456789abcdef0123456789abcdef01234567", true),
            (&"a1".repeat(20), true),
            (&"a".repeat(64), true),
            (&"a".repeat(63), false),
            ("0123456789ABCDEF0123456789abcdef01234567", false),
            (&"A1".repeat(20), false),
            ("abc", false),
            ("HEAD", false),
            ("", false),
            (&"é".repeat(20), false),
        ] {
            assert_eq!(Sha::parse(text).is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn a_name_read_from_json_is_checked_too() {
        assert!(serde_json::from_str::<Sha>("\"main\"").is_err());
        let words = Sha::parse("main").unwrap_err().to_string();
        assert_eq!(words, "\"main\" is no id of a commit: 40 or 64 small hexadecimal digits");
    }

    #[test]
    fn a_numbered_key_gives_its_number_back() {
        let key = TaskKey::numbered("GH", 12);
        assert_eq!((key.as_str(), TaskKey::parse("GH-12").as_ref()), ("GH-12", Ok(&key)));
        assert_eq!((key.number_with("GH"), key.number_with("GL")), (Some(12), None));
        assert_eq!(TaskKey::parse("GHX-12").unwrap().number_with("GH"), None);
    }

    #[test]
    fn each_life_has_its_own_branch() {
        let task = TaskKey::numbered("GH", 12);
        let branches = [0, 1, 2].map(|life| Branch::of_task(&task, life).to_string());
        assert_eq!(branches, ["pilot/GH-12", "pilot/GH-12-2", "pilot/GH-12-3"]);
        assert!(branches.iter().all(|branch| Branch::parse(branch).is_ok()));
    }
}
