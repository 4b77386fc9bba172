//! Acts: looks and one effect each, as a function of what was asked and answered so far.

use std::collections::BTreeSet;

use super::call::{Answer, Call, CommentSeen, Reply, Thread};
use crate::fact::{Happened, ProjectHappened};
use crate::name::{Branch, CommentId, IssueNumber, PrNumber, Sha};
use crate::policy::Policy;
use crate::release::NewTag;
use crate::seen::{Failure, FailureKind, Issue, IssueState, Mergeable, Pr, PrState};
use crate::task::{Action, Known, NewFix, NewPr, ReadyToMerge, RunOrder};
use crate::words;
use crate::words::Meta;

/// What a performer does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make this call, and ask again with its answer added.
    Call(Call),
    /// Nothing more: this happened.
    Report(Box<Report>),
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is done, or turned out to be: this happened to the task.
    Task(Happened),
    /// The same for a project.
    Project(ProjectHappened),
    /// It is another task of this project that something happened to; then it was told.
    Tell {
        /// The task's issue.
        to: IssueNumber,
        /// What happens to it.
        happened: Box<Happened>,
        /// What then has happened to the one that told.
        told: Box<Happened>,
    },
    /// It failed.
    Failed(Failure),
}

/// What to do next for an action, from the answers so far. The same answers give the same result; none gives the first call.
pub fn next(action: &Action, policy: &Policy, said: &[Reply]) -> Next {
    // Somebody else's commits are on the branch: then it is theirs.
    if let (Action::DeleteBranch { branch, .. }, Some(Err(failure))) = (action, said.get(1))
        && failure.kind == FailureKind::Conflict
    {
        let (branch, why) = (branch.clone(), "somebody else pushed to it".to_owned());
        return task_report(Happened::BranchKept { branch, why });
    }
    // Whatever else fails, ends it. It is begun anew later, with a look.
    let mut answers = Vec::with_capacity(said.len());
    for (place, reply) in said.iter().enumerate() {
        match reply {
            Ok(answer) => answers.push(answer),
            Err(failure) if is_no_log(action, place, failure) => answers.push(&Answer::Log(None)),
            Err(failure) => return Next::Report(Box::new(Report::Failed(failure.clone()))),
        }
    }
    match action {
        Action::PlaceClaim { task, generation } => match answers[..] {
            [] => Next::Call(Call::PlaceClaim { task: task.clone() }),
            [Answer::Claim(None)] => task_report(Happened::ClaimPlaced { generation: *generation }),
            [Answer::Claim(Some(owner))] => {
                task_report(Happened::ClaimLost { generation: *generation, owner: owner.clone() })
            }
            _ => confused(&answers),
        },
        Action::ReleaseClaim { task, .. } => {
            once(&answers, Call::ReleaseClaim { task: task.clone() }, Happened::ClaimReleased)
        }
        Action::StartRun(order) => start_run(order, policy, &answers),
        Action::Push { branch, sha, expect } => {
            let (branch, sha, expect) = (branch.clone(), sha.clone(), expect.clone());
            let pushed = Happened::Pushed { branch: branch.clone(), sha: sha.clone() };
            once(&answers, Call::Push { branch, sha, expect }, pushed)
        }
        Action::OpenPr(new) => open_pr(new, &answers),
        Action::FindPr { branch, marker } => find_pr(branch, marker, &answers),
        Action::ClosePr { pr, head, comment, marker } => {
            close_pr(*pr, head.as_ref(), comment, marker, &answers)
        }
        Action::OpenFix(new) => open_fix(new, &answers),
        Action::Merge(ready) => merge(ready, policy, &answers),
        Action::CloseIssue { issue, .. } => close_issue(*issue, &answers),
        Action::DeleteBranch { branch, sha, .. } => delete_branch(branch, sha, &answers),
        Action::Label { issue, add, remove, .. } => label(*issue, add, remove, answers.len()),
        Action::Comment { issue, known, body, marker, fingerprint, .. } => {
            status_comment(*issue, *known, body, marker, fingerprint, &answers)
        }
        Action::Reply { issue, to, body, marker } => reply(*issue, *to, body, marker, &answers),
        Action::AnswerOnce { issue, to, marker } => answer_once(*issue, *to, marker, &answers),
        Action::Tell { to, issue, news } => Next::Report(Box::new(Report::Tell {
            to: *issue,
            happened: Box::new(Happened::Heard { news: news.clone() }),
            told: Box::new(Happened::Told { to: to.clone(), about: news.kind() }),
        })),
        Action::Tag(new) => tag(new, &answers),
    }
}

fn task_report(happened: Happened) -> Next {
    Next::Report(Box::new(Report::Task(happened)))
}

fn failed(kind: FailureKind, detail: &str) -> Next {
    Next::Report(Box::new(Report::Failed(Failure::new(kind, detail))))
}

/// An answer to another question: a mistake of the performer's, told like any other failure.
fn confused(answers: &[&Answer]) -> Next {
    let detail = format!("an answer to another question: {:?}", answers.last());
    failed(FailureKind::Server, crate::outcome::cut(&detail, 200))
}

/// An act whose call looks by itself: it names what must be there.
fn once(answers: &[&Answer], call: Call, happened: Happened) -> Next {
    match answers {
        [] => Next::Call(call),
        [Answer::Done] => task_report(happened),
        _ => confused(answers),
    }
}

/// The issue is read once more. What it says now is what the run is begun with, or not begun.
fn start_run(order: &RunOrder, policy: &Policy, answers: &[&Answer]) -> Next {
    let wanted = |issue: &Issue| {
        issue.body.hash == order.body && issue.state == IssueState::Open && issue.has_label(&policy.label)
    };
    match answers {
        [] => Next::Call(Call::Issue(order.issue)),
        [Answer::Issue(None)] => task_report(Happened::IssueGone),
        [Answer::Issue(Some(read))] if wanted(&read.issue) => {
            let (generation, body, silent) = (order.generation, order.body.clone(), read.silent);
            task_report(Happened::RunStarted { generation, body, silent })
        }
        [Answer::Issue(Some(read))] => task_report(Happened::IssueSeen { issue: read.issue.clone() }),
        _ => confused(answers),
    }
}

/// Found by its branch and its mark before it is opened. Somebody may have merged or closed it since.
fn open_pr(new: &NewPr, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::PrsOf(new.branch.clone())),
        [Answer::Prs(prs)] => {
            let is_ours = |pr: &Pr, body: &str| {
                body.contains(&new.marker) && (pr.state == PrState::Open || pr.head == new.sha)
            };
            let on_branch = || prs.iter().filter(|(pr, _)| pr.branch == new.branch);
            let open = on_branch().find(|(pr, _)| pr.state == PrState::Open);
            match open.or_else(|| on_branch().find(|(pr, body)| is_ours(pr, body))) {
                Some((pr, body)) if is_ours(pr, body) => task_report(Happened::PrOpened { pr: pr.clone() }),
                Some((pr, _)) => failed(
                    FailureKind::Conflict,
                    &format!("{} is open on {} and not Pilot's", pr.number, new.branch),
                ),
                None => Next::Call(Call::CreatePr(new.clone())),
            }
        }
        [_, Answer::Pr(pr)] => task_report(Happened::PrOpened { pr: pr.clone() }),
        _ => confused(answers),
    }
}

fn find_pr(branch: &Branch, marker: &str, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::PrsOf(branch.clone())),
        [Answer::Prs(prs)] => {
            let is_ours = |(pr, body): &&(Pr, String)| {
                pr.branch == *branch && pr.state != PrState::Closed && body.contains(marker)
            };
            match prs.iter().find(is_ours) {
                Some((pr, _)) => task_report(Happened::PrOpened { pr: pr.clone() }),
                None => task_report(Happened::NoPrFound { branch: branch.clone() }),
            }
        }
        _ => confused(answers),
    }
}

/// Read, a last word, read by its mark so that it is said once, closed. One that was merged meanwhile stays merged.
fn close_pr(pr: PrNumber, head: Option<&Sha>, comment: &str, marker: &str, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::Pr(pr)),
        [Answer::Pr(seen)] => match seen.state {
            PrState::Merged { .. } => task_report(Happened::PrSeen { pr: seen.clone() }),
            // Whoever pushed meanwhile keeps it, also where it reads closed and is not.
            PrState::Open | PrState::Closed if head.is_some_and(|head| seen.head != *head) => {
                task_report(Happened::PrSeen { pr: seen.clone() })
            }
            // Closing twice is closing, and a read that shows it closed may be wrong.
            PrState::Open | PrState::Closed => Next::Call(Call::Comments(Thread::Pr(pr))),
        },
        [Answer::Pr(_), Answer::Comments(comments)] => match mine(comments, marker) {
            Some(_) => Next::Call(Call::ClosePr(pr)),
            None => Next::Call(Call::Comment(Thread::Pr(pr), comment.to_owned())),
        },
        [Answer::Pr(_), Answer::Comments(_), Answer::Comment(_)] => Next::Call(Call::ClosePr(pr)),
        [Answer::Pr(_), Answer::Comments(_), .., Answer::Done] => task_report(Happened::PrClosed { pr }),
        _ => confused(answers),
    }
}

/// That the forge has no log is an answer: what failed is known by name.
fn is_no_log(action: &Action, place: usize, failure: &Failure) -> bool {
    matches!(action, Action::OpenFix(_)) && place == 1 && failure.kind == FailureKind::NotFound
}

/// Found by its mark before it is opened, with the log of what failed.
fn open_fix(new: &NewFix, answers: &[&Answer]) -> Next {
    let opened = |issue| task_report(Happened::FixOpened { issue, iteration: new.iteration, pr: new.pr });
    match answers {
        [] => Next::Call(Call::OwnIssues(words::label::FIX.to_owned())),
        [Answer::OwnIssues(issues)] => {
            let wanted = Meta { branch: new.branch.clone(), pr: new.pr, iteration: new.iteration };
            let found = issues.iter().find(|issue| Meta::read(&issue.body).as_ref() == Some(&wanted));
            match found {
                Some(issue) => opened(issue.number),
                None => {
                    let (sha, checks) = (new.failed.sha().clone(), new.failed.failed().clone());
                    Next::Call(Call::CiLog { sha, checks })
                }
            }
        }
        [_, Answer::Log(log)] => Next::Call(Call::CreateIssue {
            title: words::fix_title(new),
            body: words::fix_body(new, log.as_deref()),
            labels: words::fix_labels(new),
        }),
        [_, _, Answer::NewIssue(issue)] => opened(*issue),
        _ => confused(answers),
    }
}

/// The last look, at the head and at CI, and then a merge that names the commit.
fn merge(ready: &ReadyToMerge, policy: &Policy, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::Pr(ready.pr())),
        [Answer::Pr(pr)] => {
            let good = pr.state == PrState::Open && pr.head == *ready.sha() && pr.mergeable != Mergeable::No;
            if good {
                Next::Call(Call::Ci(ready.sha().clone()))
            } else {
                task_report(Happened::PrSeen { pr: pr.clone() })
            }
        }
        [Answer::Pr(_), Answer::Ci(reading)] => {
            if reading.sha == *ready.sha() && policy.ci.lets_pass(reading) {
                Next::Call(Call::Merge {
                    pr: ready.pr(),
                    sha: ready.sha().clone(),
                    method: ready.method(),
                    title: ready.title().to_owned(),
                })
            } else {
                task_report(Happened::CiRead { reading: reading.clone() })
            }
        }
        [Answer::Pr(pr), Answer::Ci(_), Answer::Merged(commit)] => {
            let state = PrState::Merged { commit: commit.clone() };
            task_report(Happened::PrSeen { pr: Pr { state, ..pr.clone() } })
        }
        _ => confused(answers),
    }
}

fn close_issue(issue: IssueNumber, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::Issue(issue)),
        [Answer::Issue(None)] => task_report(Happened::IssueClosed),
        [Answer::Issue(Some(read))] => match read.issue.state {
            IssueState::Closed => task_report(Happened::IssueClosed),
            IssueState::Open => Next::Call(Call::CloseIssue(issue)),
        },
        [_, Answer::Done] => task_report(Happened::IssueClosed),
        _ => confused(answers),
    }
}

/// A branch that another pull request is for stays.
fn delete_branch(branch: &Branch, sha: &Sha, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::PrsOnto(branch.clone())),
        [Answer::Prs(prs)] => match prs.first() {
            Some((pr, _)) => {
                let (branch, why) = (branch.clone(), format!("{} is for it", pr.number));
                task_report(Happened::BranchKept { branch, why })
            }
            None => Next::Call(Call::DeleteBranch { branch: branch.clone(), expect: sha.clone() }),
        },
        [_, Answer::Done] => task_report(Happened::BranchDeleted { branch: branch.clone() }),
        _ => confused(answers),
    }
}

/// Labels are set, not added up: setting them twice is setting them.
fn label(issue: IssueNumber, add: &BTreeSet<String>, remove: &BTreeSet<String>, done: usize) -> Next {
    let adding = (!add.is_empty()).then(|| Call::AddLabels(issue, add.clone()));
    let removing = remove.iter().map(|name| Call::RemoveLabel(issue, name.clone()));
    match adding.into_iter().chain(removing).nth(done) {
        Some(call) => Next::Call(call),
        None => task_report(Happened::Labelled { labels: add.iter().cloned().collect() }),
    }
}

/// Found by its mark, and then written over or written.
fn status_comment(
    issue: IssueNumber,
    known: Known,
    body: &str,
    marker: &str,
    fingerprint: &str,
    answers: &[&Answer],
) -> Next {
    let commented =
        |comment| task_report(Happened::Commented { comment, fingerprint: fingerprint.to_owned() });
    let write = |found: Option<CommentId>| match found {
        Some(id) => Next::Call(Call::EditComment(id, body.to_owned())),
        None => Next::Call(Call::Comment(Thread::Issue(issue), body.to_owned())),
    };
    match (known, answers) {
        (Known::Comment(id), []) => write(Some(id)),
        (Known::Silence, []) => write(None),
        (Known::Nothing, []) => Next::Call(Call::Comments(Thread::Issue(issue))),
        (Known::Nothing, [Answer::Comments(comments)]) => write(mine(comments, marker)),
        (Known::Comment(_) | Known::Silence, [Answer::Comment(id)])
        | (Known::Nothing, [_, Answer::Comment(id)]) => commented(*id),
        (_, _) => confused(answers),
    }
}

fn reply(issue: IssueNumber, to: CommentId, body: &str, marker: &str, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::Comments(Thread::Issue(issue))),
        [Answer::Comments(comments)] => match mine(comments, marker) {
            Some(_) => task_report(Happened::Replied { to }),
            None => Next::Call(Call::Comment(Thread::Issue(issue), body.to_owned())),
        },
        [_, Answer::Comment(_)] => task_report(Happened::Replied { to }),
        _ => confused(answers),
    }
}

/// The first answer stands; every other points to it.
fn answer_once(issue: IssueNumber, to: CommentId, marker: &str, answers: &[&Answer]) -> Next {
    match answers {
        [] => Next::Call(Call::Comments(Thread::Issue(issue))),
        [Answer::Comments(comments), edited @ ..] => {
            match all_mine(comments, marker).into_iter().skip(1).nth(edited.len()) {
                Some(echo) => Next::Call(Call::EditComment(echo, words::ANSWERED_ABOVE.to_owned())),
                None => task_report(Happened::AnsweredOnce { to }),
            }
        }
        _ => confused(answers),
    }
}

/// Our own comment with this mark; the first, should there be two.
fn mine(comments: &[CommentSeen], marker: &str) -> Option<CommentId> {
    all_mine(comments, marker).first().copied()
}

fn all_mine(comments: &[CommentSeen], marker: &str) -> BTreeSet<CommentId> {
    comments.iter().filter(|comment| comment.mine && comment.body.contains(marker)).map(|c| c.id).collect()
}

/// A commit has one tag, and its version is higher than every other.
fn tag(new: &NewTag, answers: &[&Answer]) -> Next {
    let tagged = |tag: String| {
        let commit = new.commit.clone();
        Next::Report(Box::new(Report::Project(ProjectHappened::Tagged { tag, commit })))
    };
    let name = |answer: &Answer| {
        let Answer::Tags(tags) = answer else { return None };
        Some(new.name(tags.iter().map(|tag| tag.name.as_str())))
    };
    match answers {
        [] => Next::Call(Call::Tags),
        [Answer::Tags(tags)] => {
            let ours = |tag: &&super::TagSeen| {
                tag.commit == new.commit && crate::release::Version::read(&tag.name, &new.prefix).is_some()
            };
            match tags.iter().find(ours) {
                Some(tag) => tagged(tag.name.clone()),
                None => Next::Call(Call::OnBase(new.commit.clone())),
            }
        }
        [_, Answer::OnBase(false)] => {
            failed(FailureKind::Conflict, "the commit is not on the base branch any more")
        }
        [all, Answer::OnBase(true)] => match name(all) {
            Some(name) => Next::Call(Call::CreateTag { name, commit: new.commit.clone() }),
            None => confused(answers),
        },
        [all, Answer::OnBase(true), Answer::Done] => match name(all) {
            Some(name) => tagged(name),
            None => confused(answers),
        },
        _ => confused(answers),
    }
}

#[cfg(test)]
mod tests;
