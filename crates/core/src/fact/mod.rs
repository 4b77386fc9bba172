//! What happened, and what is known because of it.
//!
//! [`Happened`] is a thing that happened to a task, [`ProjectHappened`] to a project. Folded one after the other they give
//! [`TaskFacts`] and [`ProjectFacts`]; from these every stage is computed. Must never know what follows from a fact.

mod ending;
mod fold;
mod project;
mod run;
mod setback;
mod task;

pub use ending::{Ending, GivenUp, Landed};
pub use project::{Active, ProjectFacts, ProjectHappened, Unreleased};
pub use run::{Gate, Run, RunEnding, Work};
pub use setback::Setback;
pub(crate) use task::ONE_CLOSING;
pub use task::{Claim, CommentFact, Fix, LabelsFact, Life, Lineage, Pushed, TaskFacts, TaskPr, Trouble};

use serde::{Deserialize, Serialize};

use crate::ci::Reading;
use crate::name::{
    BodyHash, Branch, CommentId, Generation, HomeId, InstanceId, IssueNumber, PrNumber, Sha, TaskKey,
};
use crate::seen::{DependencyState, Failure, Issue, Permission, Pr};
use crate::task::Key;

/// A thing that happened to a task. Repeating one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happened {
    /// The issue was read.
    IssueSeen {
        /// As it was.
        issue: Issue,
    },
    /// The issue is not there any more: deleted, or moved away.
    IssueGone,
    /// The permission of its author was read.
    PermissionSeen {
        /// Whose.
        login: String,
        /// What it is.
        permission: Permission,
    },
    /// An issue that this one depends on was read.
    DependencySeen {
        /// Which.
        issue: IssueNumber,
        /// Where it stands.
        state: DependencyState,
    },
    /// Before anything was begun, a look for a pull request on the task's branch found this, or none.
    BranchLookedAt {
        /// The branch.
        branch: Branch,
        /// An open pull request that this Pilot knows nothing of.
        found: Option<PrNumber>,
    },
    /// Somebody gave an order.
    Ordered {
        /// Which.
        order: Order,
        /// Who.
        by: By,
    },
    /// The dispatcher chose it: the row of the claim is written in the same transaction.
    Claimed {
        /// The claim's number.
        generation: Generation,
        /// Whose claim.
        home: HomeId,
        /// By which start of it.
        instance: InstanceId,
    },
    /// The forge shows the claim to everybody else.
    ClaimPlaced {
        /// The claim's number.
        generation: Generation,
    },
    /// Another Pilot had claimed it before.
    ClaimLost {
        /// The claim's number.
        generation: Generation,
        /// Whose claim stands there.
        owner: String,
    },
    /// It was looked whether another Pilot's claim still stands.
    ClaimSeen {
        /// Whose, if it does.
        owner: Option<String>,
    },
    /// The forge does not show the claim any more.
    ClaimReleased,
    /// A run begins.
    RunStarted {
        /// The claim's number.
        generation: Generation,
        /// What the text hashed to when it was read for the run.
        body: BodyHash,
        /// Whether the issue had no comment then.
        #[serde(default)]
        silent: bool,
    },
    /// The claim was given back before a run began: the task may not go on any more.
    Unclaimed {
        /// The claim's number.
        generation: Generation,
    },
    /// A run ended.
    RunEnded {
        /// The claim's number.
        generation: Generation,
        /// How.
        ending: RunEnding,
    },
    /// The Pilot that held the claim died.
    Abandoned {
        /// The claim's number.
        generation: Generation,
    },
    /// The branch on the forge is at this commit.
    Pushed {
        /// The branch.
        branch: Branch,
        /// The commit.
        sha: Sha,
    },
    /// The task's pull request is there.
    PrOpened {
        /// As it was.
        pr: Pr,
    },
    /// A pull request that might have been opened was not.
    NoPrFound {
        /// The branch it would bring.
        branch: Branch,
    },
    /// The task's pull request was read.
    PrSeen {
        /// As it was.
        pr: Pr,
    },
    /// Pilot closed a pull request of its own.
    PrClosed {
        /// Which.
        pr: PrNumber,
    },
    /// Everything that reports on a commit was read.
    CiRead {
        /// What it says.
        reading: Reading,
    },
    /// It was looked whether a commit is on the base branch.
    BaseLookedAt {
        /// The commit.
        commit: Sha,
        /// Whether it is.
        on_base: bool,
    },
    /// An issue was opened to have CI fixed.
    FixOpened {
        /// The new issue.
        issue: IssueNumber,
        /// How many there are now, one after the other.
        iteration: u32,
        /// The pull request whose CI failed.
        pr: PrNumber,
    },
    /// Another task of ours told something.
    Heard {
        /// What.
        news: News,
    },
    /// Another task of ours was told something.
    Told {
        /// Which task.
        to: TaskKey,
        /// What, in a word.
        about: NewsKind,
    },
    /// The issue's labels were set.
    Labelled {
        /// Pilot's own labels, as they are now.
        labels: Vec<String>,
    },
    /// The status comment says what it should.
    Commented {
        /// Which comment.
        comment: CommentId,
        /// What its text is known by.
        fingerprint: String,
    },
    /// A question was answered.
    Replied {
        /// The comment that asked.
        to: CommentId,
    },
    /// A question has one answer, whoever else answered it.
    AnsweredOnce {
        /// The comment that asked.
        to: CommentId,
    },
    /// Pilot found the issue closed, or closed it.
    IssueClosed,
    /// The branch is gone from the forge.
    BranchDeleted {
        /// The branch.
        branch: Branch,
    },
    /// The branch stays: it holds what others put there, or others build on it.
    BranchKept {
        /// The branch.
        branch: Branch,
        /// Why, for people.
        why: String,
    },
    /// An action failed.
    Failed {
        /// Which.
        key: Key,
        /// How.
        failure: Failure,
    },
    /// The task's life ended. Written once, by the decision itself; nothing but a retry changes it.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// What people may order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Stop, and do not begin again.
    Cancel,
    /// Begin again from the start.
    Retry,
    /// Begin and merge nothing more.
    Pause,
    /// Go on.
    Resume,
    /// Say why it stands where it stands.
    Why,
}

impl Order {
    /// The word that is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Cancel => "cancel",
            Order::Retry => "retry",
            Order::Pause => "pause",
            Order::Resume => "resume",
            Order::Why => "why",
        }
    }
}

/// Who gave an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Somebody in a comment on the issue.
    Comment {
        /// The comment: it counts once.
        id: CommentId,
        /// Who wrote it.
        login: String,
        /// What they may do.
        permission: Permission,
    },
    /// Somebody at this machine.
    Operator,
}

/// What one task tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// You are the fix of my CI.
    Adopted(Lineage),
    /// I was let go of; stop as well.
    LetGo,
    /// My pull request holds your work, and it is on the base branch.
    Landed(Landed),
    /// I gave up.
    GaveUp {
        /// Who.
        issue: IssueNumber,
    },
}

/// The same in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewsKind {
    /// [`News::Adopted`].
    Adopted,
    /// [`News::LetGo`].
    LetGo,
    /// [`News::Landed`].
    Landed,
    /// [`News::GaveUp`].
    GaveUp,
}

impl News {
    /// It in a word.
    pub fn kind(&self) -> NewsKind {
        match self {
            News::Adopted(_) => NewsKind::Adopted,
            News::LetGo => NewsKind::LetGo,
            News::Landed(_) => NewsKind::Landed,
            News::GaveUp { .. } => NewsKind::GaveUp,
        }
    }
}

impl NewsKind {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            NewsKind::Adopted => "adopted",
            NewsKind::LetGo => "let-go",
            NewsKind::Landed => "landed",
            NewsKind::GaveUp => "gave-up",
        }
    }
}
