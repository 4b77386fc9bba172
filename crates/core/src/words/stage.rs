//! The stage of a task, in a sentence.

use super::hold::{ci, hold};
use super::label::{FAILED, RETRY_READY};
use crate::dispatch::Behind;
use crate::fact::{Ending, GivenUp};
use crate::id::References;
use crate::task::{Stage, Stop, Wait};

/// What a task is doing, and what it waits for.
pub fn stage(stage: &Stage, references: &References) -> String {
    match stage {
        Stage::Checking { .. } => "Checking author, dependencies and branch before starting.".to_owned(),
        Stage::Held { hold: reason } => hold(reason, references),
        Stage::Waiting { why, .. } => waiting(why),
        Stage::Queued { .. } => "Queued.".to_owned(),
        Stage::Claiming { .. } => "Claiming.".to_owned(),
        Stage::Starting { .. } => "Starting a run.".to_owned(),
        Stage::Running { .. } => "An agent is working.".to_owned(),
        Stage::Stopping { why, .. } => format!("Stopping the run: {}.", stopping(why)),
        Stage::Publishing { work } => format!("Pushing the work (`{}`).", work.sha.short()),
        Stage::Opening { .. } => "The branch is pushed; opening the pull request.".to_owned(),
        Stage::AwaitingCi { pr, verdict, .. } => {
            format!("Waiting for CI on {}: {}.", references.pull(*pr), ci(verdict))
        }
        Stage::Merging { ready } => format!("CI passed; merging {}.", references.pull(ready.pr())),
        Stage::Failing { pr, iteration, .. } => {
            format!("CI failed on {}; opening an issue for fix {iteration}.", references.pull(*pr))
        }
        Stage::Closing { pr, by } => format!("Cancelled by {by}; closing {}.", references.pull(*pr)),
        Stage::Continued { by } => {
            format!("CI failed; {} continues with this branch.", references.ticket(by))
        }
        Stage::Landing { pr, .. } => {
            format!("{} is merged; checking the base branch for its commit.", references.pull(*pr))
        }
        Stage::Ended { ending } => ended(ending, references),
    }
}

/// What a queued task waits for, where that is another task.
pub fn queued_behind(behind: &Behind, references: &References) -> String {
    let task = &behind.task;
    match &behind.hold {
        Some(reason) => format!("Queued behind {task}, which is held: {}", hold(reason, references)),
        None => format!("Queued behind {task}."),
    }
}

fn waiting(why: &Wait) -> String {
    match why {
        Wait::Retry { class } => {
            format!("The last run did not complete. {} Pilot will retry by itself.", class.words())
        }
        Wait::MergeCap => "Waiting: the limit of merges per hour is reached.".to_owned(),
        Wait::TicketCap => "Waiting: the limit of issues Pilot opens per hour is reached.".to_owned(),
    }
}

fn stopping(why: &Stop) -> String {
    match why {
        Stop::Cancelled { by } => format!("cancelled by {by}"),
        Stop::LabelGone => "the label was removed".to_owned(),
        Stop::TicketClosed => "the issue was closed".to_owned(),
        Stop::NotAdmitted => "it may not start any more".to_owned(),
    }
}

fn ended(ending: &Ending, references: &References) -> String {
    match ending {
        Ending::Done(landed) => {
            format!("Done: {} is merged as `{}`.", references.pull(landed.pr()), landed.commit().short())
        }
        Ending::GivenUp(why) => format!("{} `/pilot retry` starts again.", given_up(why, references)),
        Ending::Cancelled { by } => format!("Cancelled by {by}. `/pilot retry` starts again."),
    }
}

fn given_up(why: &GivenUp, references: &References) -> String {
    match why {
        GivenUp::Run { class, reason } => {
            let reason = crate::text::inert_line(reason, 500);
            match reason.is_empty() {
                true => format!("Given up ({FAILED}). {}", class.words()),
                false => format!("Given up ({FAILED}). {} The run said: {reason}", class.words()),
            }
        }
        GivenUp::Attempts { count, class } => {
            format!("Given up ({FAILED}) after {count} runs. {}", class.words())
        }
        GivenUp::PrClosed { pr } => format!("{} was closed ({RETRY_READY}).", references.pull(*pr)),
        GivenUp::FixGivenUp { ticket } => {
            format!("Given up ({FAILED}): {} did not fix CI.", references.ticket(ticket))
        }
    }
}
