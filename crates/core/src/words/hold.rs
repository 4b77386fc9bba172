//! Why a task does not continue by itself, and what a person can do.

use std::collections::BTreeSet;

use crate::ci::{Inconclusive, Verdict};
use crate::id::References;
use crate::observed::{Failure, FailureKind};
use crate::task::{Hold, Lane, joined};
use crate::text::inert_line;

/// The reason, in a sentence or two: what is so, and what would change it.
pub fn hold(hold: &Hold, references: &References) -> String {
    match hold {
        Hold::TicketClosed => "The issue is closed. Reopen it to continue.".to_owned(),
        Hold::LabelGone => "The label that asks for work was removed. Add it again to continue.".to_owned(),
        Hold::Paused { by } => format!("Paused by {by}. `/pilot resume` continues."),
        Hold::ProjectPaused { by } => format!("The project was paused by {by}. `pilot resume` continues."),
        Hold::Bot { login } => format!(
            "The author, @{login}, is a program. A person with write access can open a new issue, or list @{login} \
             as trusted in Pilot's configuration."
        ),
        Hold::Untrusted { login } => format!(
            "@{login} has no write access here. A person who has can open a new issue, or list @{login} as trusted \
             in Pilot's configuration."
        ),
        Hold::TrustUnknown { login } => format!(
            "The tracker does not say whether @{login} may give Pilot work. List @{login} as trusted in Pilot's \
             configuration."
        ),
        Hold::UnknownFix => {
            "Pilot's account opened this CI-fix issue, but not this instance; another Pilot may be \
                             working on it. Close it or open a new issue."
                .to_owned()
        }
        Hold::DependsOn { open } => {
            let open: Vec<String> = open.iter().map(|ticket| references.ticket(ticket)).collect();
            format!("It depends on {}, still open. It continues when that is closed.", open.join(", "))
        }
        Hold::DependsOnItself => "It depends on itself. Remove that line from its text.".to_owned(),
        Hold::DependencyMissing { ticket } => {
            let ticket = references.ticket(ticket);
            format!("It depends on {ticket}, which does not exist. Correct that line of its text.")
        }
        Hold::DependencyUnread { line } => format!(
            "Its text has a dependency that names no issue: \"{}\". Write `Depends on: #12`, or remove it.",
            inert_line(line, 200)
        ),
        Hold::OpenPr { pr } => format!(
            "{} is open on its branch, and this Pilot did not open it. Merge or close it to continue.",
            references.pull(*pr)
        ),
        Hold::ClaimedElsewhere { owner } => {
            format!("Another Pilot ({}) is working on it. Pilot checks again later.", inert_line(owner, 100))
        }
        Hold::Breaker { class, .. } => format!(
            "Too many runs failed in a row, so no new run starts for a while. The last failure: {} `pilot resume` \
             continues at once.",
            class.words()
        ),
        Hold::Budget { why, .. } => inert_line(why, 400),
        Hold::MergeConflict { pr } => format!(
            "{} conflicts with the base branch. Resolve the conflict on the branch, or `/pilot retry`.",
            references.pull(*pr)
        ),
        Hold::HeadMoved { pr, head } => format!(
            "`{}` was pushed to the branch of {}, but not by Pilot, so no gate has checked it. Merge it yourself, or \
             `/pilot retry`.",
            head.short(),
            references.pull(*pr)
        ),
        Hold::CiLate { pr, verdict } => {
            format!("CI gave no verdict on {} in time: {}.", references.pull(*pr), ci(verdict))
        }
        Hold::CiKeepsFailing { pr, fixes, failed } => format!(
            "CI still fails on {} after {fixes} fixes: {}. The pull request stays open; push to it and merge it \
             yourself, or `/pilot cancel`.",
            references.pull(*pr),
            inert_line(&joined(failed.failed()), 300)
        ),
        Hold::ChangesRequested { pr, by } => changes_requested(&references.pull(*pr), by),
        Hold::AwaitsMerge { pr } => {
            format!("{} is ready, and merging is left to you.", references.pull(*pr))
        }
        Hold::NotOnBase { pr } => format!(
            "The forge reports {} as merged, but its commit is not on the base branch. Find out what happened to it.",
            references.pull(*pr)
        ),
        Hold::Trouble { lane, failure } => trouble(*lane, failure),
    }
}

fn changes_requested(pull: &str, by: &BTreeSet<String>) -> String {
    let names: Vec<String> = by.iter().map(|login| format!("@{}", inert_line(login, 100))).collect();
    match &names[..] {
        [name] => format!(
            "The review of {name} requests changes on {pull}. It continues when {name} approves or the review is \
             dismissed."
        ),
        _ => format!(
            "The reviews of {} request changes on {pull}. It continues when each of them approves or is dismissed.",
            names.join(", ")
        ),
    }
}

/// What CI says, as a fragment.
pub(super) fn ci(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed(passed) => match passed.checks().len() {
            0 => "no CI is configured".to_owned(),
            count => format!("{count} checks passed"),
        },
        Verdict::Failed(failed) => format!("failed: {}", inert_line(&joined(failed.failed()), 300)),
        Verdict::Pending { names } => format!("waiting for {}", inert_line(&joined(names), 300)),
        Verdict::Unknown(reason) => inconclusive(reason),
    }
}

fn inconclusive(reason: &Inconclusive) -> String {
    match reason {
        Inconclusive::NotRead => "not read yet".to_owned(),
        Inconclusive::Discovering => "no check has reported yet".to_owned(),
        Inconclusive::NoChecks => {
            "no check reports on the commit; if the project has no CI, set `ci: none` in Pilot's configuration"
                .to_owned()
        }
        Inconclusive::Unconfirmed => "read once; waiting for a second, equal reading".to_owned(),
        Inconclusive::RequiredUnknown => "the list of required checks could not be read".to_owned(),
        Inconclusive::Undecided { names } => format!(
            "cancelled, skipped, stale or waiting for a person: {}; run them again",
            inert_line(&joined(names), 300)
        ),
        Inconclusive::NotMergeableYet => "the forge has not computed yet whether it can merge".to_owned(),
        Inconclusive::NothingRan => "every check was skipped or neutral, so nothing was tested".to_owned(),
    }
}

/// What was asked of the forge, its answer, and what would help.
fn trouble(lane: Lane, failure: &Failure) -> String {
    let asked = match lane {
        Lane::Claim => "show other Pilots whether the task is claimed",
        Lane::Run => "read the issue and fetch the base branch for a run",
        Lane::Push => "push the branch",
        Lane::Pr => "open the pull request",
        Lane::ClosePr => "close the pull request",
        Lane::Fix => "open an issue to fix CI",
        Lane::Merge => "merge",
        Lane::CloseTicket => "close the issue",
        Lane::DeleteBranch => "delete the branch",
        Lane::Label => "set labels",
        Lane::Comment | Lane::Reply => "comment",
        Lane::Message => "notify another task",
        Lane::Tag => "tag the release",
    };
    let help = match failure.kind {
        FailureKind::NotSent | FailureKind::Lost | FailureKind::Server | FailureKind::Interrupted => {
            "Pilot keeps trying"
        }
        FailureKind::RateLimited => "Pilot continues when the limit resets",
        FailureKind::Unauthorised => "renew the token in Pilot's configuration",
        FailureKind::Forbidden => {
            "give the token the missing permission, check that the repository is not archived, then `/pilot retry`"
        }
        FailureKind::NotFound => {
            "check that the repository and the base branch exist under the configured names, then `/pilot retry`"
        }
        FailureKind::Conflict => "it was changed meanwhile; check its state, then `/pilot retry`",
        FailureKind::Refused => {
            "check whether the repository's rules allow it, such as the merge method, then `/pilot retry`"
        }
    };
    format!("Pilot could not {asked} ({}); {help}.", inert_line(&failure.to_string(), 300))
}
