//! From the stage of a task to its actions, and when to query again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::label;
use super::{Action, Hold, Key, Lane, NewFix, NewPr, Query, RunRequest, Stage, StatusComment, Stop};
use crate::ci::{CiFailed, Inconclusive, Verdict};
use crate::dispatch::{ProjectLoad, queued_behind};
use crate::fact::{
    Ending, GivenUp, Landed, Lineage, MessageKind, ONE_CLOSING, ProjectFacts, TaskFacts, TaskMessage,
    Trouble, Work,
};
use crate::id::{Generation, PrNumber, Sha, TaskKey};
use crate::intake;
use crate::observed::FailureKind;
use crate::policy::Policy;
use crate::port::Marker;
use crate::pr;
use crate::time::Timestamp;
use crate::words;

/// Failures in a row after which a person is told.
const STUCK: u32 = 5;

/// The same where trying again cannot help by itself.
const REFUSED: u32 = 3;

/// The waits between tries: the first, doubled each time, up to the last.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LAST_WAIT: Duration = Duration::from_secs(5 * 60);

/// The same for what a person was told of.
const FIRST_STUCK_WAIT: Duration = Duration::from_secs(15 * 60);
const LAST_STUCK_WAIT: Duration = Duration::from_secs(60 * 60);

/// How long a limit without a time is respected.
const LIMIT_WAIT: Duration = Duration::from_secs(60);

/// How soon the forge is asked again whether it could merge.
const MERGEABLE_WAIT: Duration = Duration::from_secs(5);

/// What is decided about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub stage: Stage,
    /// Everything that is to be done, one of a lane.
    pub actions: Vec<Planned>,
    /// What is to be read when it is time.
    pub queries: Vec<Query>,
    /// When that is, or when time alone changes something.
    pub wake: Option<Timestamp>,
}

/// An action that is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub key: Key,
    pub action: Action,
    pub not_before: Timestamp,
}

/// How often a pull request is read while CI runs, at most.
const PR_AGAIN: Duration = Duration::from_secs(10);

/// A decision in the making.
pub(super) struct Plan<'f> {
    task: &'f TaskFacts,
    project: &'f ProjectFacts,
    policy: &'f Policy,
    now: Timestamp,
    actions: Vec<Planned>,
    /// Why the task cannot continue: an action it needs keeps failing.
    stuck: Option<Hold>,
}

impl<'f> Plan<'f> {
    pub(super) fn new(
        task: &'f TaskFacts,
        project: &'f ProjectFacts,
        policy: &'f Policy,
        now: Timestamp,
    ) -> Plan<'f> {
        Plan { task, project, policy, now, actions: Vec::new(), stuck: None }
    }

    pub(super) fn decide(mut self, stage: Stage) -> Decision {
        self.advance(&stage);
        self.clean_up_earlier_lives(&stage);
        let stage = match (self.stuck.take(), stage) {
            (Some(hold), stage) if !matches!(stage, Stage::Ended { .. }) => Stage::Held { hold },
            (_, stage) => stage,
        };
        self.inform_people(&stage);
        let (wake, queries) = match (self.again(&stage), self.label_doubt(&stage)) {
            (Some((wake, queries)), None) => (Some(wake), queries),
            (None, Some(wake)) => (Some(wake), vec![Query::Ticket]),
            (Some((wake, mut queries)), Some(doubt)) => {
                queries.push(Query::Ticket);
                (Some(wake.min(doubt)), queries)
            }
            (None, None) => (None, Vec::new()),
        };
        Decision { stage, actions: self.actions, queries, wake }
    }

    /// What moves the task to its next stage.
    fn advance(&mut self, stage: &Stage) {
        match stage {
            Stage::Claiming { generation } => {
                self.may(Action::PlaceClaim { generation: *generation, task: self.task.key.clone() });
            }
            Stage::Starting { generation } => self.start(*generation),
            Stage::Publishing { work } => self.push(work),
            Stage::Opening { sha } => self.open_pr(sha),
            Stage::Merging { ready } => self.must(Action::Merge(ready.clone())),
            Stage::Failing { pr, failed, iteration } => self.open_fix(*pr, failed, *iteration),
            Stage::Closing { pr, by } => self.close_pr(*pr, None, &words::closed_cancelled(by)),
            Stage::Continued { by } => self.hand_over(by),
            Stage::Ended { ending } => self.tidy_up(ending),
            Stage::Held { hold: Hold::LabelGone | Hold::TicketClosed } if self.task.life.pr.is_none() => {
                self.release();
            }
            Stage::Checking { .. }
            | Stage::Held { .. }
            | Stage::Waiting { .. }
            | Stage::Queued { .. }
            | Stage::Running { .. }
            | Stage::Paused { .. }
            | Stage::Stopping { .. }
            | Stage::AwaitingCi { .. }
            | Stage::Landing { .. } => {}
        }
    }

    /// Closes what earlier lives left open.
    fn clean_up_earlier_lives(&mut self, stage: &Stage) {
        self.find_pr(stage);
        if let Some(old) = self.task.superseded.first() {
            self.close_pr(*old, None, &words::closed_superseded(&self.task.key));
        }
    }

    fn inform_people(&mut self, stage: &Stage) {
        // Another Pilot's ticket is another Pilot's to write on.
        let elsewhere = self.task.life.elsewhere.is_some();
        if let Some(question) = self.task.questions.first().filter(|_| !elsewhere) {
            let load = ProjectLoad { project: self.project, mode: self.policy.mode };
            let behind = queued_behind(&load, self.task, stage, self.now);
            self.may(Action::Reply {
                ticket: self.task.key.clone(),
                pr: self.task.asked_on.get(question).copied(),
                to: question.clone(),
                body: match self.task.refused.get(question) {
                    Some(refusal) => words::refusal(self.task, refusal),
                    None => words::answer(self.task, stage, behind.as_ref(), &self.policy.references),
                },
                marker: Marker::Reply(question.clone()),
            });
        }
        self.answer_once();
        if elsewhere {
            return;
        }
        if let Some(action) = label::labels(self.task, stage, self.policy, self.now) {
            self.may(action);
        }
        self.comment(stage);
    }

    /// Before a claim, another Pilot may have answered a question too. The look comes when reads can no longer be stale, so the
    /// last answer sees every other.
    fn answer_once(&mut self) {
        let task = self.task;
        let status = task.comment.as_ref().and_then(|fact| Some((&fact.id, fact.unclaimed_at?)));
        if let Some((comment, at)) = status {
            let marker = Marker::Status(task.key.clone());
            let action = Action::AnswerOnce { ticket: task.key.clone(), to: comment.clone(), marker };
            self.add(action, at.after(self.policy.settle), false);
        }
        let Some((question, at)) = task.answered.first_key_value() else { return };
        let marker = Marker::Reply(question.clone());
        let action = Action::AnswerOnce { ticket: self.task.key.clone(), to: question.clone(), marker };
        self.add(action, at.after(self.policy.settle), false);
    }

    fn comment(&mut self, stage: &Stage) {
        let known = self.task.comment.as_ref();
        // The first one comes when the run has started: then it is known whether there can be another. Before any claim only
        // what keeps it from starting is said.
        let is_done = matches!(stage, Stage::Ended { ending: Ending::Done(_) });
        let too_early = !(self.task.claim_shown || is_done) || matches!(stage, Stage::Starting { .. });
        let is_silent = match self.task.was_claimed() {
            true => known.is_none() && too_early,
            false => !is_held_by_ticket(stage),
        };
        if is_silent {
            return;
        }
        let Some(body) = words::status(self.task, stage, &self.policy.references) else { return };
        let fingerprint = words::fingerprint(&body);
        // After a write whose reply was lost, the comment may have either text.
        let doubt = self.task.trouble.get(&Lane::Comment).is_some_and(|trouble| trouble.may_have_happened);
        if known.is_none_or(|known| known.fingerprint != fingerprint || doubt) {
            self.may(Action::Comment {
                ticket: self.task.key.clone(),
                known: match known {
                    Some(known) => StatusComment::Written(known.id.clone()),
                    None if self.is_without_comments() && !doubt => StatusComment::Absent,
                    None => StatusComment::Unknown,
                },
                body,
                marker: Marker::Status(self.task.key.clone()),
                fingerprint,
                writes: known.map_or(0, |known| known.writes),
            });
        }
    }

    /// Whether the ticket had no comment when this claim's run started: then there is none of ours to find.
    fn is_without_comments(&self) -> bool {
        self.task.life.claim.as_ref().is_some_and(|claim| claim.without_comments)
    }

    fn start(&mut self, generation: Generation) {
        if let Some(ticket) = self.task.ticket() {
            self.may(Action::StartRun(RunRequest::new(self.task, generation, ticket.body.hash.clone())));
        }
    }

    fn push(&mut self, work: &Work) {
        let task = self.task;
        let before = task.life.pushed.as_ref().map(|pushed| &pushed.sha);
        let selected = task.selected_branch().map(|_| &work.base);
        let expect = before.or(task.lineage.as_ref().map(|lineage| &lineage.sha)).or(selected).cloned();
        self.must(Action::Push { branch: task.branch(), sha: work.sha.clone(), expect });
    }

    fn open_pr(&mut self, sha: &Sha) {
        let task = self.task;
        // A task has one open pull request.
        if !task.superseded.is_empty() || !task.lost.is_empty() {
            return;
        }
        let body = words::pr_body(task, self.policy);
        self.must(Action::OpenPr(NewPr {
            branch: task.branch(),
            base: self.policy.base.clone(),
            sha: sha.clone(),
            title: words::pr_title(task.title()),
            body,
            marker: Marker::Task(task.key.clone()),
        }));
    }

    fn open_fix(&mut self, pr: PrNumber, failed: &CiFailed, iteration: u32) {
        let task = self.task;
        self.must(Action::OpenFix(NewFix {
            ticket: task.key.clone(),
            title: words::pr_title(task.title()),
            pr,
            branch: task.branch(),
            iteration,
            failed: failed.clone(),
            label: self.policy.label.clone(),
        }));
    }

    /// The pull request is closed, and only then the fix gets its lineage: what it pushes to the same branch must not find the
    /// old one open.
    fn hand_over(&mut self, by: &TaskKey) {
        let task = self.task;
        let (Some(pr), Some(pushed), Some(fix)) = (&task.life.pr, &task.life.pushed, &task.life.fix) else {
            return;
        };
        let mut parents = task.lineage.as_ref().map_or_else(Vec::new, |lineage| lineage.parents.clone());
        parents.push(task.key.clone());
        let lineage = Lineage {
            root: task.root(),
            parents,
            pr: pr.pr.number,
            branch: pushed.branch.clone(),
            sha: pushed.sha.clone(),
            iteration: fix.iteration,
        };
        if self.close_failed_pr(by) || self.send(by, TaskMessage::Adopted(lineage)) {
            return;
        }
        // That the ticket is gone is one answer, and may be a wrong one: nothing is closed because of it.
        let let_go = match super::step::stop(task, self.policy) {
            Some(Stop::Cancelled { .. }) => true,
            Some(Stop::LabelGone | Stop::TicketClosed) => !task.gone,
            Some(Stop::NotAdmitted) | None => false,
        };
        if let_go {
            self.send(by, TaskMessage::LetGo);
        }
        if task.life.passes_on_retry {
            self.must(Action::SendMessage { to: by.clone(), message: TaskMessage::Retry });
        }
    }

    /// The pull request whose CI failed makes room for the next, unless others pushed to it meanwhile. Returns whether it is
    /// yet to be closed.
    fn close_failed_pr(&mut self, fix: &TaskKey) -> bool {
        let life = &self.task.life;
        let (Some(known), Some(pushed)) = (&life.pr, &life.pushed) else { return false };
        let planned = known.may_be_open() && known.pr.head == pushed.sha;
        if planned {
            self.close_pr(
                known.pr.number,
                Some(&pushed.sha),
                &words::closed_for_fix(fix, &self.policy.references),
            );
        }
        planned
    }

    fn tidy_up(&mut self, ending: &Ending) {
        match ending {
            Ending::Done(landed) => self.tidy_up_done(landed),
            Ending::GivenUp(why) => {
                self.report_gave_up();
                self.restart_root();
                self.push_failed();
                if let GivenUp::FixGivenUp { ticket } = why {
                    self.close_failed_pr(ticket);
                }
            }
            Ending::Cancelled { by } => {
                self.report_gave_up();
                self.restart_root();
                self.close_late_pr(by);
                self.release();
            }
        }
    }

    /// Shows people the work of a run that failed.
    fn push_failed(&mut self) {
        if let Some((branch, sha)) = self.task.failed_work()
            && self.policy.push_failed
            && self.task.life.failed_branch.is_none()
        {
            self.may(Action::Push { branch, sha: sha.clone(), expect: None });
        }
    }

    /// A pull request that was being opened when the task was cancelled is closed when it is known.
    fn close_late_pr(&mut self, by: &str) {
        if let Some(known) = self.task.life.pr.as_ref().filter(|known| known.may_be_open()) {
            self.close_pr(known.pr.number, None, &words::closed_cancelled(by));
        }
    }

    /// Searches for a pull request that may have been opened although the reply was lost, in this life or an earlier one.
    fn find_pr(&mut self, stage: &Stage) {
        let task = self.task;
        let doubt = task.trouble.get(&Lane::Pr).is_some_and(|trouble| trouble.may_have_happened);
        let opening = matches!(stage, Stage::Opening { .. });
        let own = (doubt && !opening && task.life.pr.is_none()).then(|| task.branch());
        if let Some(branch) = task.lost.first().cloned().or(own) {
            self.must(Action::FindPr { branch, marker: Marker::Task(task.key.clone()) });
        }
    }

    fn tidy_up_done(&mut self, landed: &Landed) {
        let task = self.task;
        for parent in task.lineage.iter().flat_map(|lineage| lineage.parents.iter().rev()) {
            self.send(parent, TaskMessage::Landed(landed.clone()));
        }
        if let Some(fix) = task.life.fix.as_ref().filter(|_| task.merged().is_some()) {
            self.send(&fix.ticket, TaskMessage::LetGo);
        }
        if !task.life.ticket_closed {
            self.may(Action::CloseTicket { ticket: task.key.clone(), landed: landed.clone() });
        }
        // The task whose pull request was merged deletes the branch.
        if let Some(pushed) = task.life.pushed.as_ref().filter(|_| task.merged().is_some())
            && !task.life.branch_settled
        {
            self.may(Action::DeleteBranch {
                branch: pushed.branch.clone(),
                sha: pushed.sha.clone(),
                landed: landed.clone(),
            });
        }
        // Another Pilot that still reads the ticket as open must find the claim.
        if task.life.ticket_closed {
            self.release();
        }
    }

    fn report_gave_up(&mut self) {
        let task = self.task;
        if let Some(parent) = task.lineage.as_ref().and_then(|lineage| lineage.parents.last()) {
            self.send(parent, TaskMessage::GaveUp { ticket: task.key.clone() });
        }
    }

    fn restart_root(&mut self) {
        let task = self.task;
        if let Some(lineage) = task.lineage.as_ref().filter(|_| task.life.restarts_root) {
            self.send(&lineage.root, TaskMessage::Restart { branch: lineage.branch.clone() });
        }
    }

    /// Plans a message, unless it was sent; returns whether it is planned.
    fn send(&mut self, to: &TaskKey, message: TaskMessage) -> bool {
        let about: MessageKind = message.kind();
        let planned = !self.task.messages_sent.contains(&(to.clone(), about));
        if planned {
            self.must(Action::SendMessage { to: to.clone(), message });
        }
        planned
    }

    fn close_pr(&mut self, pr: PrNumber, head: Option<&Sha>, words: &str) {
        let (comment, marker) = (words.to_owned(), Marker::Closed(pr));
        self.must(Action::ClosePr { pr, head: head.cloned(), comment, marker });
    }

    /// Releases the claim ref (also when we never got the reply that it exists), but not before `settle`: until then a stale
    /// read elsewhere could show the task as unclaimed.
    fn release(&mut self) {
        let task = self.task;
        let perhaps_shown = task.trouble.get(&Lane::Claim).is_some_and(|trouble| trouble.may_have_happened);
        if task.claim_shown || perhaps_shown {
            let ended = task.life.ended.as_ref().map_or(self.now, |(_, at)| at.after(self.policy.settle));
            let action = Action::ReleaseClaim { generation: task.generation, task: task.key.clone() };
            self.add(action, ended, false);
        }
    }

    /// Plans an action the task cannot continue without.
    fn must(&mut self, action: Action) {
        self.add(action, self.now, true);
    }

    /// Plans an action whose failure holds nothing up.
    fn may(&mut self, action: Action) {
        self.add(action, self.now, false);
    }

    fn add(&mut self, action: Action, earliest: Timestamp, needed: bool) {
        let key = action.key();
        if self.actions.iter().any(|planned| planned.key.lane() == key.lane()) {
            return;
        }
        let mut not_before = earliest;
        if let Some(trouble) = self.task.trouble.get(&key.lane()) {
            let stuck = is_stuck(trouble);
            not_before = earliest.max(self.retry_at(&action, trouble, stuck));
            if stuck && needed && self.stuck.is_none() {
                let (lane, failure) = (key.lane(), trouble.failure.clone());
                self.stuck = Some(Hold::Trouble { lane, failure });
            }
        }
        self.actions.push(Planned { key, action, not_before });
    }

    fn retry_at(&self, action: &Action, trouble: &Trouble, stuck: bool) -> Timestamp {
        retry_at(action.doubles(), trouble, stuck, self.policy)
    }

    /// When to read the ticket again because its labels are not as they were written, and that may have been a stale read.
    fn label_doubt(&self, stage: &Stage) -> Option<Timestamp> {
        let (fact, (ticket, read)) = (self.task.labels.as_ref()?, self.task.ticket.as_ref()?);
        let believed = fact.at.after(self.policy.settle);
        let ours = self.task.claim_shown && !matches!(stage, Stage::Ended { .. });
        (ours && *read <= believed && label::ours(ticket) != fact.labels).then(|| believed.max(self.now))
    }

    /// When to query again, and what.
    fn again(&self, stage: &Stage) -> Option<(Timestamp, Vec<Query>)> {
        let (task, now) = (self.task, self.now);
        match stage {
            Stage::Checking { queries } => Some((now, queries.clone())),
            Stage::Held { hold } => intake::again(hold, task, self.policy, now),
            Stage::Waiting { until, .. } => Some((*until, Vec::new())),
            Stage::AwaitingCi { pr, sha, verdict } => Some(self.again_for_ci(*pr, sha, verdict)),
            Stage::Merging { ready } => {
                let queries = vec![Query::Pr { pr: ready.pr() }];
                Some((now.after(self.policy.ci.poll_interval), queries))
            }
            Stage::Landing { commit, .. } => {
                let next = task.life.not_on_base.map(|(_, last)| last.after(self.policy.poll_interval));
                Some((next.unwrap_or(now).max(now), vec![Query::Base { commit: commit.clone() }]))
            }
            Stage::Continued { .. } => {
                let pr = task.life.pr.as_ref().filter(|known| known.may_be_open())?;
                Some((now.after(4 * self.policy.poll_interval), vec![Query::Pr { pr: pr.pr.number }]))
            }
            Stage::Queued { .. }
            | Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
            | Stage::Paused { .. }
            | Stage::Stopping { .. }
            | Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Ended { .. } => None,
        }
    }

    /// CI is read again and again; the pull request where it matters, and now and then: its answer is about the repository too,
    /// so it is never unchanged.
    fn again_for_ci(&self, pr: PrNumber, sha: &Sha, verdict: &Verdict) -> (Timestamp, Vec<Query>) {
        let (task, now) = (self.task, self.now);
        let (look_at_pr, look_at_ci) = (Query::Pr { pr }, Query::Ci { sha: sha.clone() });
        let both = vec![look_at_pr.clone(), look_at_ci.clone()];
        let interval = self.policy.ci.poll_interval;
        if let Some((since, last)) = task.life.pr.as_ref().and_then(|known| known.closed) {
            let due = since.after(pr::closed_for(self.policy)).min(last.after(ONE_CLOSING / 2));
            return (due.max(now), vec![look_at_pr]);
        }
        match verdict {
            Verdict::Unknown(Inconclusive::NotRead) => {
                // Nothing runs sooner than this.
                let pushed = task.life.pushed.as_ref().map_or(now, |pushed| pushed.at);
                (pushed.after(interval).max(now), vec![look_at_ci])
            }
            Verdict::Unknown(Inconclusive::NotMergeableYet) => {
                (now.after(MERGEABLE_WAIT.min(interval)), vec![look_at_pr])
            }
            Verdict::Unknown(Inconclusive::Unconfirmed) => {
                let since = task.life.ci.as_ref().map_or(now, |ci| ci.since);
                let due = since.after(interval).max(now);
                if task.life.pr.as_ref().is_some_and(|known| known.pr.head != *sha) {
                    return (due.max(now.after(MERGEABLE_WAIT.min(interval))), both);
                }
                (due, vec![look_at_ci])
            }
            Verdict::Pending { .. } | Verdict::Unknown(Inconclusive::Discovering) => {
                let next = now.after(interval);
                let also_pr = now.is_apart(next, (4 * self.policy.poll_interval).max(PR_AGAIN));
                (next, if also_pr { both } else { vec![look_at_ci] })
            }
            Verdict::Unknown(
                Inconclusive::NoChecks
                | Inconclusive::RequiredUnknown
                | Inconclusive::Undecided { .. }
                | Inconclusive::NothingRan,
            )
            | Verdict::Passed(_)
            | Verdict::Failed(_) => (now.after(interval), both),
        }
    }
}

/// Whether something about the ticket itself keeps it from starting, which a person can change.
fn is_held_by_ticket(stage: &Stage) -> bool {
    let Stage::Held { hold } = stage else { return false };
    match hold {
        Hold::Bot { .. }
        | Hold::Untrusted { .. }
        | Hold::TrustUnknown { .. }
        | Hold::DependsOn { .. }
        | Hold::DependsOnItself
        | Hold::DependencyMissing { .. }
        | Hold::DependencyUnread { .. }
        | Hold::OpenPr { .. }
        | Hold::Budget { .. } => true,
        Hold::TicketClosed
        | Hold::LabelGone
        | Hold::Paused { .. }
        | Hold::ProjectPaused { .. }
        | Hold::UnknownFix
        | Hold::ClaimedElsewhere { .. }
        | Hold::Breaker { .. }
        | Hold::MergeConflict { .. }
        | Hold::HeadMoved { .. }
        | Hold::CiLate { .. }
        | Hold::CiKeepsFailing { .. }
        | Hold::ChangesRequested { .. }
        | Hold::ReviewFindings { .. }
        | Hold::WithdrawnTooOften { .. }
        | Hold::AwaitsMerge { .. }
        | Hold::NotOnBase { .. }
        | Hold::Trouble { .. } => false,
    }
}

/// Whether a person should know: it failed too often in a row.
pub(crate) fn is_stuck(trouble: &Trouble) -> bool {
    let most = if trouble.failure.kind.passes_by_itself() { STUCK } else { REFUSED };
    trouble.count >= most && trouble.failure.kind != FailureKind::Interrupted
}

/// When an action that failed is retried. One that would be done twice waits until reads can no longer be stale.
pub(crate) fn retry_at(doubles: bool, trouble: &Trouble, stuck: bool, policy: &Policy) -> Timestamp {
    let doubled = |first: Duration, times: u32, last: Duration| (first * 2_u32.pow(times.min(8))).min(last);
    let wait = doubled(FIRST_WAIT, trouble.count.saturating_sub(1), LAST_WAIT);
    let long_wait = doubled(FIRST_STUCK_WAIT, trouble.count.saturating_sub(REFUSED), LAST_STUCK_WAIT);
    let at = match trouble.failure.kind {
        FailureKind::Interrupted => trouble.at,
        FailureKind::RateLimited => trouble.failure.retry_at.unwrap_or(trouble.at.after(LIMIT_WAIT)),
        FailureKind::NotSent | FailureKind::Lost | FailureKind::Server => trouble.at.after(wait),
        // A token that is renewed, or a forge that recovers, needs no command to continue.
        FailureKind::Unauthorised => trouble.at.after(wait.min(LIMIT_WAIT)),
        FailureKind::Forbidden | FailureKind::NotFound | FailureKind::Conflict | FailureKind::Refused => {
            trouble.at.after(if stuck { long_wait } else { wait })
        }
    };
    if doubles { at.max(trouble.at.after(policy.settle)) } else { at }
}

/// The names of a set, for a key or a sentence.
pub(crate) fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
