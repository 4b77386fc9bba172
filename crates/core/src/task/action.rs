//! Everything Pilot does to the world for a task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Key;
use crate::ci::{CiFailed, CiPassed};
use crate::fact::{Landed, News, TaskFacts};
use crate::name::{BodyHash, Branch, CommentId, Generation, IssueNumber, PrNumber, Sha, TaskKey};
use crate::policy::MergeMethod;
use crate::release::NewTag;

/// What is known of the status comment of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// Which it is.
    Comment(CommentId),
    /// That there is none: nobody had said anything when Pilot had the issue to itself.
    Silence,
    /// Nothing: it is looked for.
    Nothing,
}

/// A thing to be done to the world. Performed at least once, and made once by looking first: see [`crate::perform`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Show every other Pilot that the task is taken.
    PlaceClaim {
        /// The claim's number.
        generation: Generation,
        /// The task, whose name the claim has on the forge.
        task: TaskKey,
    },
    /// Take that back.
    ReleaseClaim {
        /// The last claim's number.
        generation: Generation,
        /// The task.
        task: TaskKey,
    },
    /// Read the issue once more and begin a run.
    StartRun(RunOrder),
    /// Put the work on its branch.
    Push {
        /// The branch.
        branch: Branch,
        /// The commit.
        sha: Sha,
        /// What must be there before; nothing for a new branch.
        expect: Option<Sha>,
    },
    /// Open the pull request.
    OpenPr(NewPr),
    /// Look whether a pull request was opened after all, by its branch and its mark.
    FindPr {
        /// The branch.
        branch: Branch,
        /// What it is known by.
        marker: String,
    },
    /// Close a pull request of ours, with a word.
    ClosePr {
        /// Which.
        pr: PrNumber,
        /// What must be at its head, where that is the reason.
        head: Option<Sha>,
        /// What is said on it first.
        comment: String,
        /// What that comment is known by.
        marker: String,
    },
    /// Open an issue to have CI fixed.
    OpenFix(NewFix),
    /// Merge.
    Merge(ReadyToMerge),
    /// Close the issue.
    CloseIssue {
        /// The issue.
        issue: IssueNumber,
        /// Why it may be closed.
        landed: Landed,
    },
    /// Delete the branch.
    DeleteBranch {
        /// The branch.
        branch: Branch,
        /// What must be on it.
        sha: Sha,
        /// Why it may be deleted.
        landed: Landed,
    },
    /// Set Pilot's labels on the issue.
    Label {
        /// The issue.
        issue: IssueNumber,
        /// Those it shall have.
        add: BTreeSet<String>,
        /// Those it shall not.
        remove: BTreeSet<String>,
        /// How many times labels were written before.
        writes: u32,
    },
    /// Write the status comment.
    Comment {
        /// The issue.
        issue: IssueNumber,
        /// What is known of it.
        known: Known,
        /// Its text.
        body: String,
        /// What it is known by.
        marker: String,
        /// What its text is known by.
        fingerprint: String,
        /// How many times it was written before.
        writes: u32,
    },
    /// Answer a question.
    Reply {
        /// The issue.
        issue: IssueNumber,
        /// The comment that asks.
        to: CommentId,
        /// The answer.
        body: String,
        /// What it is known by.
        marker: String,
    },
    /// Let one answer to a question stand, where several Pilots gave theirs in the same moment.
    AnswerOnce {
        /// The issue.
        issue: IssueNumber,
        /// The comment that asks.
        to: CommentId,
        /// What an answer is known by.
        marker: String,
    },
    /// Tell another task of ours.
    Tell {
        /// Which.
        to: TaskKey,
        /// Its issue.
        issue: IssueNumber,
        /// What.
        news: News,
    },
    /// Tag a commit of the base branch. The project's, not a task's.
    Tag(NewTag),
}

/// What a run is to do. With a claim in force it is the only way to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The task.
    pub task: TaskKey,
    /// Its issue.
    pub issue: IssueNumber,
    /// The claim's number.
    pub generation: Generation,
    /// What the issue's text must hash to.
    pub body: BodyHash,
    /// The branch of the work.
    pub branch: Branch,
    /// The commit to go on from; the head of the base branch where there is none.
    pub from: Option<Sha>,
    /// Which fix of CI it is; 0 for none.
    pub iteration: u32,
}

impl RunOrder {
    /// The order for a task under a claim, to begin with this text.
    pub(crate) fn new(task: &TaskFacts, generation: Generation, body: BodyHash) -> RunOrder {
        RunOrder {
            task: task.key.clone(),
            issue: task.number,
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
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// What it is known by.
    pub marker: String,
}

/// An issue to be opened to have CI fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFix {
    /// The issue whose pull request failed.
    pub issue: IssueNumber,
    /// What that was called in the beginning.
    pub title: String,
    /// The pull request that failed.
    pub pr: PrNumber,
    /// The branch to go on with.
    pub branch: Branch,
    /// Which fix it will be, from 1.
    pub iteration: u32,
    /// The evidence.
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
    /// The decision calls this, and nobody else can.
    pub(crate) fn new(pr: PrNumber, passed: CiPassed, method: MergeMethod, title: String) -> ReadyToMerge {
        ReadyToMerge { pr, passed, method, title }
    }

    /// The pull request.
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

    /// How.
    pub fn method(&self) -> MergeMethod {
        self.method
    }

    /// The first line of the commit.
    pub fn title(&self) -> &str {
        &self.title
    }
}

impl Action {
    /// What it is known by.
    pub fn key(&self) -> Key {
        match self {
            Action::PlaceClaim { generation, .. } => Key::new("claim", format!("place-{generation}")),
            Action::ReleaseClaim { generation, .. } => Key::new("claim", format!("release-{generation}")),
            Action::StartRun(order) => Key::new("run", format!("{}/{}", order.generation, order.body)),
            Action::Push { branch, sha, .. } => Key::new("push", format!("{branch}@{sha}")),
            Action::OpenPr(new) => Key::new("pr", format!("{}@{}", new.branch, new.sha)),
            Action::FindPr { branch, .. } => Key::new("pr", format!("{branch}?")),
            Action::ClosePr { pr, .. } => Key::new("close-pr", pr.0),
            Action::OpenFix(new) => Key::new("fix", format!("{}/{}", new.pr.0, new.iteration)),
            Action::Merge(ready) => Key::new("merge", format!("{}@{}", ready.pr.0, ready.sha())),
            Action::CloseIssue { landed, .. } => Key::new("close-issue", landed.commit()),
            Action::DeleteBranch { branch, sha, .. } => Key::new("delete-branch", format!("{branch}@{sha}")),
            Action::Label { add, writes, .. } => {
                let names: Vec<&str> = add.iter().map(String::as_str).collect();
                Key::new("label", format!("{writes}/{}", names.join("+")))
            }
            Action::Comment { known: Known::Silence, fingerprint, writes, .. } => {
                Key::new("comment", format!("{writes}/{fingerprint}/first"))
            }
            Action::Comment { fingerprint, writes, .. } => {
                Key::new("comment", format!("{writes}/{fingerprint}"))
            }
            Action::Reply { to, .. } => Key::new("reply", to.0),
            Action::AnswerOnce { to, .. } => Key::new("reply", format!("{}/once", to.0)),
            Action::Tell { to, news, .. } => Key::new("tell", format!("{to}/{}", news.kind().as_str())),
            Action::Tag(new) => Key::new("tag", &new.commit),
        }
    }

    /// Whether a forge would do it twice if asked twice. Then nothing is repeated before its lists can be believed.
    pub(crate) fn doubles(&self) -> bool {
        match self {
            // The last of them does nothing, but is of use only where a list can be believed.
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
            | Action::CloseIssue { .. }
            | Action::DeleteBranch { .. }
            | Action::Label { .. }
            | Action::AnswerOnce { .. }
            | Action::Tell { .. } => false,
        }
    }
}
