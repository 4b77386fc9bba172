//! Where a task stands, in a sentence.

use super::hold::{ci, hold};
use super::label::{FAILED, RETRY_READY};
use crate::fact::{Ending, GivenUp};
use crate::task::{Stage, Stop, Wait};

/// Where a task stands, and what it waits for.
pub fn stage(stage: &Stage) -> String {
    match stage {
        Stage::Checking { .. } => "It is being looked at before it may begin.".to_owned(),
        Stage::Held { hold: reason } => hold(reason),
        Stage::Waiting { why, .. } => waiting(why),
        Stage::Queued { .. } => "It waits for its turn.".to_owned(),
        Stage::Claiming { .. } => "It has its turn.".to_owned(),
        Stage::Starting { .. } => "A run is about to begin.".to_owned(),
        Stage::Running { .. } => "An agent is at work.".to_owned(),
        Stage::Stopping { why, .. } => format!("The run is being stopped: {}.", stopping(why)),
        Stage::Publishing { work } => {
            format!("The work is there (`{}`) and is being pushed.", work.sha.short())
        }
        Stage::Opening { .. } => "The work is pushed; the pull request is being opened.".to_owned(),
        Stage::AwaitingCi { pr, verdict, .. } => format!("{pr} waits for CI: {}.", ci(verdict)),
        Stage::Merging { ready } => format!("CI passed; {} is being merged.", ready.pr()),
        Stage::Failing { pr, iteration, .. } => {
            format!("CI failed on {pr}; an issue is being opened for fix {iteration}.")
        }
        Stage::Closing { pr, by } => format!("Cancelled by {by}; {pr} is being closed."),
        Stage::Continued { by } => format!("CI failed; {by} goes on with this work."),
        Stage::Landing { pr, .. } => format!("{pr} is merged; its commit is looked for on the base branch."),
        Stage::Ended { ending } => ended(ending),
    }
}

fn waiting(why: &Wait) -> String {
    match why {
        Wait::Retry { class } => {
            format!("The last run did not complete. {} Pilot tries again by itself.", class.words())
        }
        Wait::MergeCap => "So much was merged within the hour that this waits.".to_owned(),
        Wait::IssueCap => "Pilot opened so many issues within the hour that the next one waits.".to_owned(),
    }
}

fn stopping(why: &Stop) -> String {
    match why {
        Stop::Cancelled { by } => format!("cancelled by {by}"),
        Stop::LabelGone => "the label is gone".to_owned(),
        Stop::IssueClosed => "the issue was closed".to_owned(),
        Stop::NotAdmitted => "it may not begin any more".to_owned(),
    }
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Done(landed) => {
            format!("Done: {} is merged as `{}`.", landed.pr(), landed.commit().short())
        }
        Ending::GivenUp(why) => format!("{} `/pilot retry` begins again.", given_up(why)),
        Ending::Cancelled { by } => format!("Cancelled by {by}. `/pilot retry` begins again."),
    }
}

fn given_up(why: &GivenUp) -> String {
    match why {
        GivenUp::Run { class, reason } => {
            let reason = super::defuse(reason, 500);
            match reason.is_empty() {
                true => format!("Given up ({FAILED}). {}", class.words()),
                false => format!("Given up ({FAILED}). {} The run said: {reason}", class.words()),
            }
        }
        GivenUp::Attempts { count, class } => {
            format!("Given up ({FAILED}) after {count} runs. {}", class.words())
        }
        GivenUp::PrClosed { pr } => format!("Somebody closed {pr} ({RETRY_READY})."),
        GivenUp::FixGivenUp { issue } => {
            format!("Given up ({FAILED}): {issue}, which was to fix CI, did not.")
        }
    }
}
