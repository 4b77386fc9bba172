//! Refs: the truth about branches and tags.

use super::repository::Repository;
use super::run::GitError;
use crate::name::{RefName, Sha};

/// What became of a change to a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefUpdate {
    /// It is made.
    Done,
    /// The ref had another value than expected.
    Stale,
}

/// A ref with what it points to.
#[derive(Clone, Debug)]
pub(crate) struct FullRef {
    pub(crate) name: RefName,
    pub(crate) sha: Sha,
    /// What that object is.
    pub(crate) kind: String,
    /// The commit, if it is one or a tag of one.
    pub(crate) commit: Option<Sha>,
}

impl Repository<'_> {
    /// The same for branches and tags, with what they point to.
    pub(crate) async fn full_refs(&self, prefixes: &[&str]) -> Result<Vec<FullRef>, GitError> {
        let format = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(refname)";
        let mut args = vec!["for-each-ref", format];
        args.extend(prefixes);
        Ok(self.call(args).run().await?.text().lines().filter_map(full_ref).collect())
    }

    /// All branches and tags, and what they point to. Tag objects are not followed.
    pub(crate) async fn refs(&self) -> Result<Vec<(RefName, Sha)>, GitError> {
        self.refs_below(&["refs/heads", "refs/tags"]).await
    }

    /// The refs below some names, which are checked.
    pub(crate) async fn refs_below(&self, prefixes: &[&str]) -> Result<Vec<(RefName, Sha)>, GitError> {
        let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        args.extend(prefixes);
        let output = self.call(args).run().await?;
        let text = output.text();
        let line = |line: &str| {
            let (sha, name) = line.split_once(' ')?;
            Some((RefName::parse(name)?, Sha::parse(sha)?))
        };
        Ok(text.lines().filter_map(line).collect())
    }

    /// What a ref points to.
    pub(crate) async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, GitError> {
        self.resolve(name.as_str()).await
    }

    /// Points a ref from one value to another; [`Sha::zero`] is absent.
    pub(crate) async fn update_ref(
        &self,
        name: &RefName,
        new: &Sha,
        old: &Sha,
    ) -> Result<RefUpdate, GitError> {
        let line = if *new == Sha::zero() {
            format!("delete {name} {old}\n")
        } else if *old == Sha::zero() {
            format!("create {name} {new}\n")
        } else {
            format!("update {name} {new} {old}\n")
        };
        let output = self.call(["update-ref", "--stdin"]).stdin(line.as_bytes()).ask().await?;
        match output.code {
            Some(0) => Ok(RefUpdate::Done),
            _ if is_stale(&output.complaint) => Ok(RefUpdate::Stale),
            _ => Err(GitError::Refused { command: "update-ref".to_owned(), complaint: output.complaint }),
        }
    }
}

impl Repository<'_> {
    /// Keeps the head of a pull request under a name of its own, so that it can be fetched and outlives its branch.
    pub(crate) async fn keep_pull(&self, number: i64, head: &Sha) -> Result<(), GitError> {
        let line = format!("update {} {head}\n", RefName::pull(number));
        self.call(["update-ref", "--stdin"]).stdin(line.as_bytes()).run().await?;
        Ok(())
    }

    /// Makes a branch the one that clones begin with. The name is checked.
    pub(crate) async fn point_head(&self, branch: &str) -> Result<(), GitError> {
        let name = RefName::branch(branch).ok_or(GitError::Strange("symbolic-ref"))?;
        self.call(["symbolic-ref", "HEAD", name.as_str()]).run().await?;
        Ok(())
    }
}

/// `sha type peeled-sha peeled-type name`, where the peeled ones are empty for what is no tag object.
fn full_ref(line: &str) -> Option<FullRef> {
    let mut fields = line.splitn(5, ' ');
    let mut next = || fields.next();
    let (sha, kind, peeled, peeled_kind) = (Sha::parse(next()?)?, next()?.to_owned(), next()?, next()?);
    let name = RefName::parse(next()?)?;
    let commit = match kind.as_str() {
        "commit" => Some(sha.clone()),
        _ if peeled_kind == "commit" => Sha::parse(peeled),
        _ => None,
    };
    Some(FullRef { name, sha, kind, commit })
}

fn is_stale(complaint: &str) -> bool {
    ["but expected", "reference already exists", "unable to resolve reference", "reference is missing"]
        .iter()
        .any(|words| complaint.contains(words))
}
