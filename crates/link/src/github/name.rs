//! Names of repositories.

use std::fmt;

use super::GITHUB;
use crate::error::{CallFault, LinkError, Result};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    pub fn parse(text: &str) -> Result<Self> {
        let fine = |part: &str| {
            let letters = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            letters && !part.is_empty() && part.len() <= 100 && !matches!(part, "." | "..")
        };
        match text.split_once('/') {
            Some((owner, name)) if fine(owner) && fine(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(LinkError::new(&GITHUB, "read the name of a repository", CallFault::bad_name(text))),
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether both are the same repository: GitHub compares names without case.
    pub fn is_same(&self, other: &RepoName) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::RepoName;

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
}
