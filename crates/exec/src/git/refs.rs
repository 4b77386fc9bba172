//! Refs: listed, and changed only from an expected value.

use std::collections::BTreeMap;

use super::{Git, GitError, Sha};

/// Refs by full name.
pub type Refs = BTreeMap<String, Sha>;

/// One change of a ref, made only when it is where it is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    /// The full name.
    pub name: String,
    /// Where it must be before; none for "does not exist".
    pub before: Option<Sha>,
    /// Where it shall be; none for "deleted".
    pub after: Option<Sha>,
}

impl Git {
    /// The refs below these prefixes (`refs/heads/`); none means all.
    pub fn refs(&self, prefixes: &[&str]) -> Result<Refs, GitError> {
        let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        args.extend_from_slice(prefixes);
        // A name that is not UTF-8 is nobody's we could name, so it is left out.
        let listed = self.run(&args, b"")?;
        let lines = listed.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
        let pair = |line: &str| {
            let (sha, name) = line.split_once(' ')?;
            Some((name.to_owned(), Sha::parse(sha).ok()?))
        };
        Ok(lines.filter_map(pair).collect())
    }

    /// Makes all of these changes, or none of them when a ref is not where it is expected.
    pub fn change_refs(&self, changes: &[RefChange], why: &str) -> Result<(), GitError> {
        let Some(zero) =
            changes.iter().find_map(|change| change.after.as_ref().or(change.before.as_ref())).map(Sha::zero)
        else {
            return Ok(());
        };
        let mut script = String::from("start\n");
        for RefChange { name, before, after } in changes {
            let before = before.as_ref().unwrap_or(&zero);
            match after {
                Some(after) => script.push_str(&format!("update {name} {after} {before}\n")),
                None => script.push_str(&format!("delete {name} {before}\n")),
            }
        }
        script.push_str("prepare\ncommit\n");
        let ended = self
            .end(&["update-ref", "--no-deref", "--create-reflog", "-m", why, "--stdin"], script.as_bytes())?;
        if ended.code == Some(0) { Ok(()) } else { Err(GitError::RefRefused { reason: ended.stderr }) }
    }

    /// Makes a branch or any other ref that must not exist yet.
    pub fn create_ref(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        self.change_refs(
            &[RefChange { name: name.to_owned(), before: None, after: Some(at.clone()) }],
            "pilot: create",
        )
    }

    /// Deletes a ref that must be where it is expected.
    pub fn delete_ref(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        self.change_refs(
            &[RefChange { name: name.to_owned(), before: Some(at.clone()), after: None }],
            "pilot: delete",
        )
    }
}
