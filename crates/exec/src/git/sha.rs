//! The name of an object.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::GitError;

/// The full name of an object: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

impl Sha {
    /// Reads a full object name.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && [40, 64].contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(GitError::BadSha { text: text.chars().take(100).collect() })
        }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that stands for "no object" in a repository with names like this one.
    pub fn zero(&self) -> Self {
        Self("0".repeat(self.0.len()))
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
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

impl TryFrom<String> for Sha {
    type Error = GitError;

    fn try_from(text: String) -> Result<Self, GitError> {
        Self::parse(&text)
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

#[cfg(test)]
mod tests {
    use super::Sha;

    #[test]
    fn only_full_names_are_names() {
        for (text, fine) in [
            ("0123456789abcdef0123456789abcdef01234567", true),
            (&"a".repeat(64), true),
            (&"a".repeat(63), false),
            ("0123456789ABCDEF0123456789abcdef01234567", false),
            ("HEAD", false),
            ("", false),
            (&"é".repeat(20), false),
        ] {
            assert_eq!(Sha::parse(text).is_ok(), fine, "{text:?}");
        }
    }
}
