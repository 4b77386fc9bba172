//! One turn: something happened, or time passed; everything that follows from it, to be written in one transaction.
//!
//! A turn is data. Whoever loads, applies and performs is boring: [`turn`] says what the new facts are, what goes into the log,
//! what comes into and out of the outbox, which claim is taken or ended, and whether a run may begin once all of that is
//! written. Must never know how anything is written.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fact::{Active, Happened, ProjectFacts, ProjectHappened, RunEnding, TaskFacts, Unreleased};
use crate::name::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use crate::policy::Policy;
use crate::release;
use crate::seen::Reach;
use crate::task::{Action, Decision, Hold, Key, Look, Planned, RunOrder, Stage, step};
use crate::time::Timestamp;
use crate::words;

/// How long an action waits that was done and is wanted again.
const AGAIN: Duration = Duration::from_secs(30);

/// A task and its project as they are stored, with the numbers that say whether somebody wrote since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The task's facts.
    pub task: TaskFacts,
    /// How often they were written; 0 for a task nobody knew.
    pub task_version: u64,
    /// Where it stood.
    pub stage: Option<Stage>,
    /// The task's actions that are not settled.
    pub open: Vec<OpenIntent>,
    /// Its project.
    pub project: LoadedProject,
}

/// A project as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedProject {
    /// Its facts.
    pub facts: ProjectFacts,
    /// How often they were written; 0 for a project nobody knew.
    pub version: u64,
    /// When time alone changes something.
    pub wake: Option<Timestamp>,
    /// The project's own actions that are not settled.
    pub open: Vec<OpenIntent>,
}

/// An action in the outbox that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIntent {
    /// What it is known by.
    pub key: Key,
    /// Not to be begun earlier.
    pub not_before: Timestamp,
    /// Whether somebody is at it.
    pub taken: bool,
}

/// Something that happened to a task, and the action it is the result of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What happened.
    pub happened: Happened,
    /// The action that is settled by it, or that failed.
    pub settles: Option<Key>,
}

/// The same for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectInput {
    /// What happened.
    pub happened: ProjectHappened,
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
    pub looks: Vec<Look>,
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
    pub run: Option<RunOrder>,
}

/// A line of a task's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number within the task.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What happened; nothing where only time passed.
    pub happened: Option<Happened>,
    /// The action that was settled by it, or that failed.
    pub settles: Option<Key>,
    /// Where the task stands because of it, where that is news.
    pub stage: Option<Stage>,
}

/// A line of a project's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectEntry {
    /// Its number within the project.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub happened: ProjectHappened,
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
        /// Its number.
        generation: Generation,
        /// Whose.
        home: HomeId,
        /// By which start of it.
        instance: InstanceId,
    },
    /// Ended.
    End {
        /// Its number.
        generation: Generation,
    },
}

impl Turn {
    /// Whether there is anything to write. When only the time of the next look changed, there is not: it can be kept in mind,
    /// and a restart looks at everything anyway.
    pub fn writes(&self) -> bool {
        let project = &self.project;
        let of_project = project.changed || !project.outbox.is_empty() || !project.log.is_empty();
        let of_task = self.task.as_ref().is_some_and(|task| {
            task.moved || !task.log.is_empty() || !task.outbox.is_empty() || task.claim.is_some()
        });
        of_project || of_task
    }

    /// The project.
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
        .filter(|input| input.settles.is_some() || loaded.task.is_news(&input.happened, policy))
        .filter(|input| !is_late_claim(loaded, &input.happened));
    let (before, mut task, mut project) = (&loaded.task, loaded.task.clone(), loaded.project.facts.clone());
    let mut log = Vec::new();
    if let Some(input) = input {
        fold(&mut task, input, now);
        tell_project(&mut project, before, &task, input, now);
        log.push(entry(&task, now, Some(input.happened.clone()), input.settles.clone()));
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
        let failed = matches!(input.happened, Happened::Failed { .. });
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
        looks: decision.looks,
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
    let input = input.filter(|input| input.settles.is_some() || loaded.facts.is_news(&input.happened));
    let mut facts = loaded.facts.clone();
    let mut log = Vec::new();
    let mut settled = None;
    if let Some(input) = input {
        facts.fold(now, &input.happened);
        let failed = matches!(input.happened, ProjectHappened::Failed { .. });
        if let Some(key) = &input.settles {
            if !failed {
                facts.settled(key);
            }
            settled = Some((key, failed));
        }
        let (happened, settles) = (input.happened.clone(), input.settles.clone());
        log.push(ProjectEntry { seq: facts.seq, at: now, happened, settles });
    }
    Turn { project: project_change(loaded, facts, settled, log, policy, now), task: None }
}

/// Whether somebody wants to claim what does not wait for its turn any more: they read the queue before another's claim, and
/// the task after it.
fn is_late_claim(loaded: &Loaded, happened: &Happened) -> bool {
    matches!(happened, Happened::Claimed { .. }) && !matches!(loaded.stage, Some(Stage::Queued { .. }))
}

fn fold(task: &mut TaskFacts, input: &Input, now: Timestamp) {
    task.fold(now, &input.happened);
    if let Some(key) = &input.settles
        && !matches!(input.happened, Happened::Failed { .. })
    {
        task.settled(key);
    }
}

fn entry(task: &TaskFacts, at: Timestamp, happened: Option<Happened>, settles: Option<Key>) -> Entry {
    Entry { seq: task.seq, at, happened, settles, stage: None }
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
    while let Some(happened) = settles_itself(task, &decision.stage) {
        task.fold(now, &happened);
        log.push(entry(task, now, Some(happened), None));
        decision = step(task, project, policy, now);
    }
    set_active(project, task, &decision.stage, policy);
    decision
}

/// Each of these makes itself impossible, so there is an end to them.
fn settles_itself(task: &TaskFacts, stage: &Stage) -> Option<Happened> {
    match (stage, &task.life.claim, &task.life.ended) {
        (Stage::Ended { ending }, _, None) => Some(Happened::Ended { ending: ending.clone() }),
        (Stage::Stopping { generation, .. }, Some(claim), _) if claim.started.is_none() => {
            Some(Happened::Unclaimed { generation: *generation })
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
    if let Happened::RunEnded { generation, ending } = &input.happened
        && before.life.claim.as_ref().is_some_and(|claim| claim.generation == *generation)
    {
        match ending {
            RunEnding::Completed(_) => project.run_ended(now, None),
            RunEnding::Stopped { class, .. } => project.run_ended(now, Some(*class)),
        }
    }
    if before.life.fix.is_none() && after.life.fix.is_some() {
        project.issue_opened(now);
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

/// Writes down whether others wait for the task.
fn set_active(project: &mut ProjectFacts, task: &TaskFacts, stage: &Stage, policy: &Policy) {
    let paused = matches!(stage, Stage::Held { hold: Hold::ProjectPaused { .. } }) && task.work().is_some();
    if !stage.is_active() && !paused {
        project.active.remove(&task.key);
        return;
    }
    let reach = task.seen().map_or(Reach::Unknown, |issue| issue.body.reach.clone());
    let opened = task.life.pr.as_ref().map(|pr| pr.opened);
    let until = opened.map_or(Timestamp(i64::MAX), |opened| opened.after(policy.pr_wait));
    let active = Active { root: task.root(), reach, running: stage.is_running(), until };
    project.active.insert(task.key.clone(), active);
}

fn claim_change(before: &TaskFacts, after: &TaskFacts, input: Option<&Input>) -> Option<ClaimChange> {
    match input.map(|input| &input.happened) {
        // One that is given back in the same breath is none.
        Some(Happened::Claimed { .. }) if after.life.claim.is_none() => return None,
        Some(Happened::Claimed { generation, home, instance }) => {
            let (generation, home, instance) = (*generation, home.clone(), instance.clone());
            return Some(ClaimChange::Take { generation, home, instance });
        }
        Some(Happened::Abandoned { generation }) => {
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
    match input.map(|input| &input.happened) {
        Some(
            Happened::ClaimPlaced { generation }
            | Happened::ClaimLost { generation, .. }
            | Happened::RunStarted { generation, .. }
            | Happened::RunEnded { generation, .. },
        ) if held == Some(*generation) => held,
        Some(_) | None => None,
    }
}

fn run_order(
    before: &TaskFacts,
    after: &TaskFacts,
    stage: &Stage,
    input: Option<&Input>,
) -> Option<RunOrder> {
    let Some(Happened::RunStarted { generation, body, .. }) = input.map(|input| &input.happened) else {
        return None;
    };
    let begun = before.life.claim.as_ref().is_some_and(|claim| claim.started.is_none());
    let runs = *stage == Stage::Running { generation: *generation };
    (begun && runs).then(|| RunOrder::new(after, *generation, body.clone()))
}

/// What changes in the outbox so that it holds what is planned. An action that somebody is at stays until they report, and
/// until then nothing else of its lane comes in.
fn outbox(
    open: &[OpenIntent],
    settled: Option<(&Key, bool)>,
    planned: Vec<Planned>,
    settle: Duration,
    now: Timestamp,
) -> Vec<OutboxChange> {
    let mut changes = Vec::new();
    let mut left: Vec<OpenIntent> = open.to_vec();
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
    for intent in left.iter().filter(|intent| !intent.taken) {
        if !planned.iter().any(|planned| planned.key == intent.key) {
            changes.push(OutboxChange::Withdraw(intent.key.clone()));
        }
    }
    // The claim is taken back when nothing else is to be written under it, and whoever takes it next can read what was.
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
        match &entry.happened {
            Some(happened) => {
                let settles = entry.settles.clone();
                fold(&mut task, &Input { happened: happened.clone(), settles }, entry.at);
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
    /// Nothing is: somebody wrote in between. Load again, and take the turn again.
    Stale,
    /// Nothing is, and never will be: the claim, or the action it reports on, is not this instance's any more.
    Fenced,
    /// Nothing is: the claim is another's.
    Taken,
}

/// What an instance that is gone had in its hands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Claims: what ran under them is over. Each becomes [`Happened::Abandoned`].
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

/// A planned action, for whoever takes it out of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The project.
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
