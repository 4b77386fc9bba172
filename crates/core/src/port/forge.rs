//! The forge: pull requests, checks, merges, tags.

use std::collections::BTreeSet;

use super::{CommentSeen, Marker, NewComment};
use crate::ci::{Check, Required};
use crate::id::{Branch, CommentId, PrNumber, Sha};
use crate::observed::{Pr, PrReview, Trust};
use crate::policy::MergeMethod;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgeCall {
    /// Every pull request that brings a branch, merged and closed ones too. Answer: `Pulls`.
    PullsFrom(Branch),
    /// Every open pull request for a branch. Answer: `Pulls`.
    PullsOnto(Branch),
    /// One pull request. Answer: `Pull`.
    Pull(PrNumber),
    /// Answer: `Pull`.
    CreatePull(NewPull),
    /// Answer: `Done`.
    ClosePull(PrNumber),
    /// Every comment on a pull request. Answer: `Comments`.
    Comments(PrNumber),
    /// Answer: `Comment`.
    AddComment(PrNumber, NewComment),
    /// Every review of a pull request that decides something, the oldest first. Answer: `Reviews`.
    Reviews(PrNumber),
    /// Whether an account may write to the repository. Answer: `MayWrite`.
    MayWrite(String),
    /// Merges a pull request, if its head is this commit. Answer: `Merged`.
    Merge {
        pr: PrNumber,
        sha: Sha,
        method: MergeMethod,
        /// The first line of the commit.
        title: String,
    },
    /// Everything that reports on a commit. Answer: `Checks`.
    Checks(Sha),
    /// What must pass before a merge into a branch. Answer: `Required`.
    Required(Branch),
    /// The logs of checks that failed. Answer: `Log`.
    CheckLog { sha: Sha, checks: BTreeSet<String> },
    /// Whether a branch contains a commit. Answer: `Contains`.
    Contains { branch: Branch, sha: Sha },
    /// Every tag. Answer: `Tags`.
    Tags,
    /// Answer: `Done`, also where the tag names this commit already.
    CreateTag { name: String, commit: Sha },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgeAnswer {
    Done,
    Pulls(Vec<PullSeen>),
    Pull(Pr),
    Comments(Vec<CommentSeen>),
    Comment(CommentId),
    Reviews(Vec<PrReview>),
    /// Trusted where it may.
    MayWrite(Trust),
    Merged(Sha),
    Checks(BTreeSet<Check>),
    Required(Required),
    /// Without secrets; none where the forge has none.
    Log(Option<String>),
    Contains(bool),
    Tags(Vec<TagSeen>),
}

/// A pull request to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPull {
    pub branch: Branch,
    pub base: Branch,
    pub title: String,
    pub text: String,
    pub marker: Marker,
}

/// A pull request of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullSeen {
    pub pr: Pr,
    pub marker: Option<Marker>,
}

/// A tag and the commit it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSeen {
    pub name: String,
    pub commit: Sha,
}
