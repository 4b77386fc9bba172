//! The tracker: tickets, their labels and their comments.

use std::collections::BTreeSet;

use super::Marker;
use crate::id::{CommentId, PrNumber, TaskKey};
use crate::observed::{Ticket, Trust};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackerCall {
    /// Every open ticket with a label. Answer: `Tickets`.
    Labelled(String),
    /// Every comment on any ticket, or on a pull request where the tracker has those too, written or changed since. Answer:
    /// `Posted`.
    CommentsSince(Timestamp),
    /// One ticket. Answer: `Ticket`.
    Ticket(TaskKey),
    /// Whether an account may set Pilot to work. Answer: `Trust`.
    Trust(String),
    /// Every comment on a ticket. Answer: `Comments`.
    Comments(TaskKey),
    /// Answer: `Comment`.
    AddComment(TaskKey, NewComment),
    /// Writes a comment over. Answer: `Comment`.
    EditComment(TaskKey, CommentId, NewComment),
    /// Answer: `Done`.
    AddLabels(TaskKey, BTreeSet<String>),
    /// That the label is not there is no failure. Answer: `Done`.
    RemoveLabel(TaskKey, String),
    /// Answer: `Done`.
    Close(TaskKey),
    /// Every ticket, open and closed, that this Pilot's account wrote and that has a label. Answer: `OwnTickets`.
    OwnTickets(String),
    /// Answer: `Created`.
    Create(NewTicket),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackerAnswer {
    Done,
    /// All of them; none when nothing changed since the same call was last answered.
    Tickets(Option<Vec<Ticket>>),
    /// All of them, in the order of their time; none when nothing changed since the same call was last answered.
    Posted(Option<Vec<PostedComment>>),
    /// None where the ticket is gone.
    Ticket(Option<Box<TicketText>>),
    Trust(Trust),
    Comments(Vec<CommentSeen>),
    Comment(CommentId),
    OwnTickets(Vec<OwnTicket>),
    /// The ticket that was written.
    Created(TaskKey),
}

/// A comment to be written. How its marker is hidden is the adapter's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewComment {
    pub text: String,
    pub marker: Option<Marker>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTicket {
    pub title: String,
    pub text: String,
    pub labels: Vec<String>,
    pub marker: Marker,
}

/// A ticket with its text, for the run that starts with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketText {
    /// What is decided by.
    pub ticket: Ticket,
    pub has_comments: bool,
    /// What the agent is told, without the title.
    pub text: String,
}

/// A comment on a ticket or a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentSeen {
    pub id: CommentId,
    pub posted_at: Timestamp,
    /// The marker, where this Pilot's account wrote the comment. In any other comment it is text.
    pub marker: Option<Marker>,
}

/// What a comment is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentPlace {
    Ticket(TaskKey),
    Pull(PrNumber),
}

/// A comment that may hold a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedComment {
    pub on: CommentPlace,
    pub id: CommentId,
    pub posted_at: Timestamp,
    pub login: String,
    pub text: String,
}

/// A ticket that this Pilot's account wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTicket {
    pub key: TaskKey,
    pub marker: Option<Marker>,
}
