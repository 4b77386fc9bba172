//! The calls Pilot makes to a forge and to git, and their answers.

use std::collections::BTreeSet;

use crate::ci::Reading;
use crate::name::{Branch, CommentId, IssueNumber, PrNumber, Sha, TaskKey};
use crate::policy::MergeMethod;
use crate::seen::{Failure, Issue, Permission, Pr};
use crate::task::NewPr;

/// A call: what is asked of the forge or of git, in our own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Read an issue. Answer: [`Answer::Issue`].
    Issue(IssueNumber),
    /// Read what an account may do. Answer: [`Answer::Permission`].
    Permission(String),
    /// Read every comment on an issue or a pull request. Answer: [`Answer::Comments`].
    Comments(Thread),
    /// Write a comment. Answer: [`Answer::Comment`].
    Comment(Thread, String),
    /// Write a comment over. Answer: [`Answer::Comment`].
    EditComment(CommentId, String),
    /// Add labels to an issue. Answer: [`Answer::Done`].
    AddLabels(IssueNumber, BTreeSet<String>),
    /// Take a label off an issue; that it is not there is no failure. Answer: [`Answer::Done`].
    RemoveLabel(IssueNumber, String),
    /// Close an issue. Answer: [`Answer::Done`].
    CloseIssue(IssueNumber),
    /// Read every issue, open and closed, that this Pilot's account wrote and that has a label. Answer:
    /// [`Answer::OwnIssues`].
    OwnIssues(String),
    /// Write an issue. Answer: [`Answer::NewIssue`].
    CreateIssue {
        /// Its title.
        title: String,
        /// Its text.
        body: String,
        /// Its labels.
        labels: Vec<String>,
    },
    /// Read every pull request that brings a branch, also those that are merged or closed. Answer: [`Answer::Prs`].
    PrsOf(Branch),
    /// Read every open pull request for a branch. Answer: [`Answer::Prs`].
    PrsOnto(Branch),
    /// Read a pull request. Answer: [`Answer::Pr`].
    Pr(PrNumber),
    /// Open a pull request. Answer: [`Answer::Pr`].
    CreatePr(NewPr),
    /// Close a pull request. Answer: [`Answer::Done`].
    ClosePr(PrNumber),
    /// Merge a pull request, if its head is this commit. Answer: [`Answer::Merged`].
    Merge {
        /// Which.
        pr: PrNumber,
        /// What its head must be.
        sha: Sha,
        /// How.
        method: MergeMethod,
        /// The first line of the commit.
        title: String,
    },
    /// Read everything that reports on a commit. Answer: [`Answer::Ci`].
    Ci(Sha),
    /// Read the log of what failed. Answer: [`Answer::Log`].
    CiLog {
        /// The commit.
        sha: Sha,
        /// What failed.
        checks: BTreeSet<String>,
    },
    /// Look whether a commit is on the base branch. Answer: [`Answer::OnBase`].
    OnBase(Sha),
    /// Show that a task is taken: make the ref of the claim, if nobody has. Answer: [`Answer::Claim`].
    PlaceClaim {
        /// The task.
        task: TaskKey,
    },
    /// Read the ref of the claim. Answer: [`Answer::Claim`], with nothing also where there is none.
    Claim {
        /// The task.
        task: TaskKey,
    },
    /// Remove the ref of the claim, if it is ours. Answer: [`Answer::Done`], also where there was none.
    ReleaseClaim {
        /// The task.
        task: TaskKey,
    },
    /// Set a branch of ours to a commit, if it is where it is expected to be. Answer: [`Answer::Done`], also where it is
    /// there already.
    Push {
        /// The branch.
        branch: Branch,
        /// The commit.
        sha: Sha,
        /// What must be there; nothing for a new branch.
        expect: Option<Sha>,
    },
    /// Delete a branch of ours, if it is where it is expected to be. Answer: [`Answer::Done`], also where there was none.
    DeleteBranch {
        /// The branch.
        branch: Branch,
        /// What must be there.
        expect: Sha,
    },
    /// Read every tag. Answer: [`Answer::Tags`].
    Tags,
    /// Make a tag. Answer: [`Answer::Done`].
    CreateTag {
        /// Its name.
        name: String,
        /// The commit.
        commit: Sha,
    },
}

/// An answer, or why there is none.
pub type Reply = Result<Answer, Failure>;

/// What a call answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// An issue; nothing where it is gone.
    Issue(Option<Box<IssueRead>>),
    /// What an account may do.
    Permission(Permission),
    /// All comments.
    Comments(Vec<CommentSeen>),
    /// The comment that was written.
    Comment(CommentId),
    /// All issues of ours with the label.
    OwnIssues(Vec<OwnIssue>),
    /// The issue that was written.
    NewIssue(IssueNumber),
    /// Pull requests, with their texts.
    Prs(Vec<(Pr, String)>),
    /// A pull request.
    Pr(Pr),
    /// The commit of a merge.
    Merged(Sha),
    /// Everything that reports.
    Ci(Reading),
    /// A log, without secrets; nothing where the forge has none.
    Log(Option<String>),
    /// Whether it is.
    OnBase(bool),
    /// Whose claim stands there now: nothing for ours.
    Claim(Option<String>),
    /// All tags.
    Tags(Vec<TagSeen>),
}

/// Where comments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// On an issue.
    Issue(IssueNumber),
    /// On a pull request.
    Pr(PrNumber),
}

/// An issue with its text, for whoever starts the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueRead {
    /// What is decided by.
    pub issue: Issue,
    /// Whether it has no comment.
    pub silent: bool,
    /// What the agent is told.
    pub text: String,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentSeen {
    /// Which.
    pub id: CommentId,
    /// Whether this Pilot's account wrote it. A mark in anybody else's comment is text.
    pub mine: bool,
    /// Its text.
    pub body: String,
}

/// An issue this Pilot's account wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnIssue {
    /// Which.
    pub number: IssueNumber,
    /// Its text.
    pub body: String,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSeen {
    /// Its name.
    pub name: String,
    /// The commit it names.
    pub commit: Sha,
}
