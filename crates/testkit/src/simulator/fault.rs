//! What goes wrong with a request, and which request: the faults of the forge's own plan, as a Pilot behind its transport sees
//! them.

use std::time::Duration;

use pilot_core::perform::{Answer, Call};
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::time::Timestamp;

use super::talk::Heard;
use super::world::Ask;

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody is reached.
    NotReached,
    /// The connection breaks before anything is done, and nobody can tell.
    LostRequest,
    /// Everything is done, and the answer is lost, cut off or unreadable.
    LostReply,
    /// The answer comes late.
    Late,
    /// The server breaks before anything is done.
    ServerBefore,
    /// The server breaks when everything is done.
    ServerAfter,
    /// The credentials are not accepted, for once.
    Unauthorised,
    /// The credentials are not enough, for once.
    Forbidden,
    /// A limit, with the time at which it is over.
    Limited,
    /// A limit without one.
    LimitedWithoutEnd,
    /// It is not there, for once.
    NotFound,
    /// It is not in the expected state, for once.
    Conflict,
    /// It is not done as asked, for once.
    Refused,
    /// A read shows what was some seconds ago.
    Stale,
    /// A list lacks its newest item.
    WithoutNewest,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 15] = [
        Fault::NotReached,
        Fault::LostRequest,
        Fault::LostReply,
        Fault::Late,
        Fault::ServerBefore,
        Fault::ServerAfter,
        Fault::Unauthorised,
        Fault::Forbidden,
        Fault::Limited,
        Fault::LimitedWithoutEnd,
        Fault::NotFound,
        Fault::Conflict,
        Fault::Refused,
        Fault::Stale,
        Fault::WithoutNewest,
    ];

    /// Those that may happen at any time in a storm, some more often than others. Stale reads have a chance of their own; and a
    /// list that lacks an item however long one waits makes a lost answer a riddle nobody can solve, so it comes alone.
    pub(super) const OF_A_STORM: [Fault; 16] = [
        Fault::NotReached,
        Fault::NotReached,
        Fault::LostRequest,
        Fault::LostReply,
        Fault::LostReply,
        Fault::LostReply,
        Fault::Late,
        Fault::ServerBefore,
        Fault::ServerAfter,
        Fault::Unauthorised,
        Fault::Forbidden,
        Fault::Limited,
        Fault::LimitedWithoutEnd,
        Fault::NotFound,
        Fault::Conflict,
        Fault::Refused,
    ];

    /// Whether what was asked for is done all the same.
    pub(super) fn is_done(self) -> bool {
        match self {
            Fault::LostReply | Fault::Late | Fault::ServerAfter | Fault::Stale | Fault::WithoutNewest => true,
            Fault::NotReached
            | Fault::LostRequest
            | Fault::ServerBefore
            | Fault::Unauthorised
            | Fault::Forbidden
            | Fault::Limited
            | Fault::LimitedWithoutEnd
            | Fault::NotFound
            | Fault::Conflict
            | Fault::Refused => false,
        }
    }

    /// What a Pilot hears instead of the answer, if it hears anything else.
    pub(super) fn failure(self, now: Timestamp) -> Option<Failure> {
        let kind = match self {
            Fault::NotReached => FailureKind::NotSent,
            Fault::LostRequest | Fault::LostReply => FailureKind::Lost,
            Fault::ServerBefore | Fault::ServerAfter => FailureKind::Server,
            Fault::Unauthorised => FailureKind::Unauthorised,
            Fault::Forbidden => FailureKind::Forbidden,
            Fault::Limited | Fault::LimitedWithoutEnd => FailureKind::RateLimited,
            Fault::NotFound => FailureKind::NotFound,
            Fault::Conflict => FailureKind::Conflict,
            Fault::Refused => FailureKind::Refused,
            Fault::Late | Fault::Stale | Fault::WithoutNewest => return None,
        };
        let retry_at = (self == Fault::Limited).then(|| now.after(Duration::from_secs(70)));
        Some(Failure { retry_at, ..Failure::new(kind, "fault") })
    }
}

/// A fault of one request: the `nth` of its kind, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which kind of request.
    pub call: CallKind,
    /// Which of them.
    pub nth: u32,
    /// What goes wrong.
    pub fault: Fault,
}

/// The kinds of requests: every call of the core's, and what is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are called like the calls")]
pub enum CallKind {
    List,
    NewComments,
    Issue,
    Permission,
    Comments,
    Comment,
    EditComment,
    AddLabels,
    RemoveLabel,
    CloseIssue,
    OwnIssues,
    CreateIssue,
    PrsOf,
    PrsOnto,
    Pr,
    CreatePr,
    ClosePr,
    Merge,
    Ci,
    CiLog,
    OnBase,
    PlaceClaim,
    Claim,
    ReleaseClaim,
    Push,
    DeleteBranch,
    Tags,
    CreateTag,
}

impl CallKind {
    /// All of them.
    pub const ALL: [CallKind; 28] = [
        CallKind::List,
        CallKind::NewComments,
        CallKind::Issue,
        CallKind::Permission,
        CallKind::Comments,
        CallKind::Comment,
        CallKind::EditComment,
        CallKind::AddLabels,
        CallKind::RemoveLabel,
        CallKind::CloseIssue,
        CallKind::OwnIssues,
        CallKind::CreateIssue,
        CallKind::PrsOf,
        CallKind::PrsOnto,
        CallKind::Pr,
        CallKind::CreatePr,
        CallKind::ClosePr,
        CallKind::Merge,
        CallKind::Ci,
        CallKind::CiLog,
        CallKind::OnBase,
        CallKind::PlaceClaim,
        CallKind::Claim,
        CallKind::ReleaseClaim,
        CallKind::Push,
        CallKind::DeleteBranch,
        CallKind::Tags,
        CallKind::CreateTag,
    ];

    pub(super) fn of(ask: &Ask) -> CallKind {
        let call = match ask {
            Ask::Labelled { .. } => return CallKind::List,
            Ask::CommentsBehind(_) => return CallKind::NewComments,
            Ask::Call(call) => call,
        };
        match call {
            Call::Issue(_) => CallKind::Issue,
            Call::Permission(_) => CallKind::Permission,
            Call::Comments(_) => CallKind::Comments,
            Call::Comment(..) => CallKind::Comment,
            Call::EditComment(..) => CallKind::EditComment,
            Call::AddLabels(..) => CallKind::AddLabels,
            Call::RemoveLabel(..) => CallKind::RemoveLabel,
            Call::CloseIssue(_) => CallKind::CloseIssue,
            Call::OwnIssues(_) => CallKind::OwnIssues,
            Call::CreateIssue { .. } => CallKind::CreateIssue,
            Call::PrsOf(_) => CallKind::PrsOf,
            Call::PrsOnto(_) => CallKind::PrsOnto,
            Call::Pr(_) => CallKind::Pr,
            Call::CreatePr(_) => CallKind::CreatePr,
            Call::ClosePr(_) => CallKind::ClosePr,
            Call::Merge { .. } => CallKind::Merge,
            Call::Ci(_) => CallKind::Ci,
            Call::CiLog { .. } => CallKind::CiLog,
            Call::OnBase(_) => CallKind::OnBase,
            Call::PlaceClaim { .. } => CallKind::PlaceClaim,
            Call::Claim { .. } => CallKind::Claim,
            Call::ReleaseClaim { .. } => CallKind::ReleaseClaim,
            Call::Push { .. } => CallKind::Push,
            Call::DeleteBranch { .. } => CallKind::DeleteBranch,
            Call::Tags => CallKind::Tags,
            Call::CreateTag { .. } => CallKind::CreateTag,
        }
    }
}

/// How often each kind of request was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made([u32; CallKind::ALL.len()]);

impl Made {
    /// How often one was.
    pub fn of(&self, call: CallKind) -> u32 {
        self.0[call as usize]
    }

    /// Counts one, and says how many there are now.
    pub(super) fn count(&mut self, call: CallKind) -> u32 {
        let made = &mut self.0[call as usize];
        *made += 1;
        *made
    }
}

impl Heard {
    /// What a Pilot hears instead of an answer. That an issue is not there is an answer.
    pub(super) fn failed(ask: &Ask, failure: Failure) -> Heard {
        match ask {
            Ask::Call(Call::Issue(_)) if failure.kind == FailureKind::NotFound => {
                Heard::Reply(Ok(Answer::Issue(None)))
            }
            Ask::Call(_) => Heard::Reply(Err(failure)),
            Ask::Labelled { .. } => Heard::Listed(Err(failure)),
            Ask::CommentsBehind(_) => Heard::Comments(Err(failure)),
        }
    }

    /// The same list without its newest item; anything else as it is. Such a list has no mark to ask again by but the old one.
    pub(super) fn without_newest(self, ask: &Ask) -> Heard {
        match (self, ask) {
            (Heard::Listed(Ok(Some((mut issues, _)))), Ask::Labelled { etag }) => {
                issues.pop();
                Heard::Listed(Ok(Some((issues, *etag))))
            }
            (Heard::Comments(Ok(mut comments)), _) => {
                comments.pop();
                Heard::Comments(Ok(comments))
            }
            (Heard::Reply(Ok(answer)), _) => Heard::Reply(Ok(shorter(answer))),
            (heard, _) => heard,
        }
    }
}

fn shorter(answer: Answer) -> Answer {
    match answer {
        Answer::Comments(mut comments) => {
            comments.pop();
            Answer::Comments(comments)
        }
        Answer::OwnIssues(mut issues) => {
            issues.pop();
            Answer::OwnIssues(issues)
        }
        Answer::Prs(mut prs) => {
            prs.pop();
            Answer::Prs(prs)
        }
        Answer::Tags(mut tags) => {
            tags.pop();
            Answer::Tags(tags)
        }
        answer @ (Answer::Done
        | Answer::Issue(_)
        | Answer::Permission(_)
        | Answer::Comment(_)
        | Answer::NewIssue(_)
        | Answer::Pr(_)
        | Answer::Merged(_)
        | Answer::Ci(_)
        | Answer::Log(_)
        | Answer::OnBase(_)
        | Answer::Claim(_)) => answer,
    }
}
