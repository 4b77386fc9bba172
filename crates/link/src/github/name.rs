//! Names of things: repositories, commits, issues and pull requests.

use std::fmt;

use super::{GithubError, Why};

/// `owner/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    /// Reads `owner/name`.
    pub fn parse(text: &str) -> Result<Self, GithubError> {
        let fine = |part: &str| {
            let letters = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            letters && !part.is_empty() && part.len() <= 100 && !matches!(part, "." | "..")
        };
        match text.split_once('/') {
            Some((owner, name)) if fine(owner) && fine(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(GithubError::new("read the name of a repository", Why::bad_name(text))),
        }
    }

    /// Who it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its name there.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether both are the same repository: GitHub does not tell upper from lower case.
    pub fn is_same(&self, other: &RepoName) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// The number of an issue or pull request; both count in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The full name of a commit: 40 or 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha(String);

impl Sha {
    /// Reads a full name.
    pub fn parse(text: &str) -> Result<Self, GithubError> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && [40, 64].contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(GithubError::new("read the name of a commit", Why::bad_name(text)))
        }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{RepoName, Sha};

    #[test]
    fn repositories_have_two_plain_parts() {
        for (text, fine) in [
            ("alekspetrov/pilot", true),
            ("a-b/c.d_e", true),
            ("a/b/c", false),
            ("a", false),
            ("/b", false),
            ("a/", false),
            ("a/..", false),
            ("./b", false),
            ("a b/c", false),
            ("a/b?x", false),
            ("a/%2e%2e", false),
            ("ä/b", false),
        ] {
            assert_eq!(RepoName::parse(text).is_ok(), fine, "{text:?}");
        }
        let [one, other] = ["Ada/X", "ada/x"].map(|text| RepoName::parse(text).unwrap());
        assert!(one.is_same(&other) && one != other);
    }

    #[test]
    fn commits_have_full_names() {
        for (text, fine) in
            [(&*"a".repeat(40), true), (&*"0".repeat(64), true), ("abc", false), ("HEAD", false)]
        {
            assert_eq!(Sha::parse(text).is_ok(), fine, "{text:?}");
        }
        assert!(Sha::parse(&"A".repeat(40)).is_err());
    }
}
