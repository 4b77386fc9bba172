//! Names from outside, validated once; afterwards the type is the proof.
//!
//! Validated names are safe in paths, in git's arguments and in URLs: none starts with a dash, contains `..`, a misplaced slash
//! or a control character.

use std::fmt;

/// First path segments of the API and the pages, which are no valid logins.
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

pub(crate) fn is_reserved(text: &str) -> bool {
    RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// A login as GitHub allows it: letters, digits and single dashes, 39 at most; a bot's ends with `[bot]`.
pub(crate) fn is_login(text: &str) -> bool {
    let name = text.strip_suffix("[bot]").unwrap_or(text);
    let valid = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    name.len() <= 39 && name.split('-').all(valid) && !is_reserved(name)
}

/// Letters, digits, `.`, `-` and `_`, 100 at most.
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
    /// Parses a full name, which starts with `refs/`.
    pub(crate) fn parse(text: &str) -> Option<RefName> {
        let valid = text.starts_with("refs/") && text.split('/').count() >= 3 && is_ref_format(text);
        valid.then(|| RefName(text.to_owned()))
    }

    pub(crate) fn branch(name: &str) -> Option<RefName> {
        // Git refuses this branch name although its format is valid.
        if name.starts_with('-') || name == "HEAD" {
            None
        } else {
            RefName::parse(&format!("refs/heads/{name}"))
        }
    }

    pub(crate) fn tag(name: &str) -> Option<RefName> {
        if name.starts_with('-') { None } else { RefName::parse(&format!("refs/tags/{name}")) }
    }

    /// The ref of a pull request's head.
    pub(crate) fn pull(number: i64) -> RefName {
        RefName(format!("refs/pull/{number}/head"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the branch; `None` for other refs.
    pub(crate) fn as_branch(&self) -> Option<&str> {
        self.0.strip_prefix("refs/heads/")
    }

    /// The name of the tag; `None` for other refs.
    pub(crate) fn as_tag(&self) -> Option<&str> {
        self.0.strip_prefix("refs/tags/")
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Accepts what `git check-ref-format` accepts, 255 bytes at most.
fn is_ref_format(text: &str) -> bool {
    let bad = |byte: u8| byte < 0x20 || byte == 0x7f || b" ~^:?*[\\".contains(&byte);
    text.len() <= 255
        && !text.bytes().any(bad)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

/// An object id: 40 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sha(String);

impl Sha {
    /// Parses a full object id in either case.
    pub(crate) fn parse(text: &str) -> Option<Sha> {
        let valid = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| Sha(text.to_ascii_lowercase()))
    }

    /// Git's id for an absent object.
    pub(crate) fn zero() -> Sha {
        Sha("0".repeat(40))
    }

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
    fn logins_and_repository_names_are_validated() {
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
    fn ref_names_follow_gits_rules() {
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
    fn object_ids_and_file_paths_are_validated() {
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
