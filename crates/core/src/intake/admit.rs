//! Admission: whether a ticket may become work.

use std::collections::BTreeSet;

use super::priority::rank;
use crate::fact::{ProjectFacts, TaskFacts};
use crate::observed::{AuthorKind, DependencyState, Ticket, Trust};
use crate::policy::Policy;
use crate::task::{Hold, Query, retry_at, start_trouble};
use crate::time::Timestamp;
use crate::words::label;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted {
        /// The smallest goes first.
        rank: i64,
    },
    Held(Hold),
    /// Undecided until these were read.
    Unknown(Vec<Query>),
}

/// Decides on admission. Asked again whenever anything it depends on changes, so an edit is judged like a new ticket.
pub fn admit(task: &TaskFacts, project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Admission {
    let Some(ticket) = task.ticket() else { return Admission::Unknown(vec![Query::Ticket]) };
    if !task.is_open() {
        return Admission::Held(Hold::TicketClosed);
    }
    if !ticket.has_label(&policy.label) {
        return Admission::Held(Hold::LabelGone);
    }
    if let Some(by) = &task.life.paused {
        return Admission::Held(Hold::Paused { by: by.clone() });
    }
    let mut queries = Vec::new();
    let own = own_reason(task, ticket, policy, &mut queries);
    let reason = own.or_else(|| elsewhere(task)).or_else(|| of_project(project, policy, now));
    let reason = reason.or_else(|| budget(task));
    match reason {
        Some(hold) => Admission::Held(hold),
        None if !queries.is_empty() => Admission::Unknown(queries),
        None => Admission::Admitted { rank: rank(task, ticket) },
    }
}

/// What about the ticket itself speaks against it.
fn own_reason(task: &TaskFacts, ticket: &Ticket, policy: &Policy, queries: &mut Vec<Query>) -> Option<Hold> {
    author(task, ticket, policy, queries)
        .or_else(|| dependencies(task, ticket, queries))
        .or_else(|| branch(task, queries))
}

/// Its author may set Pilot to work: by write access, because they are listed, or because it is a fix our own log knows.
fn author(task: &TaskFacts, ticket: &Ticket, policy: &Policy, queries: &mut Vec<Query>) -> Option<Hold> {
    let login = &ticket.author.login;
    if task.lineage.is_some() || policy.trusts(login) {
        return None;
    }
    match ticket.author.kind {
        AuthorKind::Me if ticket.has_label(label::FIX) => Some(Hold::UnknownFix),
        AuthorKind::Bot => Some(Hold::Bot { login: login.clone() }),
        // A user who runs Pilot with their own account writes tickets with it too.
        AuthorKind::Me | AuthorKind::Person => match &task.trust {
            Some((whose, trust)) if whose == login => match trust {
                Trust::Trusted => None,
                Trust::Untrusted => Some(Hold::Untrusted { login: login.clone() }),
                Trust::Unknown => Some(Hold::TrustUnknown { login: login.clone() }),
            },
            Some(_) | None => {
                queries.push(Query::Trust { login: login.clone() });
                None
            }
        },
    }
}

fn dependencies(task: &TaskFacts, ticket: &Ticket, queries: &mut Vec<Query>) -> Option<Hold> {
    if let Some(line) = ticket.body.unread.first() {
        return Some(Hold::DependencyUnread { line: line.clone() });
    }
    if ticket.body.depends_on.contains(&task.key) {
        return Some(Hold::DependsOnItself);
    }
    let mut open = BTreeSet::new();
    for key in &ticket.body.depends_on {
        match task.dependencies.get(key) {
            None => queries.push(Query::Dependency { ticket: key.clone() }),
            Some(DependencyState::Open) => {
                open.insert(key.clone());
            }
            Some(DependencyState::Missing) => return Some(Hold::DependencyMissing { ticket: key.clone() }),
            Some(DependencyState::Closed) => {}
        }
    }
    (!open.is_empty()).then_some(Hold::DependsOn { open })
}

/// No pull request may be on its branch yet. One that Pilot opened is known from the log, and is not asked for.
fn branch(task: &TaskFacts, queries: &mut Vec<Query>) -> Option<Hold> {
    if task.lineage.is_some() || task.life.pushed.is_some() {
        return None;
    }
    match task.life.branch_found {
        None => {
            queries.push(Query::Branch { branch: task.branch() });
            None
        }
        Some(found) => found.map(|pr| Hold::OpenPr { pr }),
    }
}

fn elsewhere(task: &TaskFacts) -> Option<Hold> {
    task.life.elsewhere.as_ref().map(|owner| Hold::ClaimedElsewhere { owner: owner.clone() })
}

/// Only the budget's own answer frees it: whether it fits depends on what other runs spend.
fn budget(task: &TaskFacts) -> Option<Hold> {
    let shortage = task.life.short.as_ref()?;
    Some(Hold::Budget { why: shortage.words(), until: shortage.fits_at() })
}

fn of_project(project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Option<Hold> {
    if let Some(by) = &project.paused {
        return Some(Hold::ProjectPaused { by: by.clone() });
    }
    if let Some((until, class)) = project.broken_until(&policy.breaker, now) {
        return Some(Hold::Breaker { until, class });
    }
    None
}

/// When a hold may be over without any event of the task, and what to look at then.
pub(crate) fn again(
    hold: &Hold,
    task: &TaskFacts,
    policy: &Policy,
    now: Timestamp,
) -> Option<(Timestamp, Vec<Query>)> {
    let slowly = now.after(20 * policy.poll_interval);
    match hold {
        // The person who closed the ticket may have merged the pull request.
        Hold::TicketClosed | Hold::LabelGone if task.life.pr.is_some() || task.gone => {
            let pr = task.life.pr.as_ref().map(|known| Query::Pr { pr: known.pr.number });
            // That it is gone is one answer, and may have been wrong: no list says otherwise.
            let ticket = task.gone.then_some(Query::Ticket);
            let wake = if pr.is_some() { now.after(policy.poll_interval) } else { slowly };
            Some((wake, pr.into_iter().chain(ticket).collect()))
        }
        Hold::TicketClosed | Hold::LabelGone => None,
        Hold::DependsOn { open } => {
            let queries = open.iter().map(|ticket| Query::Dependency { ticket: ticket.clone() }).collect();
            Some((now.after(policy.poll_interval), queries))
        }
        Hold::Untrusted { login } | Hold::TrustUnknown { login } => {
            Some((slowly, vec![Query::Trust { login: login.clone() }]))
        }
        Hold::DependencyMissing { ticket } => {
            Some((slowly, vec![Query::Dependency { ticket: ticket.clone() }]))
        }
        Hold::OpenPr { .. } => Some((slowly, vec![Query::Branch { branch: task.branch() }])),
        Hold::ClaimedElsewhere { .. } => Some((slowly, vec![Query::Claim])),
        Hold::Breaker { until, .. } => Some((*until, Vec::new())),
        // An unchanged list of reviews costs nothing. The pull request now and then: a person may merge it all the same.
        Hold::ChangesRequested { pr, .. } => {
            let next = now.after(policy.poll_interval);
            let also_pr = now.is_apart(next, 4 * policy.poll_interval).then_some(Query::Pr { pr: *pr });
            Some((next, [Query::Reviews { pr: *pr }].into_iter().chain(also_pr).collect()))
        }
        // The pull request is read slowly: a person may merge or fix it.
        Hold::MergeConflict { pr }
        | Hold::HeadMoved { pr, .. }
        | Hold::AwaitsMerge { pr }
        | Hold::CiKeepsFailing { pr, .. }
        | Hold::CiLate { pr, .. }
        | Hold::NotOnBase { pr } => Some((now.after(4 * policy.poll_interval), vec![Query::Pr { pr: *pr }])),
        Hold::ProjectPaused { .. } => Some((now.after(policy.poll_interval), Vec::new())),
        // The outbox knows when it tries again, except where nothing may be in it: before a run.
        Hold::Trouble { .. } => {
            let (_, trouble) = start_trouble(task)?;
            Some((retry_at(true, trouble, true, policy), Vec::new())).filter(|(at, _)| *at > now)
        }
        Hold::Paused { .. }
        | Hold::Budget { .. }
        | Hold::Bot { .. }
        | Hold::UnknownFix
        | Hold::DependsOnItself
        | Hold::DependencyUnread { .. } => None,
    }
}

#[cfg(test)]
mod tests;
