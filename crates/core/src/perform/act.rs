//! Acts: looks and one effect each, as a function of what was asked and answered so far.

use std::collections::BTreeSet;

use super::query::{ci_reading, contains, reviews_reading};
use super::{Next, wrong_answer};
use crate::fact::{ProjectEvent, TaskEvent};
use crate::id::{Branch, CommentId, PrNumber, Sha, TaskKey};
use crate::observed::{Failure, FailureKind, Mergeable, Pr, PrState, Ticket, TicketState};
use crate::policy::Policy;
use crate::port::{
    Answer, Call, CommentSeen, FixMeta, ForgeAnswer, ForgeCall, GitAnswer, GitCall, Marker, NewComment,
    NewPull, NewTicket, PullSeen, Reply, TicketText, TrackerAnswer, TrackerCall,
};
use crate::release::{NewTag, Version};
use crate::task::{Action, NewFix, NewPr, ReadyToMerge, RunRequest, StatusComment};
use crate::words;

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is done, or turned out to be: this happened to the task.
    Task(TaskEvent),
    /// The same for a project.
    Project(ProjectEvent),
    /// Something happens to another task of this project, and then to the one that sent the message.
    Message {
        to: TaskKey,
        received: Box<TaskEvent>,
        sent: Box<TaskEvent>,
    },
    Failed(Failure),
}

type Step = Next<Report>;

/// What to do next for an action, from the replies so far. The same replies give the same result; none gives the first call.
pub fn next_step(action: &Action, policy: &Policy, said: &[Reply]) -> Step {
    match action {
        Action::PlaceClaim { task, generation } => match said {
            [] => git(GitCall::PlaceClaim(task.clone())),
            [Ok(Answer::Git(GitAnswer::Claim(None)))] => {
                task_report(TaskEvent::ClaimPlaced { generation: *generation })
            }
            [Ok(Answer::Git(GitAnswer::Claim(Some(owner))))] => {
                task_report(TaskEvent::ClaimLost { generation: *generation, owner: owner.clone() })
            }
            _ => failed_or_wrong(said),
        },
        Action::ReleaseClaim { task, .. } => {
            call_once(said, GitCall::ReleaseClaim(task.clone()), TaskEvent::ClaimReleased)
        }
        Action::StartRun(request) => start_run(request, policy, said),
        Action::Push { branch, sha, expect } => {
            let (branch, sha, expect) = (branch.clone(), sha.clone(), expect.clone());
            let pushed = TaskEvent::Pushed { branch: branch.clone(), sha: sha.clone() };
            call_once(said, GitCall::Push { branch, sha, expect }, pushed)
        }
        Action::OpenPr(new) => open_pr(new, policy, said),
        Action::FindPr { branch, marker } => find_pr(branch, marker, said),
        Action::ClosePr { pr, head, comment, marker } => close_pr(*pr, head.as_ref(), comment, marker, said),
        Action::OpenFix(new) => open_fix(new, policy, said),
        Action::Merge(ready) => merge(ready, policy, said),
        Action::CloseTicket { ticket, .. } => close_ticket(ticket, said),
        Action::DeleteBranch { branch, sha, .. } => delete_branch(branch, sha, policy, said),
        Action::Label { ticket, add, remove, .. } => label(ticket, add, remove, said),
        Action::Comment { ticket, known, body, marker, fingerprint, .. } => {
            status_comment(ticket, known, body, marker, fingerprint, said)
        }
        Action::Reply { ticket, pr, to, body, marker } => {
            reply(ticket, *pr, to, new_comment(body, marker), said)
        }
        Action::AnswerOnce { ticket, to, marker } => answer_once(ticket, to, marker, said),
        Action::SendMessage { to, message } => Next::Done(Report::Message {
            to: to.clone(),
            received: Box::new(TaskEvent::MessageReceived { message: message.clone() }),
            sent: Box::new(TaskEvent::MessageSent { to: to.clone(), about: message.kind() }),
        }),
        Action::Tag(new) => tag(new, policy, said),
    }
}

fn tracker(call: TrackerCall) -> Step {
    Next::Call(Call::Tracker(call))
}

fn forge(call: ForgeCall) -> Step {
    Next::Call(Call::Forge(call))
}

fn git(call: GitCall) -> Step {
    Next::Call(Call::Git(call))
}

fn task_report(event: TaskEvent) -> Step {
    Next::Done(Report::Task(event))
}

fn failed(kind: FailureKind, detail: &str) -> Step {
    Next::Done(Report::Failed(Failure::new(kind, detail)))
}

/// The first failure ends an act; it is repeated later, from its look on. Without one, the last answer is of another kind.
fn failed_or_wrong(said: &[Reply]) -> Step {
    let failure = said.iter().find_map(|reply| reply.as_ref().err().cloned());
    Next::Done(Report::Failed(failure.unwrap_or_else(|| wrong_answer(&said.last()))))
}

fn new_comment(text: &str, marker: &Marker) -> NewComment {
    NewComment { text: text.to_owned(), marker: Some(marker.clone()) }
}

/// An act whose call looks by itself: it names what must be there.
fn call_once(said: &[Reply], call: GitCall, event: TaskEvent) -> Step {
    match said {
        [] => git(call),
        [Ok(Answer::Git(GitAnswer::Done))] => task_report(event),
        _ => failed_or_wrong(said),
    }
}

/// The ticket is read once more: the run starts with what it says now, or not at all. Then the base is fetched.
fn start_run(request: &RunRequest, policy: &Policy, said: &[Reply]) -> Step {
    let is_wanted = |ticket: &Ticket| {
        ticket.body.hash == request.body
            && ticket.state == TicketState::Open
            && ticket.has_label(&policy.label)
    };
    match said {
        [] => tracker(TrackerCall::Ticket(request.task.clone())),
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(None)))] => task_report(TaskEvent::TicketGone),
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(Some(read)))), rest @ ..] if is_wanted(&read.ticket) => {
            match rest {
                [] => git(GitCall::FetchBase {
                    base: policy.base.clone(),
                    branch: request.branch.clone(),
                    from: request.from.clone(),
                }),
                [Ok(Answer::Git(GitAnswer::Base(_)))] => task_report(TaskEvent::RunStarted {
                    generation: request.generation,
                    body: request.body.clone(),
                    without_comments: !read.has_comments,
                }),
                _ => failed_or_wrong(said),
            }
        }
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(Some(read))))] => {
            task_report(TaskEvent::TicketRead { ticket: read.ticket.clone() })
        }
        _ => failed_or_wrong(said),
    }
}

/// What a run that was just started begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInput {
    pub read: TicketText,
    /// The commit to start from.
    pub base: Sha,
}

/// The input of a run, from the replies to [`Action::StartRun`].
pub fn run_input(said: Vec<Reply>) -> Option<RunInput> {
    let mut said = said.into_iter();
    match (said.next(), said.next()) {
        (
            Some(Ok(Answer::Tracker(TrackerAnswer::Ticket(Some(read))))),
            Some(Ok(Answer::Git(GitAnswer::Base(base)))),
        ) => Some(RunInput { read: *read, base }),
        (_, _) => None,
    }
}

/// Found by its branch and its marker before it is opened. A person may have merged or closed it since.
fn open_pr(new: &NewPr, policy: &Policy, said: &[Reply]) -> Step {
    match said {
        [] => forge(ForgeCall::PullsFrom(new.branch.clone())),
        [Ok(Answer::Forge(ForgeAnswer::Pulls(pulls)))] => {
            let is_ours = |seen: &PullSeen| {
                seen.marker.as_ref() == Some(&new.marker)
                    && (seen.pr.state == PrState::Open || seen.pr.head == new.sha)
            };
            let on_branch = || pulls.iter().filter(|seen| seen.pr.branch == new.branch);
            let open = on_branch().find(|seen| seen.pr.state == PrState::Open);
            match open.or_else(|| on_branch().find(|seen| is_ours(seen))) {
                Some(seen) if is_ours(seen) => task_report(TaskEvent::PrOpened { pr: seen.pr.clone() }),
                Some(seen) => {
                    let pull = policy.references.pull(seen.pr.number);
                    failed(
                        FailureKind::Conflict,
                        &format!("{pull} is open on {} and not Pilot's", new.branch),
                    )
                }
                None => forge(ForgeCall::CreatePull(NewPull {
                    branch: new.branch.clone(),
                    base: new.base.clone(),
                    title: new.title.clone(),
                    text: new.body.clone(),
                    marker: new.marker.clone(),
                })),
            }
        }
        [Ok(_), Ok(Answer::Forge(ForgeAnswer::Pull(pr)))] => {
            task_report(TaskEvent::PrOpened { pr: pr.clone() })
        }
        _ => failed_or_wrong(said),
    }
}

fn find_pr(branch: &Branch, marker: &Marker, said: &[Reply]) -> Step {
    match said {
        [] => forge(ForgeCall::PullsFrom(branch.clone())),
        [Ok(Answer::Forge(ForgeAnswer::Pulls(pulls)))] => {
            let is_ours = |seen: &&PullSeen| {
                seen.pr.branch == *branch
                    && seen.pr.state != PrState::Closed
                    && seen.marker.as_ref() == Some(marker)
            };
            match pulls.iter().find(is_ours) {
                Some(seen) => task_report(TaskEvent::PrOpened { pr: seen.pr.clone() }),
                None => task_report(TaskEvent::NoPrFound { branch: branch.clone() }),
            }
        }
        _ => failed_or_wrong(said),
    }
}

/// Read, commented once, closed. One that was merged meanwhile stays merged.
fn close_pr(pr: PrNumber, head: Option<&Sha>, comment: &str, marker: &Marker, said: &[Reply]) -> Step {
    match said {
        [] => forge(ForgeCall::Pull(pr)),
        [Ok(Answer::Forge(ForgeAnswer::Pull(seen)))] => match seen.state {
            PrState::Merged { .. } => task_report(TaskEvent::PrRead { pr: seen.clone() }),
            // With other commits at its head it belongs to the person who pushed them, also where it reads closed.
            PrState::Open | PrState::Closed if head.is_some_and(|head| seen.head != *head) => {
                task_report(TaskEvent::PrRead { pr: seen.clone() })
            }
            // Closing twice is closing, and a read that shows it closed may be stale.
            PrState::Open | PrState::Closed => forge(ForgeCall::Comments(pr)),
        },
        [Ok(_), Ok(Answer::Forge(ForgeAnswer::Comments(comments)))] => match first_marked(comments, marker) {
            Some(_) => forge(ForgeCall::ClosePull(pr)),
            None => forge(ForgeCall::AddComment(pr, new_comment(comment, marker))),
        },
        [Ok(_), Ok(_), Ok(Answer::Forge(ForgeAnswer::Comment(_)))] => forge(ForgeCall::ClosePull(pr)),
        [Ok(_), Ok(_), .., Ok(Answer::Forge(ForgeAnswer::Done))] => task_report(TaskEvent::PrClosed { pr }),
        _ => failed_or_wrong(said),
    }
}

/// Found by its marker before it is opened, with the log of what failed. That the forge has no log is an answer: the failed
/// checks are known by name. Not while a user requests changes: the pull request would be closed, and the review with it.
fn open_fix(new: &NewFix, policy: &Policy, said: &[Reply]) -> Step {
    let opened = |ticket: &TaskKey| {
        let ticket = ticket.clone();
        task_report(TaskEvent::FixOpened { ticket, iteration: new.iteration, pr: new.pr })
    };
    let marker = Marker::Fix(FixMeta { branch: new.branch.clone(), pr: new.pr, iteration: new.iteration });
    let create = |log: Option<&str>| {
        tracker(TrackerCall::Create(NewTicket {
            title: words::fix_title(new),
            text: words::fix_body(new, log, &policy.references),
            labels: words::fix_labels(new),
            marker: marker.clone(),
        }))
    };
    let said = match unless_changes_requested(new.pr, policy, said) {
        Ok(said) => said,
        Err(step) => return *step,
    };
    match said {
        [] => tracker(TrackerCall::OwnTickets(words::label::FIX.to_owned())),
        [Ok(Answer::Tracker(TrackerAnswer::OwnTickets(tickets)))] => {
            match tickets.iter().find(|ticket| ticket.marker.as_ref() == Some(&marker)) {
                Some(ticket) => opened(&ticket.key),
                None => {
                    let (sha, checks) = (new.failed.sha().clone(), new.failed.failed().clone());
                    forge(ForgeCall::CheckLog { sha, checks })
                }
            }
        }
        [Ok(_), Ok(Answer::Forge(ForgeAnswer::Log(log)))] => create(log.as_deref()),
        [Ok(_), Err(failure)] if failure.kind == FailureKind::NotFound => create(None),
        [Ok(_), _, Ok(Answer::Tracker(TrackerAnswer::Created(ticket)))] => opened(ticket),
        [Ok(_), Err(failure), Err(_)] if failure.kind == FailureKind::NotFound => failed_or_wrong(&said[2..]),
        _ => failed_or_wrong(said),
    }
}

/// The last look, at the head, at CI and at the reviews, and then a merge that names the commit.
fn merge(ready: &ReadyToMerge, policy: &Policy, said: &[Reply]) -> Step {
    let Some((first, rest)) = said.split_first() else { return forge(ForgeCall::Pull(ready.pr())) };
    let Ok(Answer::Forge(ForgeAnswer::Pull(pr))) = first else { return failed_or_wrong(said) };
    if pr.state != PrState::Open || pr.head != *ready.sha() || pr.mergeable == Mergeable::No {
        return task_report(TaskEvent::PrRead { pr: pr.clone() });
    }
    if let [.., Ok(Answer::Forge(ForgeAnswer::Merged(commit)))] = rest {
        let state = PrState::Merged { commit: commit.clone() };
        return task_report(TaskEvent::PrRead { pr: Pr { state, ..pr.clone() } });
    }
    let (ci, rest) = rest.split_at(rest.len().min(2));
    match ci_reading(ready.sha(), policy, ci) {
        Ok(Next::Call(call)) => return Next::Call(call),
        Ok(Next::Done(reading)) if !policy.ci.lets_pass(&reading) => {
            return task_report(TaskEvent::CiRead { reading });
        }
        Ok(Next::Done(_)) => {}
        Err(_) => return failed_or_wrong(said),
    }
    match unless_changes_requested(ready.pr(), policy, rest) {
        Ok([]) => forge(ForgeCall::Merge {
            pr: ready.pr(),
            sha: ready.sha().clone(),
            method: ready.method(),
            title: ready.title().to_owned(),
        }),
        Ok(_) => failed_or_wrong(said),
        Err(step) => *step,
    }
}

/// Reads the reviews first. The replies after that, where no user with write access requests changes; else the next step.
fn unless_changes_requested<'s>(
    pr: PrNumber,
    policy: &Policy,
    said: &'s [Reply],
) -> Result<&'s [Reply], Box<Step>> {
    let step = match reviews_reading(pr, policy, said) {
        Ok(Next::Call(call)) => Next::Call(call),
        Ok(Next::Done(read)) if read.requested_by.is_empty() => return Ok(&said[read.replies..]),
        Ok(Next::Done(read)) => task_report(TaskEvent::ReviewsRead { pr, requested_by: read.requested_by }),
        Err(_) => failed_or_wrong(said),
    };
    Err(Box::new(step))
}

fn close_ticket(ticket: &TaskKey, said: &[Reply]) -> Step {
    match said {
        [] => tracker(TrackerCall::Ticket(ticket.clone())),
        // That it is gone is one answer, and may be a wrong one: the attempt to close it is the second.
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(None)))] => tracker(TrackerCall::Close(ticket.clone())),
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(Some(read))))] => match read.ticket.state {
            TicketState::Closed => task_report(TaskEvent::TicketClosed),
            TicketState::Open => tracker(TrackerCall::Close(ticket.clone())),
        },
        [Ok(_), Ok(Answer::Tracker(TrackerAnswer::Done))] => task_report(TaskEvent::TicketClosed),
        [Ok(Answer::Tracker(TrackerAnswer::Ticket(None))), Err(failure)]
            if failure.kind == FailureKind::NotFound =>
        {
            task_report(TaskEvent::TicketClosed)
        }
        _ => failed_or_wrong(said),
    }
}

/// A branch that another pull request is for stays, and so does one that has commits of others.
fn delete_branch(branch: &Branch, sha: &Sha, policy: &Policy, said: &[Reply]) -> Step {
    let kept = |why: String| task_report(TaskEvent::BranchKept { branch: branch.clone(), why });
    match said {
        [] => forge(ForgeCall::PullsOnto(branch.clone())),
        [Ok(Answer::Forge(ForgeAnswer::Pulls(pulls)))] => match pulls.first() {
            Some(seen) => kept(format!("{} is for it", policy.references.pull(seen.pr.number))),
            None => git(GitCall::DeleteBranch { branch: branch.clone(), expect: sha.clone() }),
        },
        [Ok(_), Ok(Answer::Git(GitAnswer::Done))] => {
            task_report(TaskEvent::BranchDeleted { branch: branch.clone() })
        }
        [Ok(_), Err(failure)] if failure.kind == FailureKind::Conflict => {
            kept("it has commits that Pilot did not push".to_owned())
        }
        _ => failed_or_wrong(said),
    }
}

/// Labels are set, not added up: setting them twice is setting them.
fn label(ticket: &TaskKey, add: &BTreeSet<String>, remove: &BTreeSet<String>, said: &[Reply]) -> Step {
    let is_done = |reply: &Reply| matches!(reply, Ok(Answer::Tracker(TrackerAnswer::Done)));
    if !said.iter().all(is_done) {
        return failed_or_wrong(said);
    }
    let adding = (!add.is_empty()).then(|| TrackerCall::AddLabels(ticket.clone(), add.clone()));
    let removing = remove.iter().map(|name| TrackerCall::RemoveLabel(ticket.clone(), name.clone()));
    match adding.into_iter().chain(removing).nth(said.len()) {
        Some(call) => tracker(call),
        None => task_report(TaskEvent::Labelled { labels: add.iter().cloned().collect() }),
    }
}

/// Found by its marker, and then edited or added.
fn status_comment(
    ticket: &TaskKey,
    known: &StatusComment,
    body: &str,
    marker: &Marker,
    fingerprint: &str,
    said: &[Reply],
) -> Step {
    let comment = || new_comment(body, marker);
    let add = || tracker(TrackerCall::AddComment(ticket.clone(), comment()));
    let edit = |id: &CommentId| tracker(TrackerCall::EditComment(ticket.clone(), id.clone(), comment()));
    match (known, said) {
        (StatusComment::Written(id), []) => edit(id),
        (StatusComment::Absent, []) => add(),
        (StatusComment::Unknown, []) => tracker(TrackerCall::Comments(ticket.clone())),
        (StatusComment::Unknown, [Ok(Answer::Tracker(TrackerAnswer::Comments(comments)))]) => {
            first_marked(comments, marker).map_or_else(add, edit)
        }
        (_, [.., Ok(Answer::Tracker(TrackerAnswer::Comment(id)))]) => {
            task_report(TaskEvent::Commented { comment: id.clone(), fingerprint: fingerprint.to_owned() })
        }
        (_, _) => failed_or_wrong(said),
    }
}

fn reply(ticket: &TaskKey, pr: Option<PrNumber>, to: &CommentId, new: NewComment, said: &[Reply]) -> Step {
    let replied = || task_report(TaskEvent::Replied { to: to.clone() });
    match said {
        [] => match pr {
            Some(pr) => forge(ForgeCall::Comments(pr)),
            None => tracker(TrackerCall::Comments(ticket.clone())),
        },
        [
            Ok(
                Answer::Tracker(TrackerAnswer::Comments(comments))
                | Answer::Forge(ForgeAnswer::Comments(comments)),
            ),
        ] => match (new.marker.as_ref().and_then(|marker| first_marked(comments, marker)), pr) {
            (Some(_), _) => replied(),
            (None, Some(pr)) => forge(ForgeCall::AddComment(pr, new)),
            (None, None) => tracker(TrackerCall::AddComment(ticket.clone(), new)),
        },
        [Ok(_), Ok(Answer::Tracker(TrackerAnswer::Comment(_)) | Answer::Forge(ForgeAnswer::Comment(_)))] => {
            replied()
        }
        _ => failed_or_wrong(said),
    }
}

/// The first answer stays; every other points to it.
fn answer_once(ticket: &TaskKey, to: &CommentId, marker: &Marker, said: &[Reply]) -> Step {
    match said {
        [] => tracker(TrackerCall::Comments(ticket.clone())),
        [Ok(Answer::Tracker(TrackerAnswer::Comments(comments))), edited @ ..]
            if edited.iter().all(Result::is_ok) =>
        {
            match all_marked(comments, marker).into_iter().skip(1).nth(edited.len()) {
                Some(echo) => tracker(TrackerCall::EditComment(
                    ticket.clone(),
                    echo.clone(),
                    NewComment { text: words::ANSWERED_ABOVE.to_owned(), marker: None },
                )),
                None => task_report(TaskEvent::AnsweredOnce { to: to.clone() }),
            }
        }
        _ => failed_or_wrong(said),
    }
}

/// Our own comment with this marker; the first, should there be two.
fn first_marked<'c>(comments: &'c [CommentSeen], marker: &Marker) -> Option<&'c CommentId> {
    all_marked(comments, marker).first().copied()
}

fn all_marked<'c>(comments: &'c [CommentSeen], marker: &Marker) -> Vec<&'c CommentId> {
    let mut marked: Vec<&CommentSeen> =
        comments.iter().filter(|comment| comment.marker.as_ref() == Some(marker)).collect();
    marked.sort_by_key(|comment| (comment.posted_at, comment.id.as_str().len(), &comment.id));
    marked.into_iter().map(|comment| &comment.id).collect()
}

/// A commit has one tag, and its version is higher than every other.
fn tag(new: &NewTag, policy: &Policy, said: &[Reply]) -> Step {
    let tagged = |tag: String| {
        let commit = new.commit.clone();
        Next::Done(Report::Project(ProjectEvent::Tagged { tag, commit }))
    };
    let Some((first, rest)) = said.split_first() else { return forge(ForgeCall::Tags) };
    let Ok(Answer::Forge(ForgeAnswer::Tags(tags))) = first else { return failed_or_wrong(said) };
    let ours =
        tags.iter().find(|tag| tag.commit == new.commit && Version::read(&tag.name, &new.prefix).is_some());
    if let Some(ours) = ours {
        return tagged(ours.name.clone());
    }
    let name = new.name(tags.iter().map(|tag| tag.name.as_str()));
    if let [.., Ok(Answer::Forge(ForgeAnswer::Done))] = rest {
        return tagged(name);
    }
    // Whether git alone could say that the commit is on the base branch, or the forge had to be asked too.
    let looks = if matches!(rest, [Ok(Answer::Git(GitAnswer::Contains(true))), ..]) { 1 } else { 2 };
    match contains(&new.commit, policy, &rest[..rest.len().min(looks)]) {
        Next::Call(call) => Next::Call(call),
        Next::Done(Ok(false)) => {
            failed(FailureKind::Conflict, "the commit is not on the base branch any more")
        }
        Next::Done(Ok(true)) if rest.len() <= looks => {
            forge(ForgeCall::CreateTag { name, commit: new.commit.clone() })
        }
        Next::Done(Ok(true)) => failed_or_wrong(&rest[looks..]),
        Next::Done(Err(failure)) => Next::Done(Report::Failed(failure)),
    }
}

#[cfg(test)]
mod tests;
