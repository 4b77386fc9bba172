//! Pushing one branch, from an expected value, and fetching one.

use std::path::Path;

use super::relay::Relay;
use super::remote::in_a_line;
use super::run::Ended;
use super::{BranchName, GitError, RefChange, Remote, RemoteError, Repository, Sha};

/// How often a ref is pinned anew because another fetch pinned it meanwhile.
const PIN_TRIES: u32 = 10;

/// The way between a repository here and one elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Courier<'a> {
    /// The one here.
    pub repository: &'a Repository,
    /// The one elsewhere.
    pub remote: &'a Remote,
    /// A folder of Pilot's own, for small files while it lasts.
    pub scratch: &'a Path,
}

/// One branch to be pushed.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// The branch there.
    pub branch: &'a BranchName,
    /// What every branch of ours begins with (`pilot/`).
    pub prefix: &'a str,
    /// Where it shall be; none for "deleted".
    pub commit: Option<&'a Sha>,
    /// Where it must be before; none for "does not exist".
    pub expected: Option<&'a Sha>,
}

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch was moved, made or deleted just now.
    Pushed,
    /// It was like that already.
    UpToDate,
    /// It is not where it was expected, and stays.
    Stale {
        /// Where it is; none when there is none.
        at: Option<Sha>,
    },
    /// The other side refused it.
    Rejected {
        /// What stands against it.
        by: Rejection,
        /// What it said.
        message: String,
    },
}

/// What stands against a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The branch is protected, or a rule of the repository forbids it.
    Protected,
    /// A hook of the other side declined.
    Hook,
    /// The token may not change workflow files.
    Workflow,
    /// Something else.
    Other,
}

impl Courier<'_> {
    /// Pushes one branch of ours and believes only what the other side says of it. When that cannot be told, looks.
    pub fn push(&self, push: &Push<'_>) -> Result<Pushed, RemoteError> {
        let Push { branch, prefix, commit, expected } = *push;
        if !is_ours(branch, prefix) {
            let (branch, prefix) = (branch.to_string(), prefix.to_owned());
            return Err(RemoteError::NotOurs { branch, prefix });
        }
        let relay = self.relay()?;
        // The other side would only say that what it got is not whole.
        if let Some(commit) = commit.filter(|commit| !has(&relay, commit)) {
            return Err(self.no_commit(commit));
        }
        let full = branch.full();
        let lease = format!("--force-with-lease={full}:{}", expected.map_or("", Sha::as_str));
        let refspec = format!("{}:{full}", commit.map_or("", Sha::as_str));
        let args = ["push", "--porcelain", "--no-verify", &lease, "--", self.remote.url(), &refspec];
        let error = match relay.end(&args) {
            Ok(ended) => match read(&ended, &full) {
                Answer::Done(done) => return Ok(done),
                Answer::Stale => return self.stale(branch, commit),
                Answer::Silent => self.remote.explain(&ended.stderr),
            },
            Err(GitError::TimedOut { limit, .. }) => self.unknown(format!("no end after {limit:?}")),
            Err(error) => return Err(error.into()),
        };
        if matches!(error, RemoteError::Unknown { .. }) { self.settle(push, error) } else { Err(error) }
    }

    /// Where a branch is there; none when there is none.
    pub fn look(&self, branch: &BranchName) -> Result<Option<Sha>, RemoteError> {
        let full = branch.full();
        let ended = self.relay()?.end(&["ls-remote", "--", self.remote.url(), &full]);
        let ended = self.in_time(ended)?;
        if ended.code != Some(0) {
            return Err(self.remote.explain(&ended.stderr));
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        let line = printed.lines().find_map(|line| line.split_once('\t').filter(|(_, name)| *name == full));
        Ok(line.map(|(sha, _)| Sha::parse(sha)).transpose()?)
    }

    /// Fetches one branch and remembers it under `pin`, a ref of ours (`refs/pilot/base/main`). Gives its commit.
    pub fn fetch(&self, branch: &BranchName, pin: &str) -> Result<Sha, RemoteError> {
        let relay = self.relay()?;
        relay.tell_tips(self.repository)?;
        let refspec = format!("+{}:refs/fetched", branch.full());
        let flags = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
        let ended = relay.end(&[&flags[..], &["--", self.remote.url(), &refspec]].concat());
        let ended = self.in_time(ended)?;
        if ended.code != Some(0) {
            if ended.stderr.contains("couldn't find remote ref") {
                let (branch, url) = (branch.to_string(), self.remote.url().to_owned());
                return Err(RemoteError::NoBranch { branch, url });
            }
            return Err(self.remote.explain(&ended.stderr));
        }
        let fetched = relay.resolve("refs/fetched^{commit}")?;
        let fetched = fetched.ok_or_else(|| self.unknown("it sent no commit".to_owned()))?;
        self.pin(pin, &fetched)?;
        Ok(fetched)
    }

    /// The branch is not where it was expected; perhaps it is where it shall be.
    fn stale(&self, branch: &BranchName, commit: Option<&Sha>) -> Result<Pushed, RemoteError> {
        let at = self.look(branch)?;
        Ok(if at.as_ref() == commit { Pushed::UpToDate } else { Pushed::Stale { at } })
    }

    /// Nobody knows whether the push arrived, so the branch itself is asked.
    fn settle(&self, push: &Push<'_>, doubt: RemoteError) -> Result<Pushed, RemoteError> {
        match self.look(push.branch) {
            Ok(at) if at.as_ref() == push.commit => Ok(Pushed::UpToDate),
            Ok(at) if at.as_ref() != push.expected => Ok(Pushed::Stale { at }),
            // It has not arrived, or not yet, or the look was lost as well.
            Ok(_) | Err(_) => Err(doubt),
        }
    }

    fn no_commit(&self, commit: &Sha) -> RemoteError {
        let (commit, dir) = (commit.short().to_owned(), self.repository.common_dir().to_owned());
        RemoteError::NoCommit { commit, dir }
    }

    pub(super) fn relay(&self) -> Result<Relay, GitError> {
        Relay::open(self.repository, self.remote, self.scratch)
    }

    /// Several may fetch the same branch at once: whoever comes second looks again.
    fn pin(&self, name: &str, at: &Sha) -> Result<(), GitError> {
        let git = self.repository.git();
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

    /// What only reads, and did not end in time, found nobody.
    pub(super) fn in_time(&self, ended: Result<Ended, GitError>) -> Result<Ended, RemoteError> {
        match ended {
            Err(GitError::TimedOut { limit, .. }) => Err(RemoteError::Unreachable {
                url: self.remote.url().to_owned(),
                message: format!("no end after {limit:?}"),
            }),
            other => Ok(other?),
        }
    }

    pub(super) fn unknown(&self, message: String) -> RemoteError {
        RemoteError::Unknown { url: self.remote.url().to_owned(), message }
    }
}

/// Whether a commit is here; it is when that cannot be told.
fn has(relay: &Relay, commit: &Sha) -> bool {
    !matches!(relay.resolve(&format!("{commit}^{{commit}}")), Ok(None))
}

fn is_ours(branch: &BranchName, prefix: &str) -> bool {
    prefix.len() > 1 && prefix.ends_with('/') && branch.as_str().starts_with(prefix)
}

/// What git said of the one branch.
enum Answer {
    /// What became of it.
    Done(Pushed),
    /// It was not where it was expected.
    Stale,
    /// Nothing that could be relied on.
    Silent,
}

/// Reads `flag TAB from:to TAB summary` of the branch.
fn read(ended: &Ended, full: &str) -> Answer {
    let printed = String::from_utf8_lossy(&ended.stdout);
    let line = printed.lines().find_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
        let (_, to) = refs.split_once(':')?;
        (to == full).then(|| (flag.to_owned(), summary.to_owned()))
    });
    let Some((flag, summary)) = line else { return Answer::Silent };
    match (flag.as_str(), ended.code) {
        (" " | "+" | "*" | "-", Some(0)) => Answer::Done(Pushed::Pushed),
        ("=", Some(0)) => Answer::Done(Pushed::UpToDate),
        ("!", _) if summary.contains("(stale info)") => Answer::Stale,
        ("!", _) if summary.starts_with("[remote rejected]") => Answer::Done(Pushed::Rejected {
            by: rejection(&summary, &ended.stderr),
            message: message(&summary, &ended.stderr),
        }),
        _ => Answer::Silent,
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

/// The summary, and what the other side printed.
fn message(summary: &str, said: &str) -> String {
    let theirs = said.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim);
    let theirs: Vec<&str> = theirs.filter(|line| !line.is_empty()).collect();
    let summary = summary.trim_start_matches("[remote rejected]").trim().trim_matches(['(', ')']);
    in_a_line(&format!("{summary}\n{}", theirs.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{Answer, BranchName, Pushed, is_ours, read};
    use crate::git::Ended;

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
            let ended = Ended { code, stdout: stdout.as_bytes().to_vec(), stderr: String::new() };
            let name = match read(&ended, FULL) {
                Answer::Done(Pushed::Pushed) => "pushed",
                Answer::Done(Pushed::UpToDate) => "up to date",
                Answer::Done(Pushed::Rejected { .. }) => "rejected",
                Answer::Done(Pushed::Stale { .. }) | Answer::Stale => "stale",
                Answer::Silent => "silent",
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
            assert_eq!(is_ours(&BranchName::parse(branch).unwrap(), prefix), ours, "{branch} {prefix:?}");
        }
    }
}
