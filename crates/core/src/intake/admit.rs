//! Admission.

use std::collections::BTreeSet;

use super::priority::rank;
use crate::fact::{ProjectFacts, TaskFacts};
use crate::policy::Policy;
use crate::seen::{AuthorKind, DependencyState, Issue};
use crate::task::{Hold, Look, retry_at, start_trouble};
use crate::time::Timestamp;
use crate::words::label;

/// Whether an issue may become work now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may, at this place of the queue.
    Admitted {
        /// The smallest goes first.
        rank: i64,
    },
    /// It may not, and why.
    Held(Hold),
    /// Nobody can say before these were looked at.
    Unknown(Vec<Look>),
}

/// Decides on admission. Asked again whenever anything it depends on changes, so an edit is judged like a new issue.
pub fn admit(task: &TaskFacts, project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Admission {
    let Some(issue) = task.seen() else { return Admission::Unknown(vec![Look::Issue]) };
    if !task.is_open() {
        return Admission::Held(Hold::IssueClosed);
    }
    if !issue.has_label(&policy.label) {
        return Admission::Held(Hold::LabelGone);
    }
    if let Some(by) = &task.life.paused {
        return Admission::Held(Hold::Paused { by: by.clone() });
    }
    let mut looks = Vec::new();
    let own = own_reason(task, issue, policy, &mut looks);
    let reason = own.or_else(|| elsewhere(task)).or_else(|| of_project(project, policy, now));
    match reason {
        Some(hold) => Admission::Held(hold),
        None if !looks.is_empty() => Admission::Unknown(looks),
        None => Admission::Admitted { rank: rank(task, issue) },
    }
}

/// What about the issue itself speaks against it.
fn own_reason(task: &TaskFacts, issue: &Issue, policy: &Policy, looks: &mut Vec<Look>) -> Option<Hold> {
    author(task, issue, policy, looks)
        .or_else(|| dependencies(task, issue, looks))
        .or_else(|| branch(task, looks))
}

/// Who wrote it may set Pilot to work: by right, because they are listed, or because it is a fix our own log knows of.
fn author(task: &TaskFacts, issue: &Issue, policy: &Policy, looks: &mut Vec<Look>) -> Option<Hold> {
    let login = &issue.author.login;
    if task.lineage.is_some() || policy.trusted.iter().any(|name| name.eq_ignore_ascii_case(login)) {
        return None;
    }
    match issue.author.kind {
        AuthorKind::Me if issue.has_label(label::FIX) => Some(Hold::UnknownFix),
        AuthorKind::Bot => Some(Hold::Bot { login: login.clone() }),
        // Whoever runs Pilot with an account of their own writes issues with it as well.
        AuthorKind::Me | AuthorKind::Person => match &task.permission {
            Some((whose, permission)) if whose == login => {
                (!permission.may_order()).then(|| Hold::Stranger { login: login.clone() })
            }
            Some(_) | None => {
                looks.push(Look::Permission { login: login.clone() });
                None
            }
        },
    }
}

fn dependencies(task: &TaskFacts, issue: &Issue, looks: &mut Vec<Look>) -> Option<Hold> {
    if let Some(line) = issue.body.unread.first() {
        return Some(Hold::DependencyUnread { line: line.clone() });
    }
    if issue.body.depends_on.contains(&task.number) {
        return Some(Hold::DependsOnItself);
    }
    let mut open = BTreeSet::new();
    for number in &issue.body.depends_on {
        match task.dependencies.get(number) {
            None => looks.push(Look::Dependency { issue: *number }),
            Some(DependencyState::Open) => {
                open.insert(*number);
            }
            Some(DependencyState::Missing) => return Some(Hold::DependencyMissing { issue: *number }),
            Some(DependencyState::Closed) => {}
        }
    }
    (!open.is_empty()).then_some(Hold::DependsOn { open })
}

/// Nothing may be on its branch yet. What is there because of us is known from the log, and is not asked for.
fn branch(task: &TaskFacts, looks: &mut Vec<Look>) -> Option<Hold> {
    if task.lineage.is_some() || task.life.pushed.is_some() {
        return None;
    }
    match task.life.branch_found {
        None => {
            looks.push(Look::Branch { branch: task.branch() });
            None
        }
        Some(found) => found.map(|pr| Hold::OpenPr { pr }),
    }
}

fn elsewhere(task: &TaskFacts) -> Option<Hold> {
    task.life.elsewhere.as_ref().map(|owner| Hold::Elsewhere { owner: owner.clone() })
}

fn of_project(project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Option<Hold> {
    if let Some(by) = &project.paused {
        return Some(Hold::ProjectPaused { by: by.clone() });
    }
    if let Some((until, class)) = project.broken_until(policy, now) {
        return Some(Hold::Breaker { until, class });
    }
    project.budget.as_ref().map(|why| Hold::Budget { why: why.clone() })
}

/// When a hold may be over without anything having happened to the task, and what to look at then.
pub(crate) fn again(
    hold: &Hold,
    task: &TaskFacts,
    policy: &Policy,
    now: Timestamp,
) -> Option<(Timestamp, Vec<Look>)> {
    let slowly = now.after(20 * policy.poll_interval);
    match hold {
        // Whoever closed the issue may have merged the pull request.
        Hold::IssueClosed | Hold::LabelGone if task.life.pr.is_some() || task.gone => {
            let pr = task.life.pr.as_ref().map(|known| Look::Pr { pr: known.pr.number });
            // That it is gone is one answer, and may have been a wrong one: no list tells.
            let issue = task.gone.then_some(Look::Issue);
            let wake = if pr.is_some() { now.after(policy.poll_interval) } else { slowly };
            Some((wake, pr.into_iter().chain(issue).collect()))
        }
        Hold::IssueClosed | Hold::LabelGone => None,
        Hold::DependsOn { open } => {
            let looks = open.iter().map(|issue| Look::Dependency { issue: *issue }).collect();
            Some((now.after(policy.poll_interval), looks))
        }
        Hold::Stranger { login } => Some((slowly, vec![Look::Permission { login: login.clone() }])),
        Hold::DependencyMissing { issue } => Some((slowly, vec![Look::Dependency { issue: *issue }])),
        Hold::OpenPr { .. } => Some((slowly, vec![Look::Branch { branch: task.branch() }])),
        Hold::Elsewhere { .. } => Some((slowly, vec![Look::Claim])),
        Hold::Breaker { until, .. } => Some((*until, Vec::new())),
        // The pull request is looked at slowly: a person may merge or mend it.
        Hold::MergeConflict { pr }
        | Hold::HeadMoved { pr, .. }
        | Hold::AwaitsMerge { pr }
        | Hold::CiKeepsFailing { pr, .. }
        | Hold::CiLate { pr, .. }
        | Hold::NotOnBase { pr } => Some((now.after(4 * policy.poll_interval), vec![Look::Pr { pr: *pr }])),
        Hold::ProjectPaused { .. } | Hold::Budget { .. } => {
            Some((now.after(policy.poll_interval), Vec::new()))
        }
        // The outbox knows when it tries again, except where nothing may be in it: before a run.
        Hold::Trouble { .. } => {
            let (_, trouble) = start_trouble(task)?;
            Some((retry_at(true, trouble, true, policy), Vec::new())).filter(|(at, _)| *at > now)
        }
        Hold::Paused { .. }
        | Hold::Bot { .. }
        | Hold::UnknownFix
        | Hold::DependsOnItself
        | Hold::DependencyUnread { .. } => None,
    }
}

#[cfg(test)]
mod tests;
