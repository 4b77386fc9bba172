//! Reading and updating refs.

use super::repository::Repository;
use super::run::GitError;
use crate::name::{RefName, Sha};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefUpdate {
    Done,
    /// The ref did not have the expected value.
    Stale,
}

#[derive(Clone, Debug)]
pub(crate) struct FullRef {
    pub(crate) name: RefName,
    pub(crate) sha: Sha,
    /// The kind of the object.
    pub(crate) kind: String,
    /// The commit that the ref points to, directly or through a tag object.
    pub(crate) commit: Option<Sha>,
}

impl Repository<'_> {
    /// The refs below some prefixes, with the objects they point to.
    pub(crate) async fn full_refs(&self, prefixes: &[&str]) -> Result<Vec<FullRef>, GitError> {
        let format = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(refname)";
        let mut args = vec!["for-each-ref", format];
        args.extend(prefixes);
        Ok(self.call(args).run().await?.text().lines().filter_map(full_ref).collect())
    }

    /// All branches and tags; tag objects are not dereferenced.
    pub(crate) async fn refs(&self) -> Result<Vec<(RefName, Sha)>, GitError> {
        self.refs_below(&["refs/heads", "refs/tags"]).await
    }

    /// The refs below some prefixes, which must be valid.
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

    pub(crate) async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, GitError> {
        self.resolve(name.as_str()).await
    }

    /// Updates a ref if it has the value `old`; [`Sha::zero`] means absent.
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
        let output = self.call(["update-ref", "--stdin"]).stdin(line.as_bytes()).output().await?;
        match output.code {
            Some(0) => Ok(RefUpdate::Done),
            _ if is_stale(&output.stderr) => Ok(RefUpdate::Stale),
            _ => Err(GitError::Failed { command: "update-ref".to_owned(), stderr: output.stderr }),
        }
    }
}

impl Repository<'_> {
    /// Points `refs/pull/N/head` to the head of a pull request, so that it can be fetched after its branch is deleted.
    pub(crate) async fn write_pull_ref(&self, number: i64, head: &Sha) -> Result<(), GitError> {
        let line = format!("update {} {head}\n", RefName::pull(number));
        self.call(["update-ref", "--stdin"]).stdin(line.as_bytes()).run().await?;
        Ok(())
    }

    /// Makes a branch the default of clones.
    pub(crate) async fn set_head(&self, branch: &str) -> Result<(), GitError> {
        let name = RefName::branch(branch).ok_or(GitError::Unexpected("symbolic-ref"))?;
        self.call(["symbolic-ref", "HEAD", name.as_str()]).run().await?;
        Ok(())
    }
}

/// `sha type peeled-sha peeled-type name`; the peeled fields are empty unless the ref points to a tag object.
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

fn is_stale(stderr: &str) -> bool {
    ["but expected", "reference already exists", "unable to resolve reference", "reference is missing"]
        .iter()
        .any(|words| stderr.contains(words))
}
