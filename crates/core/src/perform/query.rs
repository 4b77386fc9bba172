//! Queries: what is read for a task, and what the answers say about it.

use std::collections::BTreeSet;

use super::{Next, wrong_answer};
use crate::ci::{Reading, Required};
use crate::fact::{TaskEvent, TaskFacts};
use crate::id::{PrNumber, Sha};
use crate::observed::{DependencyState, Failure, PrState, TicketState, Trust, requests_for_changes};
use crate::policy::Policy;
use crate::port::{
    Answer, Call, ForgeAnswer, ForgeCall, GitAnswer, GitCall, Reply, TrackerAnswer, TrackerCall,
};
use crate::task::Query;

/// So many users who request changes are asked about; the others count.
const MOST_REVIEWERS: usize = 30;

/// What to do next for a query, from the replies so far. A failure says nothing about the task: error is not empty, and the
/// next query is the retry.
pub fn next_query_step(
    query: &Query,
    task: &TaskFacts,
    policy: &Policy,
    said: &[Reply],
) -> Next<Result<TaskEvent, Failure>> {
    match query {
        Query::Ci { sha } => ci(sha, policy, said),
        Query::Base { commit } => base(commit, policy, said),
        Query::Reviews { pr } => reviews(*pr, policy, said),
        Query::Ticket
        | Query::Claim
        | Query::Trust { .. }
        | Query::Dependency { .. }
        | Query::Branch { .. }
        | Query::Pr { .. } => match said {
            [] => Next::Call(call_for(query, task)),
            [reply, ..] => Next::Done(reply.clone().and_then(|answer| event_of(query, answer))),
        },
    }
}

/// The one call of a query that needs no more.
fn call_for(query: &Query, task: &TaskFacts) -> Call {
    match query {
        Query::Ticket => Call::Tracker(TrackerCall::Ticket(task.key.clone())),
        Query::Claim => Call::Git(GitCall::ReadClaim(task.key.clone())),
        Query::Trust { login } => Call::Tracker(TrackerCall::Trust(login.clone())),
        Query::Dependency { ticket } => Call::Tracker(TrackerCall::Ticket(ticket.clone())),
        Query::Branch { branch } => Call::Forge(ForgeCall::PullsFrom(branch.clone())),
        Query::Pr { pr } => Call::Forge(ForgeCall::Pull(*pr)),
        Query::Reviews { pr } => Call::Forge(ForgeCall::Reviews(*pr)),
        Query::Ci { sha } => Call::Forge(ForgeCall::Checks(sha.clone())),
        Query::Base { commit } => Call::Git(GitCall::Contains { branch: task.branch(), sha: commit.clone() }),
    }
}

fn event_of(query: &Query, answer: Answer) -> Result<TaskEvent, Failure> {
    Ok(match (query, answer) {
        (Query::Ticket, Answer::Tracker(TrackerAnswer::Ticket(Some(read)))) => {
            TaskEvent::TicketRead { ticket: read.ticket }
        }
        (Query::Ticket, Answer::Tracker(TrackerAnswer::Ticket(None))) => TaskEvent::TicketGone,
        (Query::Claim, Answer::Git(GitAnswer::Claim(owner))) => TaskEvent::ClaimRead { owner },
        (Query::Trust { login }, Answer::Tracker(TrackerAnswer::Trust(trust))) => {
            TaskEvent::TrustRead { login: login.clone(), trust }
        }
        (Query::Dependency { ticket }, Answer::Tracker(TrackerAnswer::Ticket(read))) => {
            let state = match read.map(|read| read.ticket.state) {
                Some(TicketState::Open) => DependencyState::Open,
                Some(TicketState::Closed) => DependencyState::Closed,
                None => DependencyState::Missing,
            };
            TaskEvent::DependencyRead { ticket: ticket.clone(), state }
        }
        (Query::Branch { branch }, Answer::Forge(ForgeAnswer::Pulls(pulls))) => {
            let open = pulls.iter().find(|seen| seen.pr.branch == *branch && seen.pr.state == PrState::Open);
            TaskEvent::BranchChecked { branch: branch.clone(), found: open.map(|seen| seen.pr.number) }
        }
        (Query::Pr { .. }, Answer::Forge(ForgeAnswer::Pull(pr))) => TaskEvent::PrRead { pr },
        (_, answer) => return Err(wrong_answer(&answer)),
    })
}

/// Checks first. What is required matters only when nothing is pending.
fn ci(sha: &Sha, policy: &Policy, said: &[Reply]) -> Next<Result<TaskEvent, Failure>> {
    match ci_reading(sha, policy, said) {
        Ok(Next::Call(call)) => Next::Call(call),
        Ok(Next::Done(reading)) => Next::Done(Ok(TaskEvent::CiRead { reading })),
        Err(failure) => Next::Done(Err(failure)),
    }
}

/// The reading of CI that replies make up.
pub(super) fn ci_reading(sha: &Sha, policy: &Policy, said: &[Reply]) -> Result<Next<Reading>, Failure> {
    let answers: Vec<&Answer> =
        said.iter().map(|reply| reply.as_ref().map_err(Clone::clone)).collect::<Result<_, _>>()?;
    let reading = |checks: &BTreeSet<_>, required: Required| {
        Next::Done(Reading { sha: sha.clone(), checks: checks.clone(), required })
    };
    Ok(match answers[..] {
        [] => Next::Call(Call::Forge(ForgeCall::Checks(sha.clone()))),
        [Answer::Forge(ForgeAnswer::Checks(checks))] if policy.ci.is_under_way(checks) => {
            reading(checks, Required::Unknown)
        }
        [Answer::Forge(ForgeAnswer::Checks(_))] => {
            Next::Call(Call::Forge(ForgeCall::Required(policy.base.clone())))
        }
        [Answer::Forge(ForgeAnswer::Checks(checks)), Answer::Forge(ForgeAnswer::Required(required))] => {
            reading(checks, required.clone())
        }
        _ => return Err(wrong_answer(&answers.last())),
    })
}

fn reviews(pr: PrNumber, policy: &Policy, said: &[Reply]) -> Next<Result<TaskEvent, Failure>> {
    match reviews_reading(pr, policy, said) {
        Ok(Next::Call(call)) => Next::Call(call),
        Ok(Next::Done(read)) => {
            Next::Done(Ok(TaskEvent::ReviewsRead { pr, requested_by: read.requested_by }))
        }
        Err(failure) => Next::Done(Err(failure)),
    }
}

/// The reviews of a pull request, as replies say.
pub(super) struct ReviewsReading {
    /// The users who request changes and may write to the repository, or might.
    pub(super) requested_by: BTreeSet<String>,
    /// How many replies this took.
    pub(super) replies: usize,
}

/// The reviews that replies make up. Whether an account may write is asked only of those who request changes; that the forge
/// cannot say is no no.
pub(super) fn reviews_reading(
    pr: PrNumber,
    policy: &Policy,
    said: &[Reply],
) -> Result<Next<ReviewsReading>, Failure> {
    let reviews = match said.first() {
        None => return Ok(Next::Call(Call::Forge(ForgeCall::Reviews(pr)))),
        Some(Ok(Answer::Forge(ForgeAnswer::Reviews(reviews)))) => reviews,
        Some(Ok(answer)) => return Err(wrong_answer(answer)),
        Some(Err(failure)) => return Err(failure.clone()),
    };
    let mut read = ReviewsReading { requested_by: BTreeSet::new(), replies: 1 };
    for login in requests_for_changes(reviews) {
        let counts = policy.trusts(&login) || read.replies > MOST_REVIEWERS || {
            let trust = match said.get(read.replies) {
                None => return Ok(Next::Call(Call::Forge(ForgeCall::MayWrite(login)))),
                Some(Ok(Answer::Forge(ForgeAnswer::MayWrite(trust)))) => *trust,
                Some(Ok(answer)) => return Err(wrong_answer(answer)),
                Some(Err(failure)) => return Err(failure.clone()),
            };
            read.replies += 1;
            trust != Trust::Untrusted
        };
        if counts {
            read.requested_by.insert(login);
        }
    }
    Ok(Next::Done(read))
}

/// Git answers without a call of the forge's API, and fetches what the next task starts with. Where it does not find the
/// commit, the forge is asked.
fn base(commit: &Sha, policy: &Policy, said: &[Reply]) -> Next<Result<TaskEvent, Failure>> {
    match contains(commit, policy, said) {
        Next::Call(call) => Next::Call(call),
        Next::Done(Ok(on_base)) => Next::Done(Ok(TaskEvent::BaseChecked { commit: commit.clone(), on_base })),
        Next::Done(Err(failure)) => Next::Done(Err(failure)),
    }
}

/// Whether the base branch contains a commit.
pub(super) fn contains(commit: &Sha, policy: &Policy, said: &[Reply]) -> Next<Result<bool, Failure>> {
    let (branch, sha) = (policy.base.clone(), commit.clone());
    match said {
        [] => Next::Call(Call::Git(GitCall::Contains { branch, sha })),
        [Ok(Answer::Git(GitAnswer::Contains(true)))] => Next::Done(Ok(true)),
        [_] => Next::Call(Call::Forge(ForgeCall::Contains { branch, sha })),
        [_, Ok(Answer::Forge(ForgeAnswer::Contains(on_base))), ..] => Next::Done(Ok(*on_base)),
        [_, Err(failure), ..] => Next::Done(Err(failure.clone())),
        [_, Ok(answer), ..] => Next::Done(Err(wrong_answer(answer))),
    }
}
