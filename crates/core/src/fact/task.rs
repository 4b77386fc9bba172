//! Everything known of a task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CommandSource, Ending, Landed, MessageKind, Refusal, Run, RunPause, UserCommand, Work};
use crate::budget::Shortage;
use crate::ci::CiFacts;
use crate::id::{BodyHash, Branch, CommentId, Generation, InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use crate::observed::{AuthorKind, DependencyState, Failure, Pr, PrState, Ticket, TicketState, Trust};
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
    /// Comments whose answer says why nothing came of them.
    #[serde(default)]
    pub refused: BTreeMap<CommentId, Refusal>,
    /// Accounts without rights that were told so.
    #[serde(default)]
    pub turned_away: BTreeSet<String>,
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

/// So many accounts without rights are told so on one task: a stranger must not make Pilot write without end.
const MOST_TURNED_AWAY: usize = 5;

/// What becomes of a command.
pub(super) enum CommandVerdict {
    Obeyed,
    Refused(Refusal),
    /// It was read before, or its author was told already.
    Ignored,
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
    /// The last claim whose run was stopped because a user removed the label or closed the ticket, and how many such runs
    /// there were.
    #[serde(default)]
    pub withdrawn: Option<(Generation, u32)>,
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
    /// Whether a retry is to be passed on to the fix that continues with the work.
    #[serde(default)]
    pub passes_on_retry: bool,
    /// Whether a fix ends so that its root starts again.
    #[serde(default)]
    pub restarts_root: bool,
    pub paused: Option<String>,
    /// The branch that the ticket selected when it was claimed.
    #[serde(default)]
    pub selected: Option<Branch>,
    /// The branch with the work of the run that failed, once it is pushed.
    #[serde(default)]
    pub failed_branch: Option<Branch>,
    /// The findings of Pilot's own review that a person lets pass.
    #[serde(default)]
    pub waived: Option<Waiver>,
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

/// A person's word that the open findings on a commit do not hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    pub by: String,
    pub sha: Sha,
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
    /// Why the run waits for a person, while it does.
    #[serde(default)]
    pub pause: Option<RunPause>,
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
    /// When it was written without a claim: another Pilot may have written one too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclaimed_at: Option<Timestamp>,
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
            refused: BTreeMap::new(),
            turned_away: BTreeSet::new(),
            answered: BTreeMap::new(),
            messages_sent: BTreeSet::new(),
            superseded: Vec::new(),
            lost: Vec::new(),
            trouble: BTreeMap::new(),
        }
    }

    /// Whether this Pilot ever claimed it.
    pub fn was_claimed(&self) -> bool {
        self.generation != Generation::default()
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
            None => match self.selected_branch() {
                Some(selected) => selected.clone(),
                None => Branch::of_task(&self.key, self.life.number),
            },
        }
    }

    /// The branch that its ticket selects. Once it is claimed, an edit of the ticket changes it no more.
    pub fn selected_branch(&self) -> Option<&Branch> {
        if self.lineage.is_some() {
            return None;
        }
        if self.life.claim.is_some() || self.life.run.is_some() {
            return self.life.selected.as_ref();
        }
        let ticket = self.ticket().filter(|ticket| ticket.author.kind == AuthorKind::Me)?;
        ticket.body.branch.as_ref()
    }

    /// Which fix of CI it is; 0 for a task that is none.
    pub fn iteration(&self) -> u32 {
        self.lineage.as_ref().map_or(0, |lineage| lineage.iteration)
    }

    /// The work of the last run, if that completed.
    pub fn work(&self) -> Option<&Work> {
        self.life.run.as_ref().and_then(Run::work)
    }

    /// The work of the last run, if that did not complete and left some, with the branch to push it to.
    pub fn failed_work(&self) -> Option<(Branch, &Sha)> {
        let run = self.life.run.as_ref()?;
        let sha = run.evidence()?.sha.as_ref()?;
        Some((Branch::of_failed(&self.key, run.generation), sha))
    }

    /// Whether a command is too late: the task is over, and only a retry of what did not land starts again.
    pub fn is_over_for(&self, command: UserCommand) -> bool {
        match (&self.life.ended, command) {
            (None, _) | (Some(_), UserCommand::Why) => false,
            (Some((Ending::Done(_), _)), _) => true,
            (Some((Ending::GivenUp(_) | Ending::Cancelled { .. }, _)), command) => {
                command != UserCommand::Retry
            }
        }
    }

    /// What becomes of a command, or of none that was understood: from the user of this machine it always counts, from a comment
    /// once and if its author is trusted.
    pub(super) fn judge_command(
        &self,
        command: Result<UserCommand, &str>,
        by: &CommandSource,
    ) -> CommandVerdict {
        let refusal = match command {
            Ok(command) if self.is_over_for(command) => Some(Refusal::Over { command }),
            Ok(_) => None,
            Err(words) => Some(Refusal::Unknown { words: words.to_owned() }),
        };
        match by {
            // The user of this machine is told by the command itself.
            CommandSource::Operator if refusal.is_some() => CommandVerdict::Ignored,
            CommandSource::Operator => CommandVerdict::Obeyed,
            CommandSource::Comment { login, trust, .. } if !trust.is_trusted() => {
                let is_told = self.turned_away.contains(login) || self.turned_away.len() >= MOST_TURNED_AWAY;
                match is_told {
                    true => CommandVerdict::Ignored,
                    false => CommandVerdict::Refused(Refusal::NoRights { login: login.clone() }),
                }
            }
            CommandSource::Comment { id, posted_at, .. } => {
                let is_new = self.last_command.as_ref().is_none_or(|last| last.is_before(*posted_at, id));
                match refusal {
                    _ if !is_new || self.questions.contains(id) => CommandVerdict::Ignored,
                    Some(refusal) => CommandVerdict::Refused(refusal),
                    None => CommandVerdict::Obeyed,
                }
            }
        }
    }
}
