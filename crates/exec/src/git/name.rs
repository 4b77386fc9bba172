//! Names of branches.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::GitError;

/// The name of a branch, without `refs/heads/`, as git allows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

impl BranchName {
    /// Reads a name by the rules of `git check-ref-format --branch`.
    pub fn parse(name: &str) -> Result<Self, GitError> {
        match broken_rule(name) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(GitError::BadName { name: name.chars().take(200).collect(), why }),
        }
    }

    /// The name as people write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full name of the ref.
    pub fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for BranchName {
    type Error = GitError;

    fn try_from(name: String) -> Result<Self, GitError> {
        Self::parse(&name)
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

fn broken_rule(name: &str) -> Option<&'static str> {
    // The file systems' limit is 255 bytes a component, and git adds `.lock`.
    if name.is_empty() || name.split('/').any(|part| part.len() > 200) || name.len() > 1000 {
        return Some("it is empty or too long");
    }
    if name == "@" || name == "HEAD" || name.starts_with('-') {
        return Some("it would be taken for something else");
    }
    if name.contains("..") || name.contains("@{") {
        return Some("`..` and `@{` mean something else to git");
    }
    if name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c)) {
        return Some("it holds a space, a control character or one of ~^:?*[\\");
    }
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with(".lock") || part.ends_with('.')
    };
    name.split('/')
        .any(bad_part)
        .then_some("a part of it is empty, begins or ends with a dot, or ends with .lock")
}

#[cfg(test)]
mod tests {
    use super::BranchName;

    #[test]
    fn names_follow_the_rules_of_git() {
        for name in ["main", "pilot/GH-12", "release/2026/11", "grün", "a.b", "x@y"] {
            assert!(BranchName::parse(name).is_ok(), "{name:?}");
        }
        for name in [
            "", "-f", "a b", "a..b", "a/.b", "a/", "/a", "a//b", "x.lock", "x.lock/y", "a.", "HEAD", "@",
            "a@{1}", "a\n", "a~1", "a:b", "a\\b",
        ] {
            assert!(BranchName::parse(name).is_err(), "{name:?}");
        }
    }
}
