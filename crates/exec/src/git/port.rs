//! The git port, answered by git itself.

use std::path::PathBuf;
use std::sync::Arc;

use pilot_core::id::{Branch, HomeId, Sha};
use pilot_core::observed::{Failure, FailureKind};
use pilot_core::port::{GitAnswer, GitCall};
use pilot_core::redact::Secrets;
use pilot_core::text::truncate;

use super::{
    ClaimHolder, GitError, Program, Push, PushResult, RefChange, Remote, RemoteError, RemoteSession,
    Repository,
};

pub const BRANCH_PREFIX: &str = "pilot/";

const LONGEST: usize = 500;

/// A project's repository on this machine and on its forge.
#[derive(Clone, Debug)]
pub struct GitPort {
    pub program: Arc<Program>,
    pub path: PathBuf,
    pub url: String,
    /// For small files while git talks to the forge.
    pub scratch: PathBuf,
    /// The program that git starts to ask for a password.
    pub askpass: PathBuf,
    /// Whose claims are ours: all Pilots that share a store are one to every other.
    pub claimant: HomeId,
}

impl GitPort {
    /// Makes a call. It waits for git, so it belongs on a thread of its own.
    pub fn call(&self, user: &str, password: &str, call: &GitCall) -> Result<GitAnswer, Failure> {
        let remote = Remote::parse(&self.url)?.with_password(user, password, &self.askpass);
        let repository = Repository::open(&self.program, &self.path).map_err(RemoteError::from)?;
        let session = RemoteSession { repository: &repository, remote: &remote, scratch: &self.scratch };
        self.answer(&session, call)
    }

    fn answer(&self, session: &RemoteSession<'_>, call: &GitCall) -> Result<GitAnswer, Failure> {
        let us = self.claimant.as_str();
        Ok(match call {
            GitCall::FetchBase { base, branch, from } => {
                GitAnswer::Base(fetch_base(session, base, branch, from.as_ref())?)
            }
            GitCall::Contains { branch, sha } => {
                let head = session.fetch(branch, &fetched_ref(branch))?;
                GitAnswer::Contains(session.repository.git.is_ancestor(sha, &head).unwrap_or(false))
            }
            GitCall::PlaceClaim(task) => {
                GitAnswer::Claim(other_owner(session.place_claim(task.as_str(), us)?))
            }
            GitCall::ReadClaim(task) => GitAnswer::Claim(other_owner(session.read_claim(task.as_str(), us)?)),
            GitCall::ReleaseClaim(task) => {
                session.release_claim(task.as_str(), us)?;
                GitAnswer::Done
            }
            GitCall::Head { branch, sha } => GitAnswer::Head(find_head(session, branch, sha)?),
            GitCall::Push { branch, sha, expect } => push(session, branch, Some(sha), expect.as_ref())?,
            GitCall::DeleteBranch { branch, expect } => {
                let answer = push(session, branch, None, Some(expect))?;
                // What git cannot delete here is tried again at the next start of the daemon.
                let _ = forget_branches(session, &[(branch.clone(), expect.clone())]);
                answer
            }
            GitCall::ForgetBranches(branches) => {
                forget_branches(session, branches)?;
                GitAnswer::Done
            }
        })
    }
}

fn fetched_ref(branch: &Branch) -> String {
    format!("refs/pilot/base/{branch}")
}

fn fetch_base(
    session: &RemoteSession<'_>,
    base: &Branch,
    branch: &Branch,
    from: Option<&Sha>,
) -> Result<Sha, RemoteError> {
    let head = session.fetch(base, &fetched_ref(base))?;
    let Some(from) = from else { return Ok(head) };
    let git = &session.repository.git;
    let here = session.repository.branch(branch);
    if here.is_some_and(|here| here == from || git.is_ancestor(from, here).unwrap_or(false)) {
        return Ok(from.clone());
    }
    // The work was done on another machine, or the branch is behind it.
    session.fetch(branch, &fetched_ref(branch))?;
    if here.is_none_or(|here| git.is_ancestor(here, from).unwrap_or(false)) {
        let change = RefChange { name: branch.ref_name(), before: here.cloned(), after: Some(from.clone()) };
        git.change_refs(&[change], "pilot: continue")?;
    }
    Ok(from.clone())
}

fn other_owner(holder: ClaimHolder) -> Option<String> {
    match holder {
        ClaimHolder::Free | ClaimHolder::Us => None,
        ClaimHolder::Other(name) => Some(name),
    }
}

fn find_head(session: &RemoteSession<'_>, branch: &Branch, sha: &Sha) -> Result<Option<Sha>, Failure> {
    let head = session.read_branch(branch)?;
    let git = &session.repository.git;
    match head {
        Some(head) if !git.is_ancestor(&head, sha).unwrap_or(false) => {
            Err(conflict(format!("the branch has other commits on the forge: it is at {}", head.short())))
        }
        head => Ok(head),
    }
}

fn push(
    session: &RemoteSession<'_>,
    branch: &Branch,
    commit: Option<&Sha>,
    expected: Option<&Sha>,
) -> Result<GitAnswer, Failure> {
    match session.push(&Push { branch, prefix: BRANCH_PREFIX, commit, expected })? {
        PushResult::Pushed | PushResult::UpToDate => Ok(GitAnswer::Done),
        PushResult::Stale { at } => {
            let at = at.map_or("gone".to_owned(), |at| format!("at {}", at.short()));
            Err(conflict(format!("the branch was moved meanwhile: it is {at}")))
        }
        PushResult::Rejected { message, .. } => {
            let detail = safe_detail(&format!("the push was refused: {message}"));
            Err(Failure::new(FailureKind::Refused, detail))
        }
    }
}

/// Deletes branches here that hold nothing but what they are known to hold.
fn forget_branches(session: &RemoteSession<'_>, branches: &[(Branch, Sha)]) -> Result<(), RemoteError> {
    let (git, mut last) = (&session.repository.git, Ok(()));
    for (branch, at) in branches.iter().filter(|(branch, at)| session.repository.branch(branch) == Some(at)) {
        let name = branch.ref_name();
        let change = RefChange { name: name.clone(), before: Some(at.clone()), after: None };
        if let Err(error) = git.change_refs(&[change], "pilot: merged") {
            // Another process may have deleted or moved it first.
            let stays = git.refs(&[&name])?.get(&name) == Some(at);
            last = if stays { Err(error) } else { last };
        }
    }
    Ok(last?)
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        Failure::new(failure_kind(&error), safe_detail(&error.to_string()))
    }
}

fn conflict(detail: String) -> Failure {
    Failure::new(FailureKind::Conflict, detail)
}

/// What the other side says may quote what we sent.
fn safe_detail(detail: &str) -> String {
    truncate(&Secrets::default().redact(detail), LONGEST).to_owned()
}

fn failure_kind(error: &RemoteError) -> FailureKind {
    match error {
        RemoteError::Auth { .. } => FailureKind::Unauthorised,
        RemoteError::Denied { .. } => FailureKind::Forbidden,
        // The machine that has the commit may be the next to try.
        RemoteError::Unreachable { .. } | RemoteError::NoCommit { .. } => FailureKind::NotSent,
        RemoteError::NotFound { .. } | RemoteError::NoBranch { .. } => FailureKind::NotFound,
        RemoteError::Unknown { .. } => FailureKind::Lost,
        // A problem of this machine, such as a full disk; the forge refused nothing.
        RemoteError::Git(GitError::Io { .. }) => FailureKind::NotSent,
        RemoteError::Git(_)
        | RemoteError::BadUrl { .. }
        | RemoteError::NotOurs { .. }
        | RemoteError::Moved { .. } => FailureKind::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use pilot_core::observed::FailureKind;

    use super::failure_kind;
    use crate::git::{GitError, RemoteError};

    #[test]
    fn an_error_of_git_means_something_for_a_retry() {
        let (url, no) = (|| "https://h/x".to_owned(), || "no".to_owned());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let cases: [(RemoteError, FailureKind); 5] = [
            (GitError::Io { command: "push".to_owned(), source: full }.into(), FailureKind::NotSent),
            (RemoteError::NoCommit { commit: "1".to_owned(), dir: "/x".into() }, FailureKind::NotSent),
            (RemoteError::Auth { url: url(), message: no() }, FailureKind::Unauthorised),
            (RemoteError::Denied { url: url(), message: no() }, FailureKind::Forbidden),
            (RemoteError::Moved { url: url(), message: no() }, FailureKind::Refused),
        ];
        for (error, kind) in cases {
            assert_eq!(failure_kind(&error), kind, "{error}");
        }
    }
}
