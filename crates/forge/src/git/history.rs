//! Reading commits.

use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;
use crate::timestamp::Timestamp;

/// An author, committer or tagger with a date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) date: Timestamp,
}

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: Sha,
    pub(crate) tree: Sha,
    pub(crate) parents: Vec<Sha>,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: String,
}

impl Commit {
    pub(crate) fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// The sha and the title of a CI run on this commit.
    pub(crate) fn as_ci(&self) -> (&Sha, &str) {
        (&self.sha, self.subject())
    }
}

/// Fields separated by unit separators, commits ended by a record separator and a newline.
const FORMAT: &str = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%at%x1f%cn%x1f%ce%x1f%ct%x1f%B%x1e";

impl Repository<'_> {
    pub(crate) async fn commit(&self, sha: &Sha) -> Result<Option<Commit>, GitError> {
        let args = ["log", "-1", "--no-walk", FORMAT, "--end-of-options", sha.as_str(), "--"];
        let output = self.call(args).output().await?;
        Ok(commits(&output.text()).into_iter().next())
    }

    /// Several commits, in any order.
    pub(crate) async fn commits(&self, shas: &[Sha]) -> Result<Vec<Commit>, GitError> {
        if shas.is_empty() {
            return Ok(Vec::new());
        }
        let lines: String = shas.iter().map(|sha| format!("{sha}\n")).collect();
        let args = ["log", "--no-walk=unsorted", "--ignore-missing", FORMAT, "--stdin"];
        Ok(commits(&self.call(args).stdin(lines.as_bytes()).run().await?.text()))
    }

    /// Commits reachable from `tip` and not from `without`, newest first.
    pub(crate) async fn log(
        &self,
        tip: &Sha,
        without: Option<&Sha>,
        most: usize,
    ) -> Result<Vec<Commit>, GitError> {
        self.log_of(tip, without, None, 0, most).await
    }

    /// Like [`Repository::log`], for one path or all, after `skip` commits.
    pub(crate) async fn log_of(
        &self,
        tip: &Sha,
        without: Option<&Sha>,
        path: Option<&str>,
        skip: i64,
        most: usize,
    ) -> Result<Vec<Commit>, GitError> {
        let (most, skip) = (format!("--max-count={most}"), format!("--skip={skip}"));
        let without = without.map(|sha| format!("^{sha}"));
        let mut args = vec!["log", "--topo-order", &most, &skip, FORMAT, "--end-of-options", tip.as_str()];
        args.extend(without.as_deref());
        args.push("--");
        let path = path.map(|path| format!(":(literal){path}"));
        args.extend(path.as_deref());
        Ok(commits(&self.call(args).run().await?.text()))
    }

    /// The number of commits reachable from `tip` and not from `without`.
    pub(crate) async fn count(&self, tip: &Sha, without: &Sha) -> Result<i64, GitError> {
        let without = format!("^{without}");
        let args = ["rev-list", "--count", "--end-of-options", tip.as_str(), &without];
        self.call(args).run().await?.text().parse().map_err(|_| GitError::Unexpected("rev-list"))
    }
}

fn commits(text: &str) -> Vec<Commit> {
    text.split('\u{1e}').filter_map(|record| commit(record.trim_start_matches('\n'))).collect()
}

fn commit(record: &str) -> Option<Commit> {
    let mut fields = record.splitn(10, '\u{1f}');
    let mut next = || fields.next();
    let (sha, tree) = (Sha::parse(next()?)?, Sha::parse(next()?)?);
    let parents = next()?.split_whitespace().filter_map(Sha::parse).collect();
    let mut signature = || {
        let (name, email) = (next()?.to_owned(), next()?.to_owned());
        Some(Signature { name, email, date: Timestamp::of_seconds(next()?.parse().ok()?) })
    };
    let (author, committer) = (signature()?, signature()?);
    let message = next()?.trim_end_matches('\n').to_owned();
    Some(Commit { sha, tree, parents, author, committer, message })
}
