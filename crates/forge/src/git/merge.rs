//! Merges without a working tree: they write objects; the caller moves the refs.

use super::history::{Commit, Signature};
use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;

/// Pull requests with more commits are not rebased.
const MOST_REBASED: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeOutcome {
    Clean(Sha),
    Conflict,
}

impl Repository<'_> {
    /// Merges `theirs` into `ours`.
    pub(crate) async fn merge_tree(&self, ours: &Sha, theirs: &Sha) -> Result<MergeOutcome, GitError> {
        self.merge_from(None, ours, theirs).await
    }

    async fn merge_from(
        &self,
        base: Option<&Sha>,
        ours: &Sha,
        theirs: &Sha,
    ) -> Result<MergeOutcome, GitError> {
        let base = base.map(|base| format!("--merge-base={base}"));
        let mut args = vec!["merge-tree", "--write-tree", "--no-messages"];
        args.extend(base.as_deref());
        args.extend([ours.as_str(), theirs.as_str()]);
        let output = self.call(args).output().await?;
        match output.code {
            Some(0) => {
                let text = output.text();
                let tree = Sha::parse(text.lines().next().unwrap_or_default());
                Ok(MergeOutcome::Clean(tree.ok_or(GitError::Unexpected("merge-tree"))?))
            }
            Some(1) => Ok(MergeOutcome::Conflict),
            _ if output.stderr.contains("unrelated histories") => Ok(MergeOutcome::Conflict),
            _ => Err(GitError::Failed { command: "merge-tree".to_owned(), stderr: output.stderr }),
        }
    }

    /// Replays the commits of `head` on top of `base`; `None` if one of them conflicts.
    pub(crate) async fn rebase(
        &self,
        base: &Sha,
        head: &Sha,
        committer: &Signature,
    ) -> Result<Option<Sha>, GitError> {
        let mut commits = self.log(head, Some(base), MOST_REBASED + 1).await?;
        if commits.len() > MOST_REBASED {
            return Ok(None);
        }
        commits.reverse();
        let mut tip = base.clone();
        // Like git, a rebase skips merge commits: their changes are replayed or in the base already.
        for commit in commits.iter().filter(|commit| commit.parents.len() < 2) {
            match self.replay(&tip, commit, committer).await? {
                Some(next) => tip = next,
                None => return Ok(None),
            }
        }
        Ok(Some(tip))
    }

    async fn replay(
        &self,
        tip: &Sha,
        commit: &Commit,
        committer: &Signature,
    ) -> Result<Option<Sha>, GitError> {
        let tree = match commit.parents.first() {
            Some(parent) => self.merge_from(Some(parent), tip, &commit.sha).await?,
            None => self.merge_tree(tip, &commit.sha).await?,
        };
        let MergeOutcome::Clean(tree) = tree else {
            return Ok(None);
        };
        let parents = [tip.clone()];
        Ok(Some(self.write_commit(&tree, &parents, &commit.author, committer, &commit.message).await?))
    }
}
