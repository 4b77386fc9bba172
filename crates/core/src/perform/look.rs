//! Looks: one call each, and what its answer says about a task.

use super::call::{Answer, Call, Reply};
use crate::fact::{Happened, TaskFacts};
use crate::seen::{DependencyState, Failure, FailureKind, IssueState, PrState};
use crate::task::Look;

/// The call for a look.
pub fn ask(look: &Look, task: &TaskFacts) -> Call {
    match look {
        Look::Issue => Call::Issue(task.number),
        Look::Claim => Call::Claim { task: task.key.clone() },
        Look::Permission { login } => Call::Permission(login.clone()),
        Look::Dependency { issue } => Call::Issue(*issue),
        Look::Branch { branch } => Call::PrsOf(branch.clone()),
        Look::Pr { pr } => Call::Pr(*pr),
        Look::Ci { sha } => Call::Ci(sha.clone()),
        Look::Base { commit } => Call::OnBase(commit.clone()),
    }
}

/// What the answer says. A failure says nothing: error is not empty, and the next look is the retry.
pub fn heard(look: &Look, reply: Reply) -> Result<Happened, Failure> {
    let happened = match (look, reply?) {
        (Look::Issue, Answer::Issue(Some(read))) => Happened::IssueSeen { issue: read.issue },
        (Look::Issue, Answer::Issue(None)) => Happened::IssueGone,
        (Look::Claim, Answer::Claim(owner)) => Happened::ClaimSeen { owner },
        (Look::Permission { login }, Answer::Permission(permission)) => {
            Happened::PermissionSeen { login: login.clone(), permission }
        }
        (Look::Dependency { issue }, Answer::Issue(read)) => {
            let state = match read.map(|read| read.issue.state) {
                Some(IssueState::Open) => DependencyState::Open,
                Some(IssueState::Closed) => DependencyState::Closed,
                None => DependencyState::Missing,
            };
            Happened::DependencySeen { issue: *issue, state }
        }
        (Look::Branch { branch }, Answer::Prs(prs)) => {
            let open = prs.iter().find(|(pr, _)| pr.branch == *branch && pr.state == PrState::Open);
            Happened::BranchLookedAt { branch: branch.clone(), found: open.map(|(pr, _)| pr.number) }
        }
        (Look::Pr { .. }, Answer::Pr(pr)) => Happened::PrSeen { pr },
        (Look::Ci { .. }, Answer::Ci(reading)) => Happened::CiRead { reading },
        (Look::Base { commit }, Answer::OnBase(on_base)) => {
            Happened::BaseLookedAt { commit: commit.clone(), on_base }
        }
        (_, answer) => {
            let detail = format!("an answer to another question: {answer:?}");
            return Err(Failure::new(FailureKind::Server, crate::outcome::cut(&detail, 200)));
        }
    };
    Ok(happened)
}
