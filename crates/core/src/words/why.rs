//! Events, each in a line of `pilot why`.

use crate::fact::{CommandSource, ProjectEvent, RunEnding, TaskEvent, TaskMessage};
use crate::id::References;
use crate::observed::{AuthorKind, DependencyState, PrState, Ticket, TicketState, Trust};
use crate::text::inert_line;

/// An event of a task, as a fragment.
pub fn task_event(event: &TaskEvent, references: &References) -> String {
    match event {
        TaskEvent::TicketRead { ticket } => read_ticket(ticket),
        TaskEvent::TicketGone => "the issue is gone".to_owned(),
        TaskEvent::TrustRead { login, trust } => match trust {
            Trust::Trusted => format!("@{login} has write access"),
            Trust::Untrusted => format!("@{login} has no write access"),
            Trust::Unknown => format!("whether @{login} is trusted is unknown"),
        },
        TaskEvent::DependencyRead { ticket, state } => {
            let ticket = references.ticket(ticket);
            match state {
                DependencyState::Open => format!("{ticket} is still open"),
                DependencyState::Closed => format!("{ticket} is closed"),
                DependencyState::Missing => format!("{ticket} does not exist"),
            }
        }
        TaskEvent::BranchChecked { branch, found } => match found {
            Some(pr) => format!("{} is open on {branch}", references.pull(*pr)),
            None => format!("no pull request is open on {branch}"),
        },
        TaskEvent::CommandReceived { command, by } => match by {
            CommandSource::Operator => format!("command of the operator: {}", command.as_str()),
            CommandSource::Comment { login, trust, .. } if trust.is_trusted() => {
                format!("command of @{login}: {}", command.as_str())
            }
            CommandSource::Comment { login, .. } => {
                format!("command of @{login}, ignored without write access: {}", command.as_str())
            }
        },
        TaskEvent::Claimed { generation, .. } => format!("claimed ({generation})"),
        TaskEvent::ClaimPlaced { .. } => "the forge shows the claim".to_owned(),
        TaskEvent::ClaimLost { owner, .. } => {
            format!("another Pilot ({}) had claimed it before", inert_line(owner, 100))
        }
        TaskEvent::ClaimRead { owner } => match owner {
            Some(owner) => format!("another Pilot ({}) still claims it", inert_line(owner, 100)),
            None => "no other Pilot claims it any more".to_owned(),
        },
        TaskEvent::ClaimReleased => "claim released".to_owned(),
        TaskEvent::RunStarted { generation, .. } => format!("run {generation} started"),
        TaskEvent::TurnGivenBack => "given up before it had a result; its turn is over".to_owned(),
        TaskEvent::Unclaimed { .. } => "claim released before the run started".to_owned(),
        TaskEvent::RunEnded { generation, ending } => format!("run {generation} {}", run_ended(ending)),
        TaskEvent::BudgetFreed => "the budget has room for it again".to_owned(),
        TaskEvent::Abandoned { generation } => {
            format!("Pilot died during run {generation}; that does not count as a failure")
        }
        TaskEvent::Pushed { branch, sha } => format!("{branch} pushed at {}", sha.short()),
        TaskEvent::PrOpened { pr } => format!("{} opened", references.pull(pr.number)),
        TaskEvent::NoPrFound { branch } => format!("no pull request of ours is open on {branch}"),
        TaskEvent::PrRead { pr } => {
            let number = references.pull(pr.number);
            match &pr.state {
                PrState::Open => format!("{number} is open at {}", pr.head.short()),
                PrState::Closed => format!("{number} is closed"),
                PrState::Merged { commit } => format!("{number} is merged as {}", commit.short()),
            }
        }
        TaskEvent::PrClosed { pr } => format!("{} closed by Pilot", references.pull(*pr)),
        TaskEvent::ReviewsRead { pr, requested_by } if requested_by.is_empty() => {
            format!("no review requests changes on {}", references.pull(*pr))
        }
        TaskEvent::ReviewsRead { pr, requested_by } => {
            let names: Vec<&str> = requested_by.iter().map(String::as_str).collect();
            format!("changes requested on {} by {}", references.pull(*pr), inert_line(&names.join(", "), 200))
        }
        TaskEvent::CiRead { reading } => {
            format!("CI of {} read: {} reports", reading.sha.short(), reading.checks.len())
        }
        TaskEvent::BaseChecked { commit, on_base: true } => {
            format!("{} is on the base branch", commit.short())
        }
        TaskEvent::BaseChecked { commit, on_base: false } => {
            format!("{} is not on the base branch", commit.short())
        }
        TaskEvent::FixOpened { ticket, iteration, pr } => {
            let (ticket, pull) = (references.ticket(ticket), references.pull(*pr));
            format!("{ticket} opened to fix the CI of {pull} (fix {iteration})")
        }
        TaskEvent::MessageReceived { message } => received(message, references),
        TaskEvent::MessageSent { to, about } => format!("message to {to}: {}", about.as_str()),
        TaskEvent::Labelled { labels } => match labels.is_empty() {
            true => "Pilot's labels removed".to_owned(),
            false => format!("labelled {}", labels.join(", ")),
        },
        TaskEvent::Commented { .. } => "status comment written".to_owned(),
        TaskEvent::Replied { .. } => "question answered".to_owned(),
        TaskEvent::AnsweredOnce { .. } => "the question has one answer".to_owned(),
        TaskEvent::TicketClosed => "the issue is closed, as intended".to_owned(),
        TaskEvent::BranchDeleted { branch } => format!("{branch} deleted"),
        TaskEvent::BranchKept { branch, why } => format!("{branch} kept: {}", inert_line(why, 200)),
        TaskEvent::Failed { key, failure } => {
            format!("{key} failed: {}", inert_line(&failure.to_string(), 300))
        }
        TaskEvent::Ended { .. } => "the task is over".to_owned(),
    }
}

fn read_ticket(ticket: &Ticket) -> String {
    let state = match ticket.state {
        TicketState::Open => "open",
        TicketState::Closed => "closed",
    };
    let labels: Vec<&str> = ticket.labels.iter().map(String::as_str).collect();
    let author = match ticket.author.kind {
        AuthorKind::Person => format!("@{}", ticket.author.login),
        AuthorKind::Bot => format!("the program @{}", ticket.author.login),
        AuthorKind::Me => "Pilot itself".to_owned(),
    };
    format!("issue read: {state}, by {author}, labels {}", inert_line(&labels.join(", "), 200))
}

fn run_ended(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Completed(work) => format!("completed with {}", work.sha.short()),
        RunEnding::Stopped { class, reason, again_at } => {
            let again = if again_at.is_some() { "; it will be retried" } else { "" };
            format!("ended: {class}, {}{again}", inert_line(reason, 300))
        }
        RunEnding::OverBudget { shortage } => shortage.words(),
    }
}

fn received(message: &TaskMessage, references: &References) -> String {
    match message {
        TaskMessage::Adopted(lineage) => {
            format!("it fixes the CI of {} (fix {})", references.pull(lineage.pr), lineage.iteration)
        }
        TaskMessage::LetGo => "the issue it fixes does not want the work any more".to_owned(),
        TaskMessage::Landed(landed) => format!("its work landed with {}", references.pull(landed.pr())),
        TaskMessage::GaveUp { ticket } => format!("{} could not fix CI", references.ticket(ticket)),
    }
}

/// An event of a project, as a fragment.
pub fn project_event(event: &ProjectEvent) -> String {
    match event {
        ProjectEvent::Paused { by } => format!("paused by {by}"),
        ProjectEvent::Resumed { by } => format!("resumed by {by}"),
        ProjectEvent::BudgetSpent { why } => {
            format!("the budget allows no new run: {}", inert_line(why, 300))
        }
        ProjectEvent::BudgetFree => "the budget allows new runs again".to_owned(),
        ProjectEvent::Tagged { tag, commit } => format!("{} tagged {tag}", commit.short()),
        ProjectEvent::Failed { key, failure } => {
            format!("{key} failed: {}", inert_line(&failure.to_string(), 300))
        }
    }
}
