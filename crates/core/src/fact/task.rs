//! Everything known of a task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CommandSource, Ending, Landed, MessageKind, Run, UserCommand, Work};
use crate::budget::Shortage;
use crate::ci::CiFacts;
use crate::id::{BodyHash, Branch, CommentId, Generation, InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use crate::observed::{DependencyState, Failure, Pr, PrState, Ticket, TicketState, Trust};
use crate::task::Lane;
use crate::time::Timestamp;

/// Everything known of a task. Made by folding its events, and by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    pub project: ProjectId,
    pub key: TaskKey,
    /// How many events it has had.
    pub seq: u64,
    /// The ticket as it was last read, and when.
    pub ticket: Option<(Ticket, Timestamp)>,
    /// Whether the ticket is gone.
    pub gone: bool,
    /// Whether its author may set Pilot to work.
    pub trust: Option<(String, Trust)>,
    /// What it depends on.
    pub dependencies: BTreeMap<TaskKey, DependencyState>,
    /// The task whose CI it fixes, and the chain of fixes before.
    pub lineage: Option<Lineage>,
    /// What was learned since it last started from the beginning.
    pub life: Life,
    /// The last claim's number.
    pub generation: Generation,
    /// Whether the forge shows a claim of ours.
    pub claim_shown: bool,
    /// Pilot's labels on the ticket.
    pub labels: Option<LabelsFact>,
    pub comment: Option<CommentFact>,
    /// The last command that came by comment.
    pub last_command: Option<LastCommand>,
    /// Questions without an answer.
    pub questions: BTreeSet<CommentId>,
    /// Those of them that were asked on a pull request, and on which.
    #[serde(default)]
    pub asked_on: BTreeMap<CommentId, PrNumber>,
    /// Questions that were answered, and when: another Pilot may have answered in the same moment.
    #[serde(default)]
    pub answered: BTreeMap<CommentId, Timestamp>,
    /// Messages that were sent to other tasks.
    pub messages_sent: BTreeSet<(TaskKey, MessageKind)>,
    /// Pull requests of earlier lives that are to be closed.
    pub superseded: Vec<PrNumber>,
    /// Branches of earlier lives on which a pull request may have been opened although the reply was lost.
    pub lost: Vec<Branch>,
    /// Actions that failed since they last succeeded, by their lane.
    pub trouble: BTreeMap<Lane, Trouble>,
}

/// What was learned of a task since it last started from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Which life it is, from 0.
    pub number: u32,
    /// The claim, while one is held.
    pub claim: Option<Claim>,
    /// Whether a run started, and no user gave the task up since.
    #[serde(default)]
    pub has_begun: bool,
    /// The last run that is over.
    pub run: Option<Run>,
    /// How many runs count against the number of attempts.
    pub attempts: u32,
    /// How many runs ended because Pilot died. They count for nothing.
    pub abandoned: u32,
    /// The other Pilot that has claimed it.
    pub elsewhere: Option<String>,
    /// What the check of the branch before the first claim found.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "checked")]
    pub branch_found: Option<Option<PrNumber>>,
    /// What is on the forge's branch.
    pub pushed: Option<Pushed>,
    pub pr: Option<TaskPr>,
    /// What CI says about what is on the branch.
    pub ci: Option<CiFacts>,
    /// The ticket that is to fix CI.
    pub fix: Option<Fix>,
    /// Since when, and until when, the merged commit was missing on the base branch.
    pub not_on_base: Option<(Timestamp, Timestamp)>,
    /// The work on the base branch.
    pub landed: Option<Landed>,
    pub cancelled: Option<String>,
    pub paused: Option<String>,
    /// Why it did not fit into the budget when it was last asked.
    #[serde(default)]
    pub short: Option<Shortage>,
    /// Whether Pilot closed the ticket, or found it closed when it wanted to.
    pub ticket_closed: bool,
    /// Whether the branch is gone, or stays for good.
    pub branch_settled: bool,
    /// How it ended, and when.
    pub ended: Option<(Ending, Timestamp)>,
}

/// A claim that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub generation: Generation,
    pub instance: InstanceId,
    pub at: Timestamp,
    /// Whether the forge shows it.
    pub placed: bool,
    /// The hash of the text the run started with, once it has.
    pub started: Option<BodyHash>,
    /// Whether the ticket had no comment then.
    #[serde(default)]
    pub without_comments: bool,
}

/// What is on the forge's branch because Pilot put it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    pub branch: Branch,
    pub sha: Sha,
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
    /// The users whose reviews request changes.
    #[serde(default)]
    pub changes_requested_by: BTreeSet<String>,
}

/// A pull request that reads closed twice, farther apart than this, may have been open in between.
pub(crate) const ONE_CLOSING: Duration = Duration::from_secs(60);

/// A ticket that is to fix the CI of this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    pub ticket: TaskKey,
    /// How many there are now, one after the other.
    pub iteration: u32,
    /// Whether it was given up.
    pub gave_up: bool,
}

/// The task whose CI a task fixes. Known from our own log only: the same words in a ticket's text are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The ticket where it began.
    pub root: TaskKey,
    /// The tickets between that and this one, the root first.
    pub parents: Vec<TaskKey>,
    /// The pull request whose CI failed.
    pub pr: PrNumber,
    /// The branch to continue with.
    pub branch: Branch,
    /// The commit to continue from.
    pub sha: Sha,
    /// Which fix this is, from 1.
    pub iteration: u32,
}

/// The last command that came by comment. A command that was posted before is not obeyed any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCommand {
    pub posted_at: Timestamp,
    /// Every command posted at that moment: ids have no order.
    pub ids: BTreeSet<CommentId>,
}

impl LastCommand {
    /// Whether a comment is newer than every command so far.
    fn is_before(&self, posted_at: Timestamp, id: &CommentId) -> bool {
        self.posted_at < posted_at || (self.posted_at == posted_at && !self.ids.contains(id))
    }

    /// What is the last command after this one.
    pub(super) fn with(before: Option<LastCommand>, posted_at: Timestamp, id: &CommentId) -> LastCommand {
        let same_moment = before.filter(|last| last.posted_at == posted_at);
        let mut ids = same_moment.map(|last| last.ids).unwrap_or_default();
        ids.insert(id.clone());
        LastCommand { posted_at, ids }
    }
}

/// Pilot's labels on a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelsFact {
    /// What was written last.
    pub labels: BTreeSet<String>,
    pub at: Timestamp,
    /// How often something was written.
    pub writes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFact {
    pub id: CommentId,
    /// The fingerprint of its text.
    pub fingerprint: String,
    /// How often it was written.
    pub writes: u32,
}

/// An action that failed since it last succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// How often in a row.
    pub count: u32,
    pub at: Timestamp,
    pub failure: Failure,
    /// Whether, since it last succeeded, it may have happened although the reply was lost.
    pub may_have_happened: bool,
}

/// A check that found nothing is not the same as no check: in JSON the first is null, the other is absent.
fn checked<'de, D: serde::Deserializer<'de>>(found: D) -> Result<Option<Option<PrNumber>>, D::Error> {
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
    pub fn new(project: ProjectId, key: TaskKey) -> TaskFacts {
        TaskFacts {
            project,
            key,
            seq: 0,
            ticket: None,
            gone: false,
            trust: None,
            dependencies: BTreeMap::new(),
            lineage: None,
            life: Life::default(),
            generation: Generation::default(),
            claim_shown: false,
            labels: None,
            comment: None,
            last_command: None,
            questions: BTreeSet::new(),
            asked_on: BTreeMap::new(),
            answered: BTreeMap::new(),
            messages_sent: BTreeSet::new(),
            superseded: Vec::new(),
            lost: Vec::new(),
            trouble: BTreeMap::new(),
        }
    }

    /// The ticket as it was last read.
    pub fn ticket(&self) -> Option<&Ticket> {
        self.ticket.as_ref().map(|(ticket, _)| ticket)
    }

    /// What people call it.
    pub fn title(&self) -> &str {
        self.ticket().map_or("", |ticket| ticket.title.as_str())
    }

    /// Whether the ticket was open when it was last read.
    pub fn is_open(&self) -> bool {
        !self.gone && self.ticket().is_some_and(|ticket| ticket.state == TicketState::Open)
    }

    /// The ticket all of this is about: its own, or the one whose CI it fixes.
    pub fn root(&self) -> TaskKey {
        self.lineage.as_ref().map_or(&self.key, |lineage| &lineage.root).clone()
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

    /// Whether a command counts: from the user of this machine always, from a comment once and if its author is trusted.
    pub(super) fn obeys(&self, command: UserCommand, by: &CommandSource) -> bool {
        match by {
            CommandSource::Operator => true,
            CommandSource::Comment { id, posted_at, trust, .. } => {
                let is_new = self.last_command.as_ref().is_none_or(|last| last.is_before(*posted_at, id));
                let is_asked = command == UserCommand::Why && self.questions.contains(id);
                trust.is_trusted() && is_new && !is_asked
            }
        }
    }
}
