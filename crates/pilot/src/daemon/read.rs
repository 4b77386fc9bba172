//! What the forge says, in the words of the core.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState, Conclusion, StatusMark, StatusState};
use pilot_core::intake::read_body;
use pilot_core::name::{BodyHash, Branch, IssueNumber, NotAName, PrNumber, Sha};
use pilot_core::outcome::cut;
use pilot_core::seen::{Author, AuthorKind, Issue, IssueState, Mergeable, Permission, Pr, PrState};
use pilot_core::time::Timestamp;
use pilot_link::github::{self, Mergeability, PullState};
use sha2::{Digest, Sha256};

/// The longest title that is kept.
const LONGEST_TITLE: usize = 300;

/// An issue. `me` is our own login.
pub(super) fn issue(read: &github::Issue, me: &str) -> Result<Issue, NotAName> {
    let hash = Sha256::digest(format!("{}\n{}", read.title, read.body).as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let kind = if read.author.is(me) {
        AuthorKind::Me
    } else if read.author.is_bot {
        AuthorKind::Bot
    } else {
        AuthorKind::Person
    };
    let title = read.title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Issue {
        number: IssueNumber(read.number.0),
        title: cut(&title, LONGEST_TITLE).to_owned(),
        author: Author { login: read.author.login.clone(), kind },
        labels: read.labels.iter().cloned().collect(),
        state: match read.state {
            github::IssueState::Open => IssueState::Open,
            github::IssueState::Closed { .. } => IssueState::Closed,
        },
        body: read_body(&read.body, BodyHash::parse(&hash)?),
        created_at: Timestamp(read.created.0),
        updated_at: Timestamp(read.updated.0),
    })
}

/// A pull request.
pub(super) fn pull(read: &github::Pull) -> Result<Pr, NotAName> {
    let head = Sha::parse(read.head.as_str())?;
    Ok(Pr {
        number: PrNumber(read.number.0),
        branch: Branch::parse(&read.head_branch)?,
        state: match &read.state {
            PullState::Open => PrState::Open,
            PullState::Closed => PrState::Closed,
            PullState::Merged { commit: Some(commit), .. } => {
                PrState::Merged { commit: Sha::parse(commit.as_str())? }
            }
            // Merged without a squash or a rebase is on the base as it is.
            PullState::Merged { commit: None, .. } => PrState::Merged { commit: head.clone() },
        },
        head,
        mergeable: match read.mergeable {
            Mergeability::Clean => Mergeable::Yes,
            Mergeability::Conflict => Mergeable::No,
            Mergeability::Unknown => Mergeable::Unknown,
        },
    })
}

pub(super) fn permission(read: github::Permission) -> Permission {
    match read {
        github::Permission::None => Permission::None,
        github::Permission::Read => Permission::Read,
        github::Permission::Triage => Permission::Triage,
        github::Permission::Write => Permission::Write,
        github::Permission::Maintain => Permission::Maintain,
        github::Permission::Admin => Permission::Admin,
    }
}

pub(super) fn checks(read: Vec<github::CheckRun>) -> BTreeSet<Check> {
    let check = |run: github::CheckRun| Check { state: check_state(run.state), name: run.name };
    read.into_iter().map(check).collect()
}

fn check_state(state: github::CheckState) -> CheckState {
    match state {
        github::CheckState::Waiting => CheckState::Queued,
        github::CheckState::Running => CheckState::InProgress,
        // A word nobody knows may mean anything: nothing passes on it.
        github::CheckState::Other(_) => CheckState::InProgress,
        github::CheckState::Ended(conclusion) => CheckState::Completed(match conclusion {
            github::Conclusion::Success => Conclusion::Success,
            github::Conclusion::Failure => Conclusion::Failure,
            github::Conclusion::Neutral => Conclusion::Neutral,
            github::Conclusion::Cancelled => Conclusion::Cancelled,
            github::Conclusion::Skipped => Conclusion::Skipped,
            github::Conclusion::TimedOut => Conclusion::TimedOut,
            github::Conclusion::ActionRequired => Conclusion::ActionRequired,
            github::Conclusion::Stale => Conclusion::Stale,
            github::Conclusion::StartupFailure => Conclusion::StartupFailure,
            github::Conclusion::Other(_) => Conclusion::Stale,
        }),
    }
}

pub(super) fn statuses(read: Vec<github::Status>) -> BTreeSet<StatusMark> {
    let mark = |status: github::Status| StatusMark {
        state: match status.state {
            github::StatusState::Success => StatusState::Success,
            github::StatusState::Pending | github::StatusState::Other(_) => StatusState::Pending,
            github::StatusState::Failure => StatusState::Failure,
            github::StatusState::Error => StatusState::Error,
        },
        context: status.context,
    };
    read.into_iter().map(mark).collect()
}
