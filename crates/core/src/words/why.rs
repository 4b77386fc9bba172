//! What happened, in a line of `pilot why`.

use super::defuse;
use crate::fact::{By, Happened, News, ProjectHappened, RunEnding};
use crate::seen::{AuthorKind, DependencyState, IssueState, PrState};

/// What happened to a task, as a fragment.
pub fn happened(what: &Happened) -> String {
    match what {
        Happened::IssueSeen { issue } => {
            let state = match issue.state {
                IssueState::Open => "open",
                IssueState::Closed => "closed",
            };
            let labels: Vec<&str> = issue.labels.iter().map(String::as_str).collect();
            let author = match issue.author.kind {
                AuthorKind::Person => format!("@{}", issue.author.login),
                AuthorKind::Bot => format!("the program @{}", issue.author.login),
                AuthorKind::Me => "Pilot itself".to_owned(),
            };
            format!("the issue was read: {state}, by {author}, labels {}", defuse(&labels.join(", "), 200))
        }
        Happened::IssueGone => "the issue is gone".to_owned(),
        Happened::PermissionSeen { login, permission } => {
            let may = if permission.may_order() { "has" } else { "has no" };
            format!("@{login} {may} write access")
        }
        Happened::DependencySeen { issue, state } => match state {
            DependencyState::Open => format!("{issue} is still open"),
            DependencyState::Closed => format!("{issue} is closed"),
            DependencyState::Missing => format!("there is no {issue}"),
        },
        Happened::BranchLookedAt { branch, found } => match found {
            Some(pr) => format!("{pr} is open on {branch}"),
            None => format!("no pull request is open on {branch}"),
        },
        Happened::Ordered { order, by } => match by {
            By::Operator => format!("the operator ordered: {}", order.as_str()),
            By::Comment { login, permission, .. } if permission.may_order() => {
                format!("@{login} ordered: {}", order.as_str())
            }
            By::Comment { login, .. } => format!("@{login}, without write access, wrote: {}", order.as_str()),
        },
        Happened::Claimed { generation, .. } => format!("it has its turn ({generation})"),
        Happened::ClaimPlaced { .. } => "the forge shows the claim".to_owned(),
        Happened::ClaimLost { owner, .. } => format!("another Pilot ({}) has it", defuse(owner, 100)),
        Happened::ClaimSeen { owner } => match owner {
            Some(owner) => format!("another Pilot ({}) still has it", defuse(owner, 100)),
            None => "no other Pilot has it any more".to_owned(),
        },
        Happened::ClaimReleased => "the claim was taken back".to_owned(),
        Happened::RunStarted { generation, .. } => format!("run {generation} began"),
        Happened::Unclaimed { .. } => "it gave its turn back before anything ran".to_owned(),
        Happened::RunEnded { generation, ending } => format!("run {generation} {}", run_ended(ending)),
        Happened::Abandoned { generation } => {
            format!("Pilot died during run {generation}; that counts for nothing")
        }
        Happened::Pushed { branch, sha } => format!("{branch} is at {}", sha.short()),
        Happened::PrOpened { pr } => format!("{} is there", pr.number),
        Happened::NoPrFound { branch } => format!("no pull request of ours is open on {branch}"),
        Happened::PrSeen { pr } => match &pr.state {
            PrState::Open => format!("{} is open at {}", pr.number, pr.head.short()),
            PrState::Closed => format!("{} is closed", pr.number),
            PrState::Merged { commit } => format!("{} is merged as {}", pr.number, commit.short()),
        },
        Happened::PrClosed { pr } => format!("{pr} was closed by Pilot"),
        Happened::CiRead { reading } => {
            let count = reading.checks.len() + reading.statuses.len();
            format!("CI of {} was read: {count} reports", reading.sha.short())
        }
        Happened::BaseLookedAt { commit, on_base } => match on_base {
            true => format!("{} is on the base branch", commit.short()),
            false => format!("{} is not on the base branch", commit.short()),
        },
        Happened::FixOpened { issue, iteration, pr } => {
            format!("{issue} was opened to fix the CI of {pr} (fix {iteration})")
        }
        Happened::Heard { news } => heard(news),
        Happened::Told { to, about } => format!("{to} was told: {}", about.as_str()),
        Happened::Labelled { labels } => match labels.is_empty() {
            true => "Pilot's labels were taken off".to_owned(),
            false => format!("labelled {}", labels.join(", ")),
        },
        Happened::Commented { .. } => "the status comment was written".to_owned(),
        Happened::Replied { .. } => "a question was answered".to_owned(),
        Happened::AnsweredOnce { .. } => "the question has one answer".to_owned(),
        Happened::IssueClosed => "the issue is closed, as it should be".to_owned(),
        Happened::BranchDeleted { branch } => format!("{branch} is deleted"),
        Happened::BranchKept { branch, why } => format!("{branch} stays: {}", defuse(why, 200)),
        Happened::Failed { key, failure } => format!("{key} failed: {}", defuse(&failure.to_string(), 300)),
        Happened::Ended { .. } => "it is over".to_owned(),
    }
}

fn run_ended(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Completed(work) => format!("completed with {}", work.sha.short()),
        RunEnding::Stopped { class, reason, again_at } => {
            let again = if again_at.is_some() { "; it may be tried again" } else { "" };
            format!("ended: {class}, {}{again}", defuse(reason, 300))
        }
    }
}

fn heard(news: &News) -> String {
    match news {
        News::Adopted(lineage) => format!("it fixes the CI of {} (fix {})", lineage.pr, lineage.iteration),
        News::LetGo => "the issue it belongs to was let go of".to_owned(),
        News::Landed(landed) => format!("its work landed with {}", landed.pr()),
        News::GaveUp { issue } => format!("{issue}, which was to fix CI, gave up"),
    }
}

/// What happened to a project, as a fragment.
pub fn project_happened(what: &ProjectHappened) -> String {
    match what {
        ProjectHappened::Paused { by } => format!("paused by {by}"),
        ProjectHappened::Resumed { by } => format!("resumed by {by}"),
        ProjectHappened::BudgetSpent { why } => {
            format!("the budget lets nothing begin: {}", defuse(why, 300))
        }
        ProjectHappened::BudgetFree => "the budget lets things begin".to_owned(),
        ProjectHappened::Tagged { tag, commit } => format!("{} is tagged {tag}", commit.short()),
        ProjectHappened::Failed { key, failure } => {
            format!("{key} failed: {}", defuse(&failure.to_string(), 300))
        }
    }
}
