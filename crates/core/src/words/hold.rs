//! Why a task does not go on by itself, and what a person can do.

use super::defuse;
use crate::ci::{Doubt, Verdict};
use crate::seen::{Failure, FailureKind};
use crate::task::{Hold, joined};

/// The reason, in a sentence or two: what is so, and what would change it.
pub fn hold(hold: &Hold) -> String {
    match hold {
        Hold::IssueClosed => "The issue is closed. Open it again to go on.".to_owned(),
        Hold::LabelGone => "The label that asks for work is gone. Set it again to go on.".to_owned(),
        Hold::Paused { by } => format!("Paused by {by}. `/pilot resume` goes on."),
        Hold::ProjectPaused { by } => format!("The project was paused by {by}. `pilot resume` goes on."),
        Hold::Bot { login } => format!(
            "A program, @{login}, wrote this. Somebody with write access can write the issue anew, or list \
             @{login} as trusted in Pilot's configuration."
        ),
        Hold::Stranger { login } => format!(
            "@{login} has no write access here. Somebody who has can write the issue anew, or list @{login} as \
             trusted in Pilot's configuration."
        ),
        Hold::UnknownFix => {
            "Pilot's own account wrote this, and this Pilot's log does not say why: another one \
                             may be at work on it. Close it, or write the issue anew."
                .to_owned()
        }
        Hold::DependsOn { open } => {
            let open: Vec<String> = open.iter().map(ToString::to_string).collect();
            format!("It depends on {}, still open. It goes on when that is closed.", open.join(", "))
        }
        Hold::DependsOnItself => "It depends on itself. Take that line out of its text.".to_owned(),
        Hold::DependencyMissing { issue } => {
            format!("It depends on {issue}, which does not exist. Correct that line of its text.")
        }
        Hold::DependencyUnread { line } => format!(
            "Its text has a dependency that names no issue: \"{}\". Write `Depends on: #12`, or take it out.",
            defuse(line, 200)
        ),
        Hold::OpenPr { pr } => format!(
            "{pr} is open on its branch, and this Pilot did not open it. Merge or close that to go on."
        ),
        Hold::Elsewhere { owner } => {
            format!("Another Pilot ({}) works on it. It is looked at again in a while.", defuse(owner, 100))
        }
        Hold::Breaker { class, .. } => format!(
            "Too many runs failed in a row, so nothing new begins for a while. The last one: {} `pilot resume` \
             goes on at once.",
            class.words()
        ),
        Hold::Budget { why } => format!("The budget lets nothing new begin: {}.", defuse(why, 300)),
        Hold::MergeConflict { pr } => {
            format!("{pr} conflicts with the base branch. Resolve that on the branch, or `/pilot retry`.")
        }
        Hold::HeadMoved { pr, head } => format!(
            "Somebody pushed `{}` to the branch of {pr}, which no gate of Pilot's has seen. Merge it yourself, \
             or `/pilot retry`.",
            head.short()
        ),
        Hold::CiLate { pr, verdict } => format!("CI gave no verdict on {pr} in time: {}.", ci(verdict)),
        Hold::CiKeepsFailing { pr, fixes, failed } => format!(
            "CI still fails on {pr} after {fixes} fixes: {}. The pull request stays open; push to it and merge it \
             yourself, or `/pilot cancel`.",
            defuse(&joined(failed.failed()), 300)
        ),
        Hold::AwaitsMerge { pr } => format!("{pr} is ready, and merging is left to you."),
        Hold::NotOnBase { pr } => format!(
            "The forge says that {pr} is merged, but its commit is not on the base branch. See what became of it."
        ),
        Hold::Trouble { lane, failure } => trouble(lane, failure),
    }
}

/// What CI says, as a fragment.
pub(super) fn ci(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed(passed) => match passed.checks().len() {
            0 => "no CI is configured".to_owned(),
            count => format!("{count} checks passed"),
        },
        Verdict::Failed(failed) => format!("failed: {}", defuse(&joined(failed.failed()), 300)),
        Verdict::Pending { names } => format!("waiting for {}", defuse(&joined(names), 300)),
        Verdict::Unknown(doubt) => match doubt {
            Doubt::NotRead => "nobody has looked yet".to_owned(),
            Doubt::Discovering => "nothing has reported yet".to_owned(),
            Doubt::NoChecks => {
                "nothing reports on the commit; if the project has no CI, say `ci: none` in Pilot's \
                                configuration"
                    .to_owned()
            }
            Doubt::Unconfirmed => "it is read once more".to_owned(),
            Doubt::RequiredUnknown => "which checks are required could not be read".to_owned(),
            Doubt::Undecided { names } => format!(
                "cancelled, skipped, stale or waiting for a person: {}; run them again",
                defuse(&joined(names), 300)
            ),
            Doubt::NotMergeableYet => "the forge does not know yet whether it could merge".to_owned(),
            Doubt::NothingRan => "every check was skipped or neutral, so nothing was tested".to_owned(),
        },
    }
}

/// What was asked of the forge, its answer, and what would help.
fn trouble(lane: &str, failure: &Failure) -> String {
    let asked = match lane {
        "claim" => "show other Pilots whether the task is taken",
        "run" => "read the issue for a run",
        "push" => "push the branch",
        "pr" => "open the pull request",
        "close-pr" => "close the pull request",
        "fix" => "open an issue to fix CI",
        "merge" => "merge",
        "close-issue" => "close the issue",
        "delete-branch" => "delete the branch",
        "label" => "set labels",
        "comment" | "reply" => "comment",
        "tell" => "tell another task",
        "tag" => "tag the release",
        other => other,
    };
    let help = match failure.kind {
        FailureKind::NotSent | FailureKind::Lost | FailureKind::Server | FailureKind::Interrupted => {
            "Pilot goes on trying"
        }
        FailureKind::RateLimited => "Pilot goes on when the limit resets",
        FailureKind::Unauthorised => "renew the token in Pilot's configuration",
        FailureKind::Forbidden => {
            "give the token the right to do so, see that the repository is not archived, then `/pilot retry`"
        }
        FailureKind::NotFound => {
            "see that the repository and the base branch exist under the configured names, then `/pilot retry`"
        }
        FailureKind::Conflict => "somebody else changed it; see what is there, then `/pilot retry`",
        FailureKind::Refused => {
            "see whether the repository's rules allow it, such as the merge method, then `/pilot retry`"
        }
    };
    format!("Pilot could not {asked} ({}); {help}.", defuse(&failure.to_string(), 300))
}
