//! One turn: something happened, or time passed; everything that follows from it, to be written in one transaction.
//!
//! A turn is data. Loading, applying and performing need no decision: [`turn`] says what the new facts are, what goes into the log,
//! what comes into and out of the outbox, which claim is taken or ended, and whether a run may begin once all of that is
//! written. Must never know how anything is written.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fact::{
    Active, ProjectEvent, ProjectFacts, RunEnding, TaskEvent, TaskFacts, Unfunded, Unreleased,
};
use crate::id::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use crate::intake;
use crate::observed::TouchedPaths;
use crate::policy::Policy;
use crate::release;
use crate::task::{Action, Decision, Hold, Key, Lane, Planned, Query, RunRequest, Stage, step, stop};
use crate::time::Timestamp;
use crate::words;

/// How long an action waits that was done and is wanted again.
const AGAIN: Duration = Duration::from_secs(30);

/// A task and its project as they are stored, with the versions that show whether another process wrote since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub task: TaskFacts,
    /// How often they were written; 0 for an unknown task.
    pub task_version: u64,
    pub stage: Option<Stage>,
    /// The task's actions that are not settled.
    pub open: Vec<OpenEntry>,
    pub project: LoadedProject,
}

/// A project as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedProject {
    pub facts: ProjectFacts,
    /// How often they were written; 0 for an unknown project.
    pub version: u64,
    /// When time alone changes something.
    pub wake: Option<Timestamp>,
    /// The project's own actions that are not settled.
    pub open: Vec<OpenEntry>,
}

/// An action in the outbox that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEntry {
    /// What it is known by.
    pub key: Key,
    /// Not to be begun earlier.
    pub not_before: Timestamp,
    /// Whether it is being performed.
    pub taken: bool,
}

/// Something that happened to a task, and the action it is the result of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub event: TaskEvent,
    /// The action that is settled by it, or that failed.
    pub settles: Option<Key>,
}

/// The same for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectInput {
    pub event: ProjectEvent,
    /// The action that is settled by it, or that failed.
    pub settles: Option<Key>,
}

/// Everything that is to be written, or nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What becomes of the project.
    pub project: ProjectChange,
    /// What becomes of the task, if it is about one.
    pub task: Option<TaskChange>,
}

/// What becomes of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectChange {
    /// Its facts from now on.
    pub facts: ProjectFacts,
    /// What their version must still be.
    pub version: u64,
    /// Whether they differ from before.
    pub changed: bool,
    /// When time alone changes something.
    pub wake: Option<Timestamp>,
    /// What comes into and out of the outbox.
    pub outbox: Vec<OutboxChange>,
    /// What goes into the log.
    pub log: Vec<ProjectEntry>,
}

/// What becomes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// Its facts from now on.
    pub facts: TaskFacts,
    /// What their version must still be.
    pub version: u64,
    /// Where it stands from now on.
    pub stage: Stage,
    /// Whether that differs from before.
    pub moved: bool,
    /// What is to be looked at when it is time.
    pub queries: Vec<Query>,
    /// When it is time.
    pub wake: Option<Timestamp>,
    /// What comes into and out of the outbox.
    pub outbox: Vec<OutboxChange>,
    /// What goes into the log.
    pub log: Vec<Entry>,
    /// A claim that is taken or ended.
    pub claim: Option<ClaimChange>,
    /// The claim without which nothing of this may be written.
    pub fence: Option<Generation>,
    /// The run that may begin once this is written.
    pub run: Option<RunRequest>,
}

/// A line of a task's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number within the task.
    pub seq: u64,
    pub at: Timestamp,
    /// What happened; nothing where only time passed.
    pub event: Option<TaskEvent>,
    /// The action that was settled by it, or that failed.
    pub settles: Option<Key>,
    /// Where the task stands because of it, where that is message.
    pub stage: Option<Stage>,
}

/// A line of a project's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectEntry {
    /// Its number within the project.
    pub seq: u64,
    pub at: Timestamp,
    pub event: ProjectEvent,
    /// The action that was settled by it, or that failed.
    pub settles: Option<Key>,
}

/// A change of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxChange {
    /// An action is done.
    Settle(Key),
    /// An action is given back, to be done later.
    Release(Key),
    /// An action is to be done; also one that was done before and is to be done again.
    Plan(Planned),
    /// An action is to be done at another time.
    Reschedule(Key, Timestamp),
    /// An action is not to be done any more.
    Withdraw(Key),
}

/// A claim that is taken or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimChange {
    /// Taken: refused when there is one of this number.
    Take {
        generation: Generation,
        home: HomeId,
        /// By which start of it.
        instance: InstanceId,
    },
    End {
        generation: Generation,
    },
}

impl Turn {
    /// Whether there is anything to write. When only the time of the next look changed, there is not: it can be kept in mind,
    /// and a restart queries at everything anyway.
    pub fn writes(&self) -> bool {
        let project = &self.project;
        let of_project = project.changed || !project.outbox.is_empty() || !project.log.is_empty();
        let of_task = self.task.as_ref().is_some_and(|task| {
            task.moved || !task.log.is_empty() || !task.outbox.is_empty() || task.claim.is_some()
        });
        of_project || of_task
    }

    pub fn project_id(&self) -> &ProjectId {
        &self.project.facts.id
    }

    /// The task, if it is about one.
    pub fn task_key(&self) -> Option<&TaskKey> {
        self.task.as_ref().map(|task| &task.facts.key)
    }
}

/// What follows when something happened to a task, or when time passed.
pub fn turn(loaded: &Loaded, input: Option<&Input>, policy: &Policy, now: Timestamp) -> Turn {
    let input = input
        .filter(|input| input.settles.is_some() || loaded.task.is_news(&input.event, policy))
        .filter(|input| !is_late_claim(loaded, &input.event));
    let (before, mut task, mut project) = (&loaded.task, loaded.task.clone(), loaded.project.facts.clone());
    let mut log = Vec::new();
    if let Some(input) = input {
        fold(&mut task, input, now);
        tell_project(&mut project, before, &task, input, now);
        log.push(entry(&task, now, Some(input.event.clone()), input.settles.clone()));
    }
    let decision = decide(&mut task, &mut project, policy, now, &mut log);
    let moved = loaded.stage.as_ref() != Some(&decision.stage);
    if moved {
        match log.last_mut() {
            Some(last) => last.stage = Some(decision.stage.clone()),
            None => {
                task.seq = task.seq.saturating_add(1);
                let stage = Some(decision.stage.clone());
                log.push(Entry { stage, ..entry(&task, now, None, None) });
            }
        }
    }
    let settled = input.and_then(|input| {
        let failed = matches!(input.event, TaskEvent::Failed { .. });
        input.settles.as_ref().map(|key| (key, failed))
    });
    let change = TaskChange {
        version: loaded.task_version,
        moved,
        outbox: outbox(&loaded.open, settled, decision.actions, policy.settle, now),
        claim: claim_change(before, &task, input),
        fence: fence(before, input),
        run: run_order(before, &task, &decision.stage, input),
        stage: decision.stage,
        queries: decision.queries,
        wake: decision.wake,
        log,
        facts: task,
    };
    let project = project_change(&loaded.project, project, None, Vec::new(), policy, now);
    Turn { project, task: Some(change) }
}

/// What follows when something happened to a project, or when time passed.
pub fn project_turn(
    loaded: &LoadedProject,
    input: Option<&ProjectInput>,
    policy: &Policy,
    now: Timestamp,
) -> Turn {
    let input = input.filter(|input| input.settles.is_some() || loaded.facts.is_news(&input.event));
    let mut facts = loaded.facts.clone();
    let mut log = Vec::new();
    let mut settled = None;
    if let Some(input) = input {
        facts.fold(now, &input.event);
        let failed = matches!(input.event, ProjectEvent::Failed { .. });
        if let Some(key) = &input.settles {
            if !failed {
                facts.settled(key);
            }
            settled = Some((key, failed));
        }
        let (event, settles) = (input.event.clone(), input.settles.clone());
        log.push(ProjectEntry { seq: facts.seq, at: now, event, settles });
    }
    Turn { project: project_change(loaded, facts, settled, log, policy, now), task: None }
}

/// Whether this claims a task that is not queued any more: the queue was read before another claim, and
/// the task after it.
fn is_late_claim(loaded: &Loaded, event: &TaskEvent) -> bool {
    matches!(event, TaskEvent::Claimed { .. }) && !matches!(loaded.stage, Some(Stage::Queued { .. }))
}

fn fold(task: &mut TaskFacts, input: &Input, now: Timestamp) {
    task.fold(now, &input.event);
    if let Some(key) = &input.settles
        && !matches!(input.event, TaskEvent::Failed { .. })
    {
        task.settled(key);
    }
}

fn entry(task: &TaskFacts, at: Timestamp, event: Option<TaskEvent>, settles: Option<Key>) -> Entry {
    Entry { seq: task.seq, at, event, settles, stage: None }
}

/// The decision, with what it settles by itself written down: the end of a life, and a claim that nothing ran under.
fn decide(
    task: &mut TaskFacts,
    project: &mut ProjectFacts,
    policy: &Policy,
    now: Timestamp,
    log: &mut Vec<Entry>,
) -> Decision {
    let mut decision = step(task, project, policy, now);
    while let Some(event) = settles_itself(task, &decision.stage) {
        task.fold(now, &event);
        log.push(entry(task, now, Some(event), None));
        decision = step(task, project, policy, now);
    }
    set_active(project, task, &decision.stage, policy);
    set_unfunded(project, task, &decision.stage);
    decision
}

/// Each of these makes itself impossible, so there is an end to them.
fn settles_itself(task: &TaskFacts, stage: &Stage) -> Option<TaskEvent> {
    match (stage, &task.life.claim, &task.life.ended) {
        (Stage::Ended { ending }, _, None) => Some(TaskEvent::Ended { ending: ending.clone() }),
        (Stage::Stopping { generation, .. }, Some(claim), _) if claim.started.is_none() => {
            Some(TaskEvent::Unclaimed { generation: *generation })
        }
        (Stage::Held { hold: Hold::LabelGone | Hold::TicketClosed }, None, _)
            if task.life.has_begun && task.work().is_none() =>
        {
            Some(TaskEvent::TurnGivenBack)
        }
        (_, _, _) => None,
    }
}

/// What a project learns from what happened to one of its tasks.
fn tell_project(
    project: &mut ProjectFacts,
    before: &TaskFacts,
    after: &TaskFacts,
    input: &Input,
    now: Timestamp,
) {
    if let TaskEvent::RunEnded { generation, ending } = &input.event
        && before.life.claim.as_ref().is_some_and(|claim| claim.generation == *generation)
    {
        match ending {
            RunEnding::Completed(_) => project.run_ended(now, None),
            RunEnding::Stopped { class, .. } => project.run_ended(now, Some(*class)),
            RunEnding::OverBudget { .. } => {}
        }
    }
    if before.life.fix.is_none() && after.life.fix.is_some() {
        project.ticket_opened(now);
    }
    if before.merged().is_none() && after.merged().is_some() {
        project.merged(now);
    }
    if before.life.landed.is_none()
        && let (Some(landed), Some(_)) = (&after.life.landed, after.merged())
    {
        project.landed(Unreleased {
            commit: landed.commit().clone(),
            pr: landed.pr(),
            title: words::pr_title(after.title()),
            at: now,
        });
    }
}

/// Updates whether others wait for the task: while it is worked on, and until it is merged or given up.
fn set_active(project: &mut ProjectFacts, task: &TaskFacts, stage: &Stage, policy: &Policy) {
    project.active.remove(&task.key);
    project.held.remove(&task.key);
    project.withdrawn.remove(&task.key);
    if is_withdrawn(task, stage, policy) {
        project.withdrawn.insert(task.key.clone(), task.root());
    }
    let paused = matches!(stage, Stage::Held { hold: Hold::ProjectPaused { .. } }) && task.work().is_some();
    let is_active = stage.is_active() || paused;
    let waits_for = match (is_active, keeps_turn(task, stage)) {
        (true, _) => &mut project.active,
        (false, true) => &mut project.held,
        (false, false) => return,
    };
    let paths = task.ticket().map_or(TouchedPaths::Unknown, |ticket| ticket.body.paths.clone());
    let opened = task.life.pr.as_ref().map(|pr| pr.opened);
    let finished = task.life.run.as_ref().filter(|_| !stage.is_active()).map(|run| run.at);
    let since = opened.or(finished);
    let until = policy.pr_wait.zip(since).map_or(Timestamp(i64::MAX), |(wait, since)| since.after(wait));
    let hold = if let Stage::Held { hold } = stage { Some(hold.clone()) } else { None };
    let (running, has_work) = (stage.is_running(), task.work().is_some());
    let active = Active { root: task.root(), paths, running, until, has_work, hold };
    waits_for.insert(task.key.clone(), active);
}

/// Updates whether the task waits for the budget.
fn set_unfunded(project: &mut ProjectFacts, task: &TaskFacts, stage: &Stage) {
    project.unfunded.remove(&task.key);
    if let (Stage::Held { hold: Hold::Budget { .. } }, Some(shortage), Some(ticket)) =
        (stage, &task.life.short, task.ticket())
    {
        let rank = intake::rank(task, ticket);
        project.unfunded.insert(task.key.clone(), Unfunded { rank, shortage: shortage.clone() });
    }
}

/// Whether a user gave up a chain of fixes by one of its tickets.
fn is_withdrawn(task: &TaskFacts, stage: &Stage, policy: &Policy) -> bool {
    let is_given_back = matches!(stage, Stage::Held { hold: Hold::LabelGone | Hold::TicketClosed });
    let is_continued = matches!(stage, Stage::Continued { .. });
    (is_given_back && task.lineage.is_some()) || (is_continued && stop(task, policy).is_some())
}

/// Whether a task that is not worked on keeps its turn: it began, and is neither merged nor given up. A user who removes the
/// label or closes the ticket gives it up. What has no result yet and may not start again because of its ticket gives its
/// turn back: it may depend on a task that waits for it.
fn keeps_turn(task: &TaskFacts, stage: &Stage) -> bool {
    let has_begun = task.work().is_some() || task.life.has_begun;
    match stage {
        Stage::Held { hold } => match hold {
            Hold::LabelGone | Hold::TicketClosed | Hold::NotOnBase { .. } => false,
            Hold::MergeConflict { .. }
            | Hold::ChangesRequested { .. }
            | Hold::HeadMoved { .. }
            | Hold::CiLate { .. }
            | Hold::CiKeepsFailing { .. }
            | Hold::AwaitsMerge { .. } => true,
            Hold::Paused { .. }
            | Hold::ProjectPaused { .. }
            | Hold::Breaker { .. }
            | Hold::Budget { .. }
            | Hold::Trouble { .. } => has_begun,
            Hold::Bot { .. }
            | Hold::Untrusted { .. }
            | Hold::TrustUnknown { .. }
            | Hold::UnknownFix
            | Hold::DependsOn { .. }
            | Hold::DependsOnItself
            | Hold::DependencyMissing { .. }
            | Hold::DependencyUnread { .. }
            | Hold::OpenPr { .. }
            | Hold::ClaimedElsewhere { .. } => false,
        },
        Stage::Checking { .. } | Stage::Waiting { .. } | Stage::Queued { .. } => has_begun,
        Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Continued { .. }
        | Stage::Landing { .. } => true,
        Stage::Ended { .. } => false,
    }
}

fn claim_change(before: &TaskFacts, after: &TaskFacts, input: Option<&Input>) -> Option<ClaimChange> {
    match input.map(|input| &input.event) {
        // One that is given back in the same breath is none.
        Some(TaskEvent::Claimed { .. }) if after.life.claim.is_none() => return None,
        Some(TaskEvent::Claimed { generation, home, instance }) => {
            let (generation, home, instance) = (*generation, home.clone(), instance.clone());
            return Some(ClaimChange::Take { generation, home, instance });
        }
        Some(TaskEvent::Abandoned { generation }) => {
            return Some(ClaimChange::End { generation: *generation });
        }
        Some(_) | None => {}
    }
    match (&before.life.claim, &after.life.claim) {
        (Some(claim), None) => Some(ClaimChange::End { generation: claim.generation }),
        (Some(_) | None, _) => None,
    }
}

/// What only the holder of a claim can know is written only while the claim is in force.
fn fence(before: &TaskFacts, input: Option<&Input>) -> Option<Generation> {
    let held = before.life.claim.as_ref().map(|claim| claim.generation);
    match input.map(|input| &input.event) {
        Some(
            TaskEvent::ClaimPlaced { generation }
            | TaskEvent::ClaimLost { generation, .. }
            | TaskEvent::RunStarted { generation, .. }
            | TaskEvent::RunEnded { generation, .. },
        ) if held == Some(*generation) => held,
        Some(_) | None => None,
    }
}

fn run_order(
    before: &TaskFacts,
    after: &TaskFacts,
    stage: &Stage,
    input: Option<&Input>,
) -> Option<RunRequest> {
    let Some(TaskEvent::RunStarted { generation, body, .. }) = input.map(|input| &input.event) else {
        return None;
    };
    let begun = before.life.claim.as_ref().is_some_and(|claim| claim.started.is_none());
    let runs = *stage == Stage::Running { generation: *generation };
    (begun && runs).then(|| RunRequest::new(after, *generation, body.clone()))
}

/// What changes in the outbox so that it holds what is planned. An action that is being performed stays until its report, and
/// until then nothing else of its lane comes in.
fn outbox(
    open: &[OpenEntry],
    settled: Option<(&Key, bool)>,
    planned: Vec<Planned>,
    settle: Duration,
    now: Timestamp,
) -> Vec<OutboxChange> {
    let mut changes = Vec::new();
    let mut left: Vec<OpenEntry> = open.to_vec();
    if let Some((key, failed)) = settled {
        if failed {
            changes.push(OutboxChange::Release(key.clone()));
            for intent in left.iter_mut().filter(|intent| intent.key == *key) {
                intent.taken = false;
            }
        } else {
            changes.push(OutboxChange::Settle(key.clone()));
            left.retain(|intent| intent.key != *key);
        }
    }
    // A label shows a claim: while that is being released, none is written.
    let is_releasing = left.iter().any(|intent| intent.taken && intent.key.releases_claim());
    let planned: Vec<Planned> =
        planned.into_iter().filter(|planned| !is_releasing || planned.key.lane() != Lane::Label).collect();
    for intent in left.iter().filter(|intent| !intent.taken) {
        if !planned.iter().any(|planned| planned.key == intent.key) {
            changes.push(OutboxChange::Withdraw(intent.key.clone()));
        }
    }
    // The claim is released when nothing else is to be written under it, and the next holder can read what was.
    let releases = |planned: &Planned| matches!(planned.action, Action::ReleaseClaim { .. });
    let is_writing = left.iter().any(|intent| intent.taken)
        || planned.iter().any(|planned| planned.not_before <= now && !releases(planned));
    let readable = now.after(settle);
    for planned in planned {
        let last = releases(&planned);
        match left.iter().find(|intent| intent.key == planned.key) {
            Some(intent) if !intent.taken => {
                let mut not_before = planned.not_before;
                if last {
                    let after_all = if is_writing { readable } else { intent.not_before };
                    not_before = not_before.max(after_all);
                }
                if intent.not_before.max(now) != not_before.max(now) {
                    changes.push(OutboxChange::Reschedule(planned.key, not_before));
                }
            }
            Some(_) => {}
            // It was done, and is wanted again at once: the world does not agree. That is no reason to hurry.
            None if settled.is_some_and(|(key, _)| *key == planned.key) => {
                let not_before = planned.not_before.max(now.after(AGAIN));
                changes.push(OutboxChange::Plan(Planned { not_before, ..planned }));
            }
            None if last && is_writing => {}
            None if last => {
                let not_before = planned.not_before.max(readable);
                changes.push(OutboxChange::Plan(Planned { not_before, ..planned }));
            }
            None => {
                if !left.iter().any(|intent| intent.taken && intent.key.lane() == planned.key.lane()) {
                    changes.push(OutboxChange::Plan(planned));
                }
            }
        }
    }
    changes
}

fn project_change(
    loaded: &LoadedProject,
    facts: ProjectFacts,
    settled: Option<(&Key, bool)>,
    log: Vec<ProjectEntry>,
    policy: &Policy,
    now: Timestamp,
) -> ProjectChange {
    let decision = release::decide(&facts, policy, now);
    ProjectChange {
        version: loaded.version,
        changed: facts != loaded.facts || decision.wake != loaded.wake || loaded.version == 0,
        wake: decision.wake,
        outbox: outbox(&loaded.open, settled, decision.actions, policy.settle, now),
        log,
        facts,
    }
}

/// What the log alone says about a task: the same facts, or something is wrong with one of them.
pub fn replay(mut task: TaskFacts, log: &[Entry]) -> TaskFacts {
    for entry in log {
        match &entry.event {
            Some(event) => {
                let settles = entry.settles.clone();
                fold(&mut task, &Input { event: event.clone(), settles }, entry.at);
            }
            None => task.seq = task.seq.saturating_add(1),
        }
    }
    task
}

/// What became of a turn that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// All of it is written.
    Written,
    /// Nothing is: another process wrote in between. Load and decide again.
    Stale,
    /// Nothing is, and never will be: the claim, or the action it reports on, is not this instance's any more.
    Fenced,
    /// Nothing is: the claim is another's.
    Taken,
}

/// What an instance that is gone had in its hands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Claims: what ran under them is over. Each becomes [`TaskEvent::Abandoned`].
    pub claims: Vec<(ProjectId, TaskKey, Generation)>,
    /// Actions that may have happened. Each becomes a failure of the kind `Interrupted`.
    pub intents: Vec<(ProjectId, Option<TaskKey>, Key)>,
}

impl Left {
    /// More of it, each thing once.
    pub fn add(&mut self, more: Left) {
        let Left { claims, intents } = more;
        self.claims.extend(claims);
        self.claims.sort();
        self.claims.dedup();
        self.intents.extend(intents);
        self.intents.sort();
        self.intents.dedup();
    }
}

/// An action that was taken out of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub project: ProjectId,
    /// The task; nothing for an action of the project itself.
    pub task: Option<TaskKey>,
    /// What it is known by.
    pub key: Key,
    /// What is to be done.
    pub action: Action,
}

#[cfg(test)]
mod tests;
