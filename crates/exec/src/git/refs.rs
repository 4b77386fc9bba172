//! Refs: listed, and changed only from an expected value.

use std::collections::BTreeMap;

use pilot_core::id::Sha;

use super::{Git, GitError};

pub type Refs = BTreeMap<String, Sha>;

/// One change of a ref, made only when it is where it is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    pub name: String,
    /// Where it must be before; none for "does not exist".
    pub before: Option<Sha>,
    /// Where it shall be; none for "deleted".
    pub after: Option<Sha>,
}

impl RefChange {
    /// Sets a ref that is now where `refs` say.
    pub(crate) fn set(name: &str, refs: &Refs, after: &Sha) -> RefChange {
        RefChange { name: name.to_owned(), before: refs.get(name).cloned(), after: Some(after.clone()) }
    }
}

impl Git {
    /// The refs below these prefixes (`refs/heads/`); none means all.
    pub fn refs(&self, prefixes: &[&str]) -> Result<Refs, GitError> {
        let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        args.extend_from_slice(prefixes);
        // A name that is not UTF-8 cannot be one of ours, so it is left out.
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
        let Some(any) = changes.iter().find_map(|change| change.after.as_ref().or(change.before.as_ref()))
        else {
            return Ok(());
        };
        // All zeros, as long as the repository's ids: the ref must not exist.
        let absent = "0".repeat(any.as_str().len());
        let mut script = String::from("start\n");
        for RefChange { name, before, after } in changes {
            let before = before.as_ref().map_or(absent.as_str(), Sha::as_str);
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

    pub fn create_ref(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        let change = RefChange { name: name.to_owned(), before: None, after: Some(at.clone()) };
        self.change_refs(&[change], "pilot: create")
    }

    pub fn delete_ref(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        let change = RefChange { name: name.to_owned(), before: Some(at.clone()), after: None };
        self.change_refs(&[change], "pilot: delete")
    }
}
