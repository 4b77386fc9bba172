//! What goes wrong with a request, and which request: the faults of the local forge's plan, as a Pilot behind its adapters
//! sees them.

use std::time::Duration;

use pilot_core::observed::{Failure, FailureKind};
use pilot_core::port::{Answer, Call, ForgeAnswer, ForgeCall, GitCall, Reply, TrackerAnswer, TrackerCall};
use pilot_core::time::Timestamp;

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotReached,
    /// The connection breaks before anything is done, and the sender cannot know that.
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

    /// Those picked at random, some more often than others. Stale reads have a chance of their own; and a list that lacks an
    /// item for good leaves no way to find out what a lost reply said, so it comes alone.
    pub(super) const RANDOM: [Fault; 16] = [
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

    /// What a Pilot gets instead of the answer, if anything else.
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
pub struct SingleFault {
    pub call: CallKind,
    pub nth: u32,
    pub fault: Fault,
}

macro_rules! call_kinds {
    ($($kind:ident),+ $(,)?) => {
        /// The kinds of requests: one for each call of a port that the daemon makes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CallKind { $($kind),+ }

        impl CallKind {
            pub const ALL: [CallKind; [$(CallKind::$kind),+].len()] = [$(CallKind::$kind),+];
        }
    };
}

call_kinds!(
    Labelled,
    CommentsSince,
    Ticket,
    Trust,
    TicketComments,
    AddTicketComment,
    EditComment,
    AddLabels,
    RemoveLabel,
    CloseTicket,
    OwnTickets,
    CreateTicket,
    PullsFrom,
    PullsOnto,
    Pull,
    CreatePull,
    ClosePull,
    PullComments,
    AddPullComment,
    Reviews,
    MayWrite,
    Merge,
    Checks,
    Required,
    CheckLog,
    ForgeContains,
    Tags,
    CreateTag,
    FetchBase,
    GitContains,
    PlaceClaim,
    ReadClaim,
    ReleaseClaim,
    Push,
    DeleteBranch,
);

impl CallKind {
    /// None for a call that no decision of the daemon's leads to.
    pub(super) fn of(call: &Call) -> Option<CallKind> {
        Some(match call {
            Call::Tracker(call) => match call {
                TrackerCall::Labelled(_) => CallKind::Labelled,
                TrackerCall::CommentsSince(_) => CallKind::CommentsSince,
                TrackerCall::Ticket(_) => CallKind::Ticket,
                TrackerCall::Trust(_) => CallKind::Trust,
                TrackerCall::Comments(_) => CallKind::TicketComments,
                TrackerCall::AddComment(..) => CallKind::AddTicketComment,
                TrackerCall::EditComment(..) => CallKind::EditComment,
                TrackerCall::AddLabels(..) => CallKind::AddLabels,
                TrackerCall::RemoveLabel(..) => CallKind::RemoveLabel,
                TrackerCall::Close(_) => CallKind::CloseTicket,
                TrackerCall::OwnTickets(_) => CallKind::OwnTickets,
                TrackerCall::Create(_) => CallKind::CreateTicket,
            },
            Call::Forge(call) => match call {
                ForgeCall::PullsFrom(_) => CallKind::PullsFrom,
                ForgeCall::PullsOnto(_) => CallKind::PullsOnto,
                ForgeCall::Pull(_) => CallKind::Pull,
                ForgeCall::CreatePull(_) => CallKind::CreatePull,
                ForgeCall::ClosePull(_) => CallKind::ClosePull,
                ForgeCall::Comments(_) => CallKind::PullComments,
                ForgeCall::AddComment(..) => CallKind::AddPullComment,
                ForgeCall::Reviews(_) => CallKind::Reviews,
                ForgeCall::MayWrite(_) => CallKind::MayWrite,
                ForgeCall::Merge { .. } => CallKind::Merge,
                ForgeCall::Checks(_) => CallKind::Checks,
                ForgeCall::Required(_) => CallKind::Required,
                ForgeCall::CheckLog { .. } => CallKind::CheckLog,
                ForgeCall::Contains { .. } => CallKind::ForgeContains,
                ForgeCall::Tags => CallKind::Tags,
                ForgeCall::CreateTag { .. } => CallKind::CreateTag,
            },
            Call::Git(call) => match call {
                GitCall::FetchBase { .. } => CallKind::FetchBase,
                GitCall::Contains { .. } => CallKind::GitContains,
                GitCall::PlaceClaim(_) => CallKind::PlaceClaim,
                GitCall::ReadClaim(_) => CallKind::ReadClaim,
                GitCall::ReleaseClaim(_) => CallKind::ReleaseClaim,
                GitCall::Push { .. } => CallKind::Push,
                GitCall::DeleteBranch { .. } => CallKind::DeleteBranch,
                // `pilot task` makes the first, a start of Pilot the second.
                GitCall::Head { .. } | GitCall::ForgetBranches(_) => return None,
            },
        })
    }
}

/// How many requests of each kind were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCounts([u32; CallKind::ALL.len()]);

impl Default for CallCounts {
    fn default() -> CallCounts {
        CallCounts([0; CallKind::ALL.len()])
    }
}

impl CallCounts {
    pub fn of(&self, call: CallKind) -> u32 {
        self.0[call as usize]
    }

    /// Counts one more, and returns how many there are now.
    pub(super) fn count(&mut self, call: CallKind) -> u32 {
        let count = &mut self.0[call as usize];
        *count += 1;
        *count
    }
}

/// What a Pilot gets instead of an answer. That a ticket does not exist is an answer.
pub(super) fn failed_reply(call: &Call, failure: Failure) -> Reply {
    match call {
        Call::Tracker(TrackerCall::Ticket(_)) if failure.kind == FailureKind::NotFound => {
            Ok(Answer::Tracker(TrackerAnswer::Ticket(None)))
        }
        Call::Tracker(_) | Call::Forge(_) | Call::Git(_) => Err(failure),
    }
}

/// The same list without its newest item; any other answer as it is.
pub(super) fn without_newest(mut answer: Answer) -> Answer {
    match &mut answer {
        Answer::Tracker(TrackerAnswer::Tickets(Some(tickets))) => drop(tickets.pop()),
        Answer::Tracker(TrackerAnswer::Posted(Some(posted))) => drop(posted.pop()),
        Answer::Tracker(TrackerAnswer::Comments(comments)) => drop(comments.pop()),
        Answer::Tracker(TrackerAnswer::OwnTickets(tickets)) => drop(tickets.pop()),
        Answer::Forge(ForgeAnswer::Comments(comments)) => drop(comments.pop()),
        Answer::Forge(ForgeAnswer::Pulls(pulls)) => drop(pulls.pop()),
        Answer::Forge(ForgeAnswer::Reviews(reviews)) => drop(reviews.pop()),
        Answer::Forge(ForgeAnswer::Tags(tags)) => drop(tags.pop()),
        Answer::Tracker(
            TrackerAnswer::Done
            | TrackerAnswer::Tickets(None)
            | TrackerAnswer::Posted(None)
            | TrackerAnswer::Ticket(_)
            | TrackerAnswer::Trust(_)
            | TrackerAnswer::Comment(_)
            | TrackerAnswer::Created(_),
        )
        | Answer::Forge(
            ForgeAnswer::Done
            | ForgeAnswer::Pull(_)
            | ForgeAnswer::Comment(_)
            | ForgeAnswer::MayWrite(_)
            | ForgeAnswer::Merged(_)
            | ForgeAnswer::Checks(_)
            | ForgeAnswer::Required(_)
            | ForgeAnswer::Log(_)
            | ForgeAnswer::Contains(_),
        )
        | Answer::Git(_) => {}
    }
    answer
}
