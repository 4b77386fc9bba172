//! Everything Pilot does to the world for a task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Key, Lane};
use crate::ci::{CiFailed, CiPassed};
use crate::fact::{Landed, TaskFacts, TaskMessage};
use crate::id::{BodyHash, Branch, CommentId, Generation, PrNumber, Sha, TaskKey};
use crate::policy::MergeMethod;
use crate::port::Marker;
use crate::release::NewTag;

/// What is known of a ticket's status comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusComment {
    Written(CommentId),
    /// None exists: the ticket had no comments when it was claimed.
    Absent,
    /// It has to be searched for.
    Unknown,
}

/// A thing to be done to the world. Performed at least once, and made once by looking first: see [`crate::perform`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Show other Pilots that the task is taken.
    PlaceClaim {
        generation: Generation,
        task: TaskKey,
    },
    ReleaseClaim {
        /// The last claim's number.
        generation: Generation,
        task: TaskKey,
    },
    /// Read the ticket once more, fetch the base, and start a run.
    StartRun(RunRequest),
    /// Push the work to its branch.
    Push {
        branch: Branch,
        sha: Sha,
        /// Where the branch must be before; none for a new branch.
        expect: Option<Sha>,
    },
    OpenPr(NewPr),
    /// Search for a pull request whose creation may have succeeded although the reply was lost.
    FindPr {
        branch: Branch,
        marker: Marker,
    },
    /// Close a pull request of ours, with a comment.
    ClosePr {
        pr: PrNumber,
        /// The head it must have, where that is the reason.
        head: Option<Sha>,
        /// What is written on it first.
        comment: String,
        marker: Marker,
    },
    /// Open a ticket to have CI fixed.
    OpenFix(NewFix),
    Merge(ReadyToMerge),
    CloseTicket {
        ticket: TaskKey,
        /// Why it may be closed.
        landed: Landed,
    },
    DeleteBranch {
        branch: Branch,
        /// Where it must be.
        sha: Sha,
        /// Why it may be deleted.
        landed: Landed,
    },
    /// Set Pilot's labels on the ticket.
    Label {
        ticket: TaskKey,
        add: BTreeSet<String>,
        remove: BTreeSet<String>,
        /// How often labels were written before.
        writes: u32,
    },
    /// Write the status comment.
    Comment {
        ticket: TaskKey,
        known: StatusComment,
        body: String,
        marker: Marker,
        /// The fingerprint of the text.
        fingerprint: String,
        /// How often it was written before.
        writes: u32,
    },
    /// Answer a question, where it was asked.
    Reply {
        ticket: TaskKey,
        /// The pull request, where it was asked on one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        /// The comment with the question.
        to: CommentId,
        body: String,
        marker: Marker,
    },
    /// Leave one answer to a question, where several Pilots gave theirs at the same moment.
    AnswerOnce {
        ticket: TaskKey,
        /// The comment with the question.
        to: CommentId,
        marker: Marker,
    },
    /// Send a message to another task of the project.
    SendMessage {
        to: TaskKey,
        message: TaskMessage,
    },
    /// Tag a commit of the base branch. The project's action, not a task's.
    Tag(NewTag),
}

/// What a run is to do. With a claim in force it is the only way to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    pub task: TaskKey,
    pub generation: Generation,
    /// What the ticket's text must hash to.
    pub body: BodyHash,
    /// The branch of the work.
    pub branch: Branch,
    /// The commit to continue from; none for the head of the base branch.
    pub from: Option<Sha>,
    /// Which fix of CI it is; 0 for none.
    pub iteration: u32,
}

impl RunRequest {
    /// The request for a task under a claim, to start with this text.
    pub(crate) fn new(task: &TaskFacts, generation: Generation, body: BodyHash) -> RunRequest {
        RunRequest {
            task: task.key.clone(),
            generation,
            body,
            branch: task.branch(),
            from: task.lineage.as_ref().map(|lineage| lineage.sha.clone()),
            iteration: task.iteration(),
        }
    }
}

/// A pull request to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPr {
    /// The branch it brings.
    pub branch: Branch,
    /// The branch it is for.
    pub base: Branch,
    /// The commit it is about.
    pub sha: Sha,
    pub title: String,
    pub body: String,
    pub marker: Marker,
}

/// A ticket to be opened to have CI fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFix {
    /// The ticket whose pull request failed.
    pub ticket: TaskKey,
    /// The title of the first ticket of the chain.
    pub title: String,
    /// The pull request that failed.
    pub pr: PrNumber,
    /// The branch to continue with.
    pub branch: Branch,
    /// Which fix it will be, from 1.
    pub iteration: u32,
    pub failed: CiFailed,
    /// The label that asks for work.
    pub label: String,
}

/// A pull request that may be merged. Only [`crate::task::step`] makes one, from a verdict on that very commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyToMerge {
    pr: PrNumber,
    passed: CiPassed,
    method: MergeMethod,
    title: String,
}

impl ReadyToMerge {
    /// Called by the decision alone.
    pub(crate) fn new(pr: PrNumber, passed: CiPassed, method: MergeMethod, title: String) -> ReadyToMerge {
        ReadyToMerge { pr, passed, method, title }
    }

    pub fn pr(&self) -> PrNumber {
        self.pr
    }

    /// The commit, and no other.
    pub fn sha(&self) -> &Sha {
        self.passed.sha()
    }

    /// What CI said about it.
    pub fn passed(&self) -> &CiPassed {
        &self.passed
    }

    pub fn method(&self) -> MergeMethod {
        self.method
    }

    /// The first line of the commit.
    pub fn title(&self) -> &str {
        &self.title
    }
}

impl Action {
    pub fn key(&self) -> Key {
        match self {
            Action::PlaceClaim { generation, .. } => Key::new(Lane::Claim, format!("place-{generation}")),
            Action::ReleaseClaim { generation, .. } => Key::release(*generation),
            Action::StartRun(order) => Key::new(Lane::Run, format!("{}/{}", order.generation, order.body)),
            Action::Push { branch, sha, .. } => Key::new(Lane::Push, format!("{branch}@{sha}")),
            Action::OpenPr(new) => Key::new(Lane::Pr, format!("{}@{}", new.branch, new.sha)),
            Action::FindPr { branch, .. } => Key::new(Lane::Pr, format!("{branch}?")),
            Action::ClosePr { pr, .. } => Key::new(Lane::ClosePr, pr.0),
            Action::OpenFix(new) => Key::new(Lane::Fix, format!("{}/{}", new.pr.0, new.iteration)),
            Action::Merge(ready) => Key::new(Lane::Merge, format!("{}@{}", ready.pr.0, ready.sha())),
            Action::CloseTicket { landed, .. } => Key::new(Lane::CloseTicket, landed.commit()),
            Action::DeleteBranch { branch, sha, .. } => {
                Key::new(Lane::DeleteBranch, format!("{branch}@{sha}"))
            }
            Action::Label { add, writes, .. } => {
                let names: Vec<&str> = add.iter().map(String::as_str).collect();
                Key::new(Lane::Label, format!("{writes}/{}", names.join("+")))
            }
            Action::Comment { known: StatusComment::Absent, fingerprint, writes, .. } => {
                Key::new(Lane::Comment, format!("{writes}/{fingerprint}/first"))
            }
            Action::Comment { fingerprint, writes, .. } => {
                Key::new(Lane::Comment, format!("{writes}/{fingerprint}"))
            }
            Action::Reply { to, .. } => Key::new(Lane::Reply, to),
            Action::AnswerOnce { to, .. } => Key::new(Lane::Reply, format!("{to}/once")),
            Action::SendMessage { to, message } => {
                Key::new(Lane::Message, format!("{to}/{}", message.kind().as_str()))
            }
            Action::Tag(new) => Key::new(Lane::Tag, &new.commit),
        }
    }

    /// Whether repeating it would do it twice. Then it is not repeated before reads can no longer be stale.
    pub(crate) fn doubles(&self) -> bool {
        match self {
            // The last of them writes nothing, but needs a list that is not stale.
            Action::ClosePr { .. }
            | Action::OpenFix(_)
            | Action::Comment { .. }
            | Action::Reply { .. }
            | Action::Tag(_)
            | Action::FindPr { .. } => true,
            Action::PlaceClaim { .. }
            | Action::ReleaseClaim { .. }
            | Action::StartRun(_)
            | Action::Push { .. }
            | Action::OpenPr(_)
            | Action::Merge(_)
            | Action::CloseTicket { .. }
            | Action::DeleteBranch { .. }
            | Action::Label { .. }
            | Action::AnswerOnce { .. }
            | Action::SendMessage { .. } => false,
        }
    }
}
