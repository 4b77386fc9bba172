//! Events, and what is known because of them.
//!
//! A [`TaskEvent`] happened to a task, a [`ProjectEvent`] to a project. Folded one after the other they give [`TaskFacts`]
//! and [`ProjectFacts`]; from these every stage is computed. Must never know what follows from a fact.

mod command;
mod ending;
mod fold;
mod message;
mod project;
mod run;
mod run_failure;
mod task;

pub use command::{CommandSource, UserCommand};
pub use ending::{Ending, GivenUp, Landed};
pub use message::{MessageKind, TaskMessage};
pub use project::{Active, ProjectEvent, ProjectFacts, Unfunded, Unreleased};
pub use run::{Gate, Run, RunEnding, Work};
pub(crate) use run_failure::LONGEST_REASON;
pub use run_failure::RunFailure;
pub(crate) use task::ONE_CLOSING;
pub use task::{
    Claim, CommentFact, Fix, LabelsFact, LastCommand, Life, Lineage, Pushed, TaskFacts, TaskPr, Trouble,
};

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ci::Reading;
use crate::id::{BodyHash, Branch, CommentId, Generation, HomeId, InstanceId, PrNumber, Sha, TaskKey};
use crate::observed::{DependencyState, Failure, Pr, Ticket, Trust};
use crate::task::Key;

/// An event of a task. Repeating one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TaskEvent {
    TicketRead {
        ticket: Ticket,
    },
    /// The ticket does not exist any more: deleted, or moved away.
    TicketGone,
    /// Whether the ticket's author may set Pilot to work was read.
    TrustRead {
        login: String,
        trust: Trust,
    },
    /// A ticket that this one depends on was read.
    DependencyRead {
        ticket: TaskKey,
        state: DependencyState,
    },
    /// Before the first run, the task's branch was checked for a pull request.
    BranchChecked {
        branch: Branch,
        /// An open pull request that this Pilot did not open.
        found: Option<PrNumber>,
    },
    CommandReceived {
        command: UserCommand,
        by: CommandSource,
    },
    /// The dispatcher chose the task: the claim's row is written in the same transaction.
    Claimed {
        generation: Generation,
        home: HomeId,
        instance: InstanceId,
    },
    /// The forge shows the claim to other Pilots.
    ClaimPlaced {
        generation: Generation,
    },
    /// Another Pilot had claimed it before.
    ClaimLost {
        generation: Generation,
        /// The other Pilot.
        owner: String,
    },
    /// The claim of another Pilot was read again.
    ClaimRead {
        /// The other Pilot, if its claim still exists.
        owner: Option<String>,
    },
    /// The forge does not show the claim any more.
    ClaimReleased,
    RunStarted {
        generation: Generation,
        /// The hash of the text that was read for the run.
        body: BodyHash,
        /// Whether the ticket had no comment then.
        #[serde(default)]
        without_comments: bool,
    },
    /// The claim was given back before a run started: the task may not continue.
    Unclaimed {
        generation: Generation,
    },
    /// A user gave the task up before it had a result: it is not the current task any more. Written by the decision itself.
    TurnGivenBack,
    RunEnded {
        generation: Generation,
        ending: RunEnding,
    },
    /// The budget has room for a task that did not fit before.
    BudgetFreed,
    /// The Pilot that held the claim died.
    Abandoned {
        generation: Generation,
    },
    /// The branch on the forge is at this commit.
    Pushed {
        branch: Branch,
        sha: Sha,
    },
    /// The task's pull request exists.
    PrOpened {
        pr: Pr,
    },
    /// A pull request that might have been opened was not.
    NoPrFound {
        branch: Branch,
    },
    /// The task's pull request was read.
    PrRead {
        pr: Pr,
    },
    /// Pilot closed a pull request of its own.
    PrClosed {
        pr: PrNumber,
    },
    /// The reviews of the task's pull request were read.
    ReviewsRead {
        pr: PrNumber,
        /// The users who request changes and may write to the repository, or might.
        requested_by: BTreeSet<String>,
    },
    /// Everything that reports on a commit was read.
    CiRead {
        reading: Reading,
    },
    /// The base branch was checked for a commit.
    BaseChecked {
        commit: Sha,
        on_base: bool,
    },
    /// A ticket was opened to have CI fixed.
    FixOpened {
        ticket: TaskKey,
        /// Which fix in a row it is, from 1.
        iteration: u32,
        /// The pull request whose CI failed.
        pr: PrNumber,
    },
    /// Another task of ours sent a message.
    MessageReceived {
        message: TaskMessage,
    },
    /// This task sent another one a message.
    MessageSent {
        to: TaskKey,
        about: MessageKind,
    },
    /// The ticket's labels were set.
    Labelled {
        /// Pilot's own labels, as they are now.
        labels: Vec<String>,
    },
    /// The status comment was written.
    Commented {
        comment: CommentId,
        /// The fingerprint of its text.
        fingerprint: String,
    },
    /// A question was answered.
    Replied {
        /// The comment with the question.
        to: CommentId,
    },
    /// A question has one answer, although another Pilot may have answered it too.
    AnsweredOnce {
        /// The comment with the question.
        to: CommentId,
    },
    /// Pilot closed the ticket, or found it closed.
    TicketClosed,
    /// The branch does not exist on the forge any more.
    BranchDeleted {
        branch: Branch,
    },
    /// The branch stays: it holds commits of others, or another pull request is for it.
    BranchKept {
        branch: Branch,
        why: String,
    },
    /// An action failed.
    Failed {
        key: Key,
        failure: Failure,
    },
    /// The task's life ended. Written once, by the decision itself; only a retry changes it.
    Ended {
        ending: Ending,
    },
}
