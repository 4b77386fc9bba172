//! Everything known of a task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{By, Ending, Landed, NewsKind, Order, Run, Work};
use crate::ci::CiFacts;
use crate::name::{
    BodyHash, Branch, CommentId, Generation, InstanceId, IssueNumber, PrNumber, ProjectId, Sha, TaskKey,
};
use crate::seen::{DependencyState, Failure, Issue, IssueState, Permission, Pr, PrState};
use crate::time::Timestamp;

/// Everything known of a task. Made by folding what happened, and by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// The project.
    pub project: ProjectId,
    /// The task.
    pub key: TaskKey,
    /// Its issue.
    pub number: IssueNumber,
    /// How many things have happened to it.
    pub seq: u64,
    /// The issue as it was last read, and when.
    pub issue: Option<(Issue, Timestamp)>,
    /// Whether the issue is gone.
    pub gone: bool,
    /// What its author may do.
    pub permission: Option<(String, Permission)>,
    /// What it depends on.
    pub dependencies: BTreeMap<IssueNumber, DependencyState>,
    /// Whose CI it fixes.
    pub lineage: Option<Lineage>,
    /// What was learned since it last began from the start.
    pub life: Life,
    /// The last claim's number.
    pub generation: Generation,
    /// Whether the forge shows a claim of ours.
    pub claim_shown: bool,
    /// Pilot's labels on the issue.
    pub labels: Option<LabelsFact>,
    /// The status comment.
    pub comment: Option<CommentFact>,
    /// The last comment that was taken for an order.
    pub last_order: Option<CommentId>,
    /// Questions without an answer.
    pub questions: BTreeSet<CommentId>,
    /// Questions that were answered, and when: another Pilot may have answered in the same moment.
    #[serde(default)]
    pub answered: BTreeMap<CommentId, Timestamp>,
    /// Who was told what.
    pub told: BTreeSet<(TaskKey, NewsKind)>,
    /// Pull requests of earlier lives that are to be closed.
    pub superseded: Vec<PrNumber>,
    /// Branches of earlier lives on which a pull request may have been opened without anybody knowing.
    pub lost: Vec<Branch>,
    /// Actions that failed since they last succeeded, by their lane.
    pub trouble: BTreeMap<String, Trouble>,
}

/// What was learned of a task since it last began from the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Which life it is, from 0.
    pub number: u32,
    /// The claim, while one is held.
    pub claim: Option<Claim>,
    /// The last run that is over.
    pub run: Option<Run>,
    /// How many runs count against the number of attempts.
    pub attempts: u32,
    /// How many runs ended because Pilot died. They count for nothing.
    pub abandoned: u32,
    /// Whose claim another Pilot's is.
    pub elsewhere: Option<String>,
    /// What the look for a pull request before the first claim found.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "looked")]
    pub branch_found: Option<Option<PrNumber>>,
    /// What is on the forge's branch.
    pub pushed: Option<Pushed>,
    /// The pull request.
    pub pr: Option<TaskPr>,
    /// What CI says about what is on the branch.
    pub ci: Option<CiFacts>,
    /// The issue that is to fix CI.
    pub fix: Option<Fix>,
    /// Since when, and until when, the merged commit was looked for on the base branch in vain.
    pub not_on_base: Option<(Timestamp, Timestamp)>,
    /// The work on the base branch.
    pub landed: Option<Landed>,
    /// Who cancelled it.
    pub cancelled: Option<String>,
    /// Who paused it.
    pub paused: Option<String>,
    /// Whether Pilot found the issue closed when it wanted it closed.
    pub issue_closed: bool,
    /// Whether the branch is gone, or stays for good.
    pub branch_settled: bool,
    /// How it ended, and when.
    pub ended: Option<(Ending, Timestamp)>,
}

/// A claim that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its number.
    pub generation: Generation,
    /// Who holds it.
    pub instance: InstanceId,
    /// Since when.
    pub at: Timestamp,
    /// Whether the forge shows it.
    pub placed: bool,
    /// The text the run began with, once it has.
    pub started: Option<BodyHash>,
    /// Whether the issue had no comment then.
    #[serde(default)]
    pub silent: bool,
}

/// What is on the forge's branch because Pilot put it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// The branch.
    pub branch: Branch,
    /// The commit.
    pub sha: Sha,
    /// Since when.
    pub at: Timestamp,
}

/// The task's pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPr {
    /// As it was last read.
    pub pr: Pr,
    /// When it was first known.
    pub opened: Timestamp,
    /// Since when it reads closed, and until when that was seen.
    pub closed: Option<(Timestamp, Timestamp)>,
    /// Whether Pilot closed it.
    pub closed_by_us: bool,
}

/// A pull request that reads closed twice, farther apart than this, may have been open in between.
pub(crate) const ONE_CLOSING: Duration = Duration::from_secs(60);

/// An issue that is to fix the CI of this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// The issue.
    pub issue: IssueNumber,
    /// How many there are now, one after the other.
    pub iteration: u32,
    /// Whether it was given up.
    pub gave_up: bool,
}

/// Whose CI a task fixes. Known from our own log only: the same words in an issue's text are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The issue where it began.
    pub root: IssueNumber,
    /// The issues between that and this one, the root first.
    pub parents: Vec<IssueNumber>,
    /// The pull request whose CI failed.
    pub pr: PrNumber,
    /// The branch to go on with.
    pub branch: Branch,
    /// The commit to go on from.
    pub sha: Sha,
    /// Which fix this is, from 1.
    pub iteration: u32,
}

/// Pilot's labels on an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelsFact {
    /// What was written last.
    pub labels: BTreeSet<String>,
    /// When.
    pub at: Timestamp,
    /// How often something was written.
    pub writes: u32,
}

/// The status comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFact {
    /// Which comment.
    pub id: CommentId,
    /// What its text is known by.
    pub fingerprint: String,
    /// How often it was written.
    pub writes: u32,
}

/// An action that failed, and not for the first time perhaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// How often in a row.
    pub count: u32,
    /// When last.
    pub at: Timestamp,
    /// How last.
    pub failure: Failure,
    /// Whether, since it last succeeded, it may have happened without anybody knowing.
    pub may_have_happened: bool,
}

/// A look that found nothing is not the same as no look: in JSON the first is null, the other is not there.
fn looked<'de, D: serde::Deserializer<'de>>(found: D) -> Result<Option<Option<PrNumber>>, D::Error> {
    Option::deserialize(found).map(Some)
}

impl TaskPr {
    /// Whether it may be open: it is not merged, and Pilot has not closed it. That it reads closed is no proof.
    pub fn may_be_open(&self) -> bool {
        match self.pr.state {
            PrState::Open | PrState::Closed => !self.closed_by_us,
            PrState::Merged { .. } => false,
        }
    }
}

impl TaskFacts {
    /// A task nothing is known of.
    pub fn new(project: ProjectId, number: IssueNumber) -> TaskFacts {
        TaskFacts {
            project,
            key: TaskKey::of_issue(number),
            number,
            seq: 0,
            issue: None,
            gone: false,
            permission: None,
            dependencies: BTreeMap::new(),
            lineage: None,
            life: Life::default(),
            generation: Generation::default(),
            claim_shown: false,
            labels: None,
            comment: None,
            last_order: None,
            questions: BTreeSet::new(),
            answered: BTreeMap::new(),
            told: BTreeSet::new(),
            superseded: Vec::new(),
            lost: Vec::new(),
            trouble: BTreeMap::new(),
        }
    }

    /// The issue as it was last read.
    pub fn seen(&self) -> Option<&Issue> {
        self.issue.as_ref().map(|(issue, _)| issue)
    }

    /// What people call it.
    pub fn title(&self) -> &str {
        self.seen().map_or("", |issue| issue.title.as_str())
    }

    /// Whether the issue was open when it was last read.
    pub fn is_open(&self) -> bool {
        !self.gone && self.seen().is_some_and(|issue| issue.state == IssueState::Open)
    }

    /// The issue all of this is about: its own, or the one whose CI it fixes.
    pub fn root(&self) -> IssueNumber {
        self.lineage.as_ref().map_or(self.number, |lineage| lineage.root)
    }

    /// The branch of its work.
    pub fn branch(&self) -> Branch {
        match &self.lineage {
            Some(lineage) => lineage.branch.clone(),
            None => Branch::of_task(&self.key, self.life.number),
        }
    }

    /// Which fix of CI it is; 0 for a task that is none.
    pub fn iteration(&self) -> u32 {
        self.lineage.as_ref().map_or(0, |lineage| lineage.iteration)
    }

    /// The work of the last run, if that completed.
    pub fn work(&self) -> Option<&Work> {
        self.life.run.as_ref().and_then(Run::work)
    }

    /// Whether somebody may order it: everybody at this machine, and who may write to the repository.
    pub(super) fn obeys(&self, order: Order, by: &By) -> bool {
        match by {
            By::Operator => true,
            By::Comment { id, permission, .. } => {
                // Questions are counted on their own, so an old one does not hide behind a newer order.
                let fresh = self.last_order.is_none_or(|last| *id > last);
                permission.may_order() && fresh && (order != Order::Why || !self.questions.contains(id))
            }
        }
    }
}
