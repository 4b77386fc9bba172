//! Pushing one branch, from an expected value, and fetching one.

use std::path::Path;

use pilot_core::id::{Branch, Sha};

use super::exchange_dir::ExchangeDir;
use super::remote::one_line;
use super::run::GitExit;
use super::{GitError, RefChange, Remote, RemoteError, Repository};

/// How often pinning a ref is retried because another fetch pinned it meanwhile.
const PIN_TRIES: u32 = 10;

#[derive(Clone, Copy, Debug)]
pub struct RemoteSession<'a> {
    pub repository: &'a Repository,
    pub remote: &'a Remote,
    pub scratch: &'a Path,
}

#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    pub branch: &'a Branch,
    /// What every branch of ours begins with (`pilot/`).
    pub prefix: &'a str,
    /// Where it shall be; none for "deleted".
    pub commit: Option<&'a Sha>,
    /// Where it must be before; none for "does not exist".
    pub expected: Option<&'a Sha>,
}

/// The branch was moved just now, was at its target already, was found elsewhere and not changed, or is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushResult {
    Pushed,
    UpToDate,
    Stale { at: Option<Sha> },
    Rejected { by: Rejection, message: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The branch is protected, or a rule of the repository forbids it.
    Protected,
    Hook,
    Workflow,
    Other,
}

impl RemoteSession<'_> {
    /// Pushes one branch of ours. Only the remote's own report counts; without one, the branch is read.
    pub fn push(&self, push: &Push<'_>) -> Result<PushResult, RemoteError> {
        let Push { branch, prefix, commit, expected } = *push;
        if !is_ours(branch, prefix) {
            let (branch, prefix) = (branch.to_string(), prefix.to_owned());
            return Err(RemoteError::NotOurs { branch, prefix });
        }
        let exchange = self.exchange()?;
        // The remote would only report an incomplete pack.
        if let Some(commit) = commit.filter(|commit| !has(&exchange, commit)) {
            return Err(self.no_commit(commit));
        }
        let full = branch.ref_name();
        let lease = format!("--force-with-lease={full}:{}", expected.map_or("", Sha::as_str));
        let refspec = format!("{}:{full}", commit.map_or("", Sha::as_str));
        let args = ["push", "--porcelain", "--no-verify", &lease, "--", self.remote.url(), &refspec];
        let error = match exchange.end(&args) {
            Ok(ended) => match read(&ended, &full) {
                PushReport::Done(done) => return Ok(done),
                PushReport::Stale => return self.resolve_stale(branch, commit),
                PushReport::Silent => self.remote.explain(&ended.stderr),
            },
            Err(GitError::TimedOut { limit, .. }) => self.unknown(format!("timed out after {limit:?}")),
            Err(error) => return Err(error.into()),
        };
        if matches!(error, RemoteError::Unknown { .. }) {
            self.resolve_unknown(push, error)
        } else {
            Err(error)
        }
    }

    pub fn read_branch(&self, branch: &Branch) -> Result<Option<Sha>, RemoteError> {
        let full = branch.ref_name();
        let ended = self.exchange()?.end(&["ls-remote", "--", self.remote.url(), &full]);
        let ended = self.in_time(ended)?;
        if ended.code != Some(0) {
            return Err(self.remote.explain(&ended.stderr));
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        let line = printed.lines().find_map(|line| line.split_once('\t').filter(|(_, name)| *name == full));
        Ok(line.map(|(sha, _)| Sha::parse(sha)).transpose().map_err(GitError::from)?)
    }

    /// Fetches one branch, stores it under `pin`, a ref of ours (`refs/pilot/base/main`), and returns its commit.
    pub fn fetch(&self, branch: &Branch, pin: &str) -> Result<Sha, RemoteError> {
        let exchange = self.exchange()?;
        exchange.advertise_tips(self.repository)?;
        let refspec = format!("+{}:refs/fetched", branch.ref_name());
        let flags = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
        let ended = exchange.end(&[&flags[..], &["--", self.remote.url(), &refspec]].concat());
        let ended = self.in_time(ended)?;
        if ended.code != Some(0) {
            if ended.stderr.contains("couldn't find remote ref") {
                let (branch, url) = (branch.to_string(), self.remote.url().to_owned());
                return Err(RemoteError::NoBranch { branch, url });
            }
            return Err(self.remote.explain(&ended.stderr));
        }
        let fetched = exchange.resolve("refs/fetched^{commit}")?;
        let fetched = fetched.ok_or_else(|| self.unknown("the remote sent no commit".to_owned()))?;
        self.pin(pin, &fetched)?;
        Ok(fetched)
    }

    /// The branch was not where it was expected; perhaps it already is where it should be.
    fn resolve_stale(&self, branch: &Branch, commit: Option<&Sha>) -> Result<PushResult, RemoteError> {
        let at = self.read_branch(branch)?;
        Ok(if at.as_ref() == commit { PushResult::UpToDate } else { PushResult::Stale { at } })
    }

    /// It is unknown whether the push arrived, so the branch is read.
    fn resolve_unknown(&self, push: &Push<'_>, unclear: RemoteError) -> Result<PushResult, RemoteError> {
        match self.read_branch(push.branch) {
            Ok(at) if at.as_ref() == push.commit => Ok(PushResult::UpToDate),
            Ok(at) if at.as_ref() != push.expected => Ok(PushResult::Stale { at }),
            // It has not arrived, or not yet, or reading failed as well.
            Ok(_) | Err(_) => Err(unclear),
        }
    }

    fn no_commit(&self, commit: &Sha) -> RemoteError {
        let (commit, dir) = (commit.short().to_owned(), self.repository.common_dir.to_owned());
        RemoteError::NoCommit { commit, dir }
    }

    pub(super) fn exchange(&self) -> Result<ExchangeDir, GitError> {
        ExchangeDir::open(self.repository, self.remote, self.scratch)
    }

    /// Concurrent fetches of the same branch conflict; the later one retries.
    fn pin(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        let git = &self.repository.git;
        let mut tries = 0;
        loop {
            let before = git.refs(&[name])?.remove(name);
            if before.as_ref() == Some(at) {
                return Ok(());
            }
            let change = RefChange { name: name.to_owned(), before, after: Some(at.clone()) };
            match git.change_refs(&[change], "pilot: fetch") {
                Err(GitError::RefRefused { .. }) if tries < PIN_TRIES => tries += 1,
                other => return other,
            }
        }
    }

    /// A timeout of a command that only reads means that the remote is unreachable.
    pub(super) fn in_time(&self, ended: Result<GitExit, GitError>) -> Result<GitExit, RemoteError> {
        match ended {
            Err(GitError::TimedOut { limit, .. }) => Err(RemoteError::Unreachable {
                url: self.remote.url().to_owned(),
                message: format!("timed out after {limit:?}"),
            }),
            other => Ok(other?),
        }
    }

    pub(super) fn unknown(&self, message: String) -> RemoteError {
        RemoteError::Unknown { url: self.remote.url().to_owned(), message }
    }
}

/// Whether a commit exists locally; also true when git fails.
fn has(exchange: &ExchangeDir, commit: &Sha) -> bool {
    !matches!(exchange.resolve(&format!("{commit}^{{commit}}")), Ok(None))
}

fn is_ours(branch: &Branch, prefix: &str) -> bool {
    prefix.len() > 1 && prefix.ends_with('/') && branch.as_str().starts_with(prefix)
}

enum PushReport {
    Done(PushResult),
    Stale,
    /// Nothing reliable.
    Silent,
}

/// Reads `flag TAB from:to TAB summary` of the branch.
fn read(ended: &GitExit, full: &str) -> PushReport {
    let printed = String::from_utf8_lossy(&ended.stdout);
    let line = printed.lines().find_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
        let (_, to) = refs.split_once(':')?;
        (to == full).then(|| (flag.to_owned(), summary.to_owned()))
    });
    let Some((flag, summary)) = line else { return PushReport::Silent };
    match (flag.as_str(), ended.code) {
        (" " | "+" | "*" | "-", Some(0)) => PushReport::Done(PushResult::Pushed),
        ("=", Some(0)) => PushReport::Done(PushResult::UpToDate),
        ("!", _) if summary.contains("(stale info)") => PushReport::Stale,
        ("!", _) if summary.starts_with("[remote rejected]") => PushReport::Done(PushResult::Rejected {
            by: rejection(&summary, &ended.stderr),
            message: message(&summary, &ended.stderr),
        }),
        _ => PushReport::Silent,
    }
}

fn rejection(summary: &str, said: &str) -> Rejection {
    let has = |words: &[&str]| words.iter().any(|word| summary.contains(word) || said.contains(word));
    // GH006 and GH013 are GitHub's numbers for protected branches and for rules.
    if has(&["protected branch", "GH006", "GH013", "rule violations"]) {
        Rejection::Protected
    } else if has(&["`workflow` scope", "`workflows` permission"]) {
        Rejection::Workflow
    } else if has(&["hook declined"]) {
        Rejection::Hook
    } else {
        Rejection::Other
    }
}

fn message(summary: &str, said: &str) -> String {
    let theirs = said.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim);
    let theirs: Vec<&str> = theirs.filter(|line| !line.is_empty()).collect();
    let summary = summary.trim_start_matches("[remote rejected]").trim().trim_matches(['(', ')']);
    one_line(&format!("{summary}\n{}", theirs.join("\n")))
}

#[cfg(test)]
mod tests {
    use pilot_core::id::Branch;

    use super::{PushReport, PushResult, is_ours, read};
    use crate::git::GitExit;

    const FULL: &str = "refs/heads/pilot/x";

    #[test]
    fn answers_are_believed_only_when_they_are_about_the_branch() {
        for (stdout, code, expected) in [
            ("To u\n*\ta:refs/heads/pilot/x\t[new branch]\nDone\n", Some(0), "pushed"),
            ("To u\n \ta:refs/heads/pilot/x\t1..2\nDone\n", Some(0), "pushed"),
            ("To u\n+\ta:refs/heads/pilot/x\t1...2 (forced update)\nDone\n", Some(0), "pushed"),
            ("To u\n-\t:refs/heads/pilot/x\t[deleted]\nDone\n", Some(0), "pushed"),
            ("To u\n=\ta:refs/heads/pilot/x\t[up to date]\nDone\n", Some(0), "up to date"),
            ("To u\n!\ta:refs/heads/pilot/x\t[rejected] (stale info)\nDone\n", Some(1), "stale"),
            ("To u\n!\t(delete):refs/heads/pilot/x\t[rejected] (stale info)\nDone\n", Some(1), "stale"),
            ("!\ta:refs/heads/pilot/x\t[remote rejected] (pre-receive hook declined)\n", Some(1), "rejected"),
            ("!\ta:refs/heads/pilot/x\t[remote failure] (?)\n", Some(1), "silent"),
            ("*\ta:refs/heads/pilot/x\t[new branch]\n", Some(1), "silent"),
            ("*\ta:refs/heads/pilot/x\t[new branch]\n", None, "silent"),
            ("*\ta:refs/heads/pilot/xy\t[new branch]\nDone\n", Some(0), "silent"),
            ("Done\n", Some(0), "silent"),
            ("", Some(0), "silent"),
        ] {
            let ended = GitExit { code, stdout: stdout.as_bytes().to_vec(), stderr: String::new() };
            let name = match read(&ended, FULL) {
                PushReport::Done(PushResult::Pushed) => "pushed",
                PushReport::Done(PushResult::UpToDate) => "up to date",
                PushReport::Done(PushResult::Rejected { .. }) => "rejected",
                PushReport::Done(PushResult::Stale { .. }) | PushReport::Stale => "stale",
                PushReport::Silent => "silent",
            };
            assert_eq!(name, expected, "{stdout:?} {code:?}");
        }
    }

    #[test]
    fn only_branches_below_the_prefix_are_ours() {
        for (branch, prefix, ours) in [
            ("pilot/GH-1", "pilot/", true),
            ("main", "pilot/", false),
            ("pilot", "pilot/", false),
            ("pilots/x", "pilot/", false),
            ("main", "", false),
            ("main", "main", false),
            ("pilot/x", "pilot", false),
        ] {
            assert_eq!(is_ours(&Branch::parse(branch).unwrap(), prefix), ours, "{branch} {prefix:?}");
        }
    }
}
