//! The ports: everything Pilot asks of the outside world, in our own words.
//!
//! A project has one tracker and one forge, which may be different companies, and one git repository. Each port is a closed
//! set of calls and answers; an adapter answers it, and nothing outside the adapter knows the vendor. A call that failed is a
//! [`Failure`]: error is not empty, not false, not zero.

mod forge;
mod git;
mod marker;
mod tracker;

pub use forge::{ForgeAnswer, ForgeCall, NewPull, PullSeen, TagSeen};
pub use git::{GitAnswer, GitCall};
pub use marker::{FixMeta, Marker};
pub use tracker::{
    CommentPlace, CommentSeen, NewComment, NewTicket, OwnTicket, PostedComment, TicketText, TrackerAnswer,
    TrackerCall,
};

use crate::observed::Failure;

/// What is asked of one of the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Tracker(TrackerCall),
    Forge(ForgeCall),
    Git(GitCall),
}

/// What the port asked answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Tracker(TrackerAnswer),
    Forge(ForgeAnswer),
    Git(GitAnswer),
}

/// An answer, or why there is none.
pub type Reply = Result<Answer, Failure>;
