//! Names that come from outside, checked once at the border; afterwards the type is the proof.
//!
//! What is checked here may stand in a path, in git's arguments and in a URL: none begins with a dash, holds `..`, a slash
//! where none belongs, or a control character.

use std::fmt;

/// Paths of the API and of the pages, which no user may be called.
const RESERVED: [&str; 18] = [
    "_forge",
    "admin",
    "api",
    "assets",
    "events",
    "gists",
    "graphql",
    "login",
    "logout",
    "meta",
    "orgs",
    "rate_limit",
    "repos",
    "repositories",
    "search",
    "static",
    "user",
    "users",
];

/// Whether a first part of a path belongs to the API or the pages.
pub(crate) fn is_reserved(text: &str) -> bool {
    RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// The name of a user, as GitHub allows it: letters, digits and single dashes, 39 at most; a bot's ends with `[bot]`.
pub(crate) fn is_login(text: &str) -> bool {
    let name = text.strip_suffix("[bot]").unwrap_or(text);
    let sound = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    name.len() <= 39 && name.split('-').all(sound) && !is_reserved(name)
}

/// The name of a repository: letters, digits, `.`, `-` and `_`, 100 at most.
pub(crate) fn is_repo_name(text: &str) -> bool {
    let letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let lower = text.to_ascii_lowercase();
    letters
        && (1..=100).contains(&text.len())
        && ![".", ".."].contains(&text)
        && !text.starts_with('-')
        && !lower.ends_with(".git")
        && !lower.ends_with(".wiki")
}

/// The full name of a ref, like `refs/heads/main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RefName(String);

impl RefName {
    /// A full name; it must begin with `refs/`.
    pub(crate) fn parse(text: &str) -> Option<RefName> {
        let sound = text.starts_with("refs/") && text.split('/').count() >= 3 && is_ref_format(text);
        sound.then(|| RefName(text.to_owned()))
    }

    /// The ref of a branch.
    pub(crate) fn branch(name: &str) -> Option<RefName> {
        // git refuses to make a branch of this name, though its format is fine.
        if name.starts_with('-') || name == "HEAD" {
            None
        } else {
            RefName::parse(&format!("refs/heads/{name}"))
        }
    }

    /// The ref of a tag.
    pub(crate) fn tag(name: &str) -> Option<RefName> {
        if name.starts_with('-') { None } else { RefName::parse(&format!("refs/tags/{name}")) }
    }

    /// The ref under which the head of a pull request can be fetched.
    pub(crate) fn pull(number: i64) -> RefName {
        RefName(format!("refs/pull/{number}/head"))
    }

    /// The whole name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the branch, if it is one.
    pub(crate) fn as_branch(&self) -> Option<&str> {
        self.0.strip_prefix("refs/heads/")
    }

    /// The name of the tag, if it is one.
    pub(crate) fn as_tag(&self) -> Option<&str> {
        self.0.strip_prefix("refs/tags/")
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What `git check-ref-format` accepts, 255 bytes at most.
fn is_ref_format(text: &str) -> bool {
    let bad = |byte: u8| byte < 0x20 || byte == 0x7f || b" ~^:?*[\\".contains(&byte);
    text.len() <= 255
        && !text.bytes().any(bad)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

/// The name of an object: 40 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sha(String);

impl Sha {
    /// Reads a whole name, in either case.
    pub(crate) fn parse(text: &str) -> Option<Sha> {
        let sound = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        sound.then(|| Sha(text.to_ascii_lowercase()))
    }

    /// The name that stands for "nothing there".
    pub(crate) fn zero() -> Sha {
        Sha("0".repeat(40))
    }

    /// The 40 digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path inside a repository: relative, without empty, `.` and `..` parts, and never below a `.git`.
pub(crate) fn is_file_path(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 4096
        && !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
        && text
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::{RefName, Sha, is_file_path, is_login, is_repo_name};

    #[test]
    fn names_are_checked_at_the_border() {
        for name in ["a", "A-b-1", "dependabot[bot]", "x".repeat(39).as_str()] {
            assert!(is_login(name), "{name}");
        }
        for name in
            ["", "-a", "a-", "a--b", "a/b", "..", "a b", "repos", "Users", "_forge", "x".repeat(40).as_str()]
        {
            assert!(!is_login(name), "{name}");
        }
        for name in ["a", ".github", "a.b_c-d", "x".repeat(100).as_str()] {
            assert!(is_repo_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a.git", "a.GIT", "-x", "a b", "é", "x".repeat(101).as_str()] {
            assert!(!is_repo_name(name), "{name}");
        }
    }

    #[test]
    fn refs_are_what_git_takes() {
        for name in ["main", "pilot/GH-12", "a.b", "é", "a@b", "release/1.0"] {
            assert!(RefName::branch(name).is_some(), "{name}");
        }
        for name in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "a@{1}",
            "a\nb",
            "a\u{7f}",
            "HEAD",
            "x".repeat(250).as_str(),
        ] {
            assert!(RefName::branch(name).is_none(), "{name}");
        }
        assert!(RefName::parse("heads/main").is_none());
        assert!(RefName::parse("refs/heads").is_none());
    }

    #[test]
    fn objects_and_paths() {
        assert!(Sha::parse(&"A".repeat(40)).is_some_and(|sha| sha.as_str() == "a".repeat(40)));
        assert!(Sha::parse("abc").is_none() && Sha::parse(&"g".repeat(40)).is_none());
        for path in ["a", "a/b.c", ".pilot/ci.sh", "-x", "é"] {
            assert!(is_file_path(path), "{path}");
        }
        for path in ["", "/a", "a/", "../a", "a/../b", "./a", ".git/config", "a/.GIT/x", "a\0b"] {
            assert!(!is_file_path(path), "{path}");
        }
    }
}
