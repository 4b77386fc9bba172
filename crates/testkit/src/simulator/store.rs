//! What the simulated Pilot stores: the same contract as the real store's, so that either can be used.

use std::collections::BTreeMap;
use std::time::Duration;

use pilot_core::dispatch::Candidate;
use pilot_core::fact::{ProjectFacts, TaskFacts};
use pilot_core::id::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::task::{Action, Key, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{
    Applied, ClaimChange, Entry, Left, Loaded, LoadedProject, OpenEntry, OutboxChange, OutboxEntry, Turn,
};

/// How long a claim or a taken action is held without a renewal.
pub const LEASE: Duration = Duration::from_secs(60);

/// The store as the daemon uses it. Each call is one transaction.
pub trait TaskStore {
    /// A task with its project, known or not.
    fn load(&self, project: &ProjectId, key: &TaskKey) -> Loaded;
    /// A project, known or not.
    fn load_project(&self, project: &ProjectId) -> LoadedProject;
    /// Writes a turn, all of it or nothing.
    fn apply(&mut self, turn: &Turn, me: &InstanceId, now: Timestamp) -> Applied;
    /// A start: takes over the claims and actions of earlier instances of the same home.
    fn begin_instance(&mut self, home: &HomeId, me: &InstanceId, now: Timestamp) -> Left;
    /// The same for instances whose leases have expired.
    fn take_expired(&mut self, me: &InstanceId, now: Timestamp) -> Left;
    /// Renews the leases of an instance.
    fn renew_leases(&mut self, me: &InstanceId, now: Timestamp);
    /// Takes at most so many due actions out of the outbox.
    fn take_due(&mut self, me: &InstanceId, now: Timestamp, most: usize) -> Vec<OutboxEntry>;
    /// When something in the outbox that this instance may take is due next.
    fn next_due(&self, me: &InstanceId) -> Option<Timestamp>;
    /// The first of a project's queue.
    fn queued(&self, project: &ProjectId) -> Vec<Candidate>;
    /// Every task of a project, with its stage and when it is due.
    fn tasks(&self, project: &ProjectId) -> Vec<(TaskFacts, Stage, Option<Timestamp>)>;
    fn log(&self, project: &ProjectId, task: &TaskKey) -> Vec<Entry>;
    /// Whether this instance has taken this action and it is not settled.
    fn has_taken(&self, project: &ProjectId, task: Option<&TaskKey>, key: &Key, me: &InstanceId) -> bool;
}

type RowKey = (ProjectId, TaskKey);
type OutboxKey = (ProjectId, Option<TaskKey>, Key);

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    projects: BTreeMap<ProjectId, (ProjectFacts, u64, Option<Timestamp>)>,
    tasks: BTreeMap<RowKey, Row>,
    claims: BTreeMap<(ProjectId, TaskKey, Generation), ClaimRow>,
    outbox: BTreeMap<OutboxKey, OutboxRow>,
    /// Which instance belongs to which home.
    homes: BTreeMap<InstanceId, HomeId>,
}

#[derive(Debug)]
struct Row {
    facts: TaskFacts,
    version: u64,
    stage: Stage,
    wake: Option<Timestamp>,
    log: Vec<Entry>,
}

#[derive(Debug)]
struct ClaimRow {
    instance: InstanceId,
    until: Timestamp,
    ended: bool,
}

#[derive(Debug)]
struct OutboxRow {
    action: Action,
    not_before: Timestamp,
    taken: Option<(InstanceId, Timestamp)>,
}

impl TaskStore for MemoryStore {
    fn load(&self, project: &ProjectId, key: &TaskKey) -> Loaded {
        let project_loaded = self.load_project(project);
        let open = self.open(project, Some(key));
        match self.tasks.get(&(project.clone(), key.clone())) {
            Some(row) => Loaded {
                task: row.facts.clone(),
                task_version: row.version,
                stage: Some(row.stage.clone()),
                open,
                project: project_loaded,
            },
            None => Loaded {
                task: TaskFacts::new(project.clone(), key.clone()),
                task_version: 0,
                stage: None,
                open,
                project: project_loaded,
            },
        }
    }

    fn load_project(&self, project: &ProjectId) -> LoadedProject {
        let open = self.open(project, None);
        match self.projects.get(project) {
            Some((facts, version, wake)) => {
                LoadedProject { facts: facts.clone(), version: *version, wake: *wake, open }
            }
            None => LoadedProject { facts: ProjectFacts::new(project.clone()), version: 0, wake: None, open },
        }
    }

    fn apply(&mut self, turn: &Turn, me: &InstanceId, now: Timestamp) -> Applied {
        let refused = self.refusal(turn, me);
        if refused != Applied::Written {
            return refused;
        }
        let project = &turn.project;
        let id = turn.project_id().clone();
        if project.changed {
            let row = (project.facts.clone(), project.version + 1, project.wake);
            self.projects.insert(id.clone(), row);
        }
        self.change_outbox(&id, None, &project.outbox);
        let Some(task) = &turn.task else { return Applied::Written };
        let key = task.facts.key.clone();
        self.change_outbox(&id, Some(&key), &task.outbox);
        match &task.claim {
            Some(ClaimChange::Take { generation, home, instance }) => {
                self.homes.insert(instance.clone(), home.clone());
                let row = ClaimRow { instance: instance.clone(), until: now.after(LEASE), ended: false };
                self.claims.insert((id.clone(), key.clone(), *generation), row);
            }
            Some(ClaimChange::End { generation }) => {
                if let Some(row) = self.claims.get_mut(&(id.clone(), key.clone(), *generation)) {
                    row.ended = true;
                }
            }
            None => {}
        }
        let row = self.tasks.entry((id, key)).or_insert_with(|| Row {
            facts: task.facts.clone(),
            version: 0,
            stage: task.stage.clone(),
            wake: None,
            log: Vec::new(),
        });
        row.facts = task.facts.clone();
        row.version = task.version + 1;
        row.stage = task.stage.clone();
        row.wake = task.wake;
        row.log.extend(task.log.iter().cloned());
        Applied::Written
    }

    fn begin_instance(&mut self, home: &HomeId, me: &InstanceId, now: Timestamp) -> Left {
        self.homes.insert(me.clone(), home.clone());
        let homes = self.homes.clone();
        self.take_over(me, now, |instance, _| instance != me && homes.get(instance) == Some(home))
    }

    fn take_expired(&mut self, me: &InstanceId, now: Timestamp) -> Left {
        self.take_over(me, now, |instance, until| instance != me && until < now)
    }

    fn renew_leases(&mut self, me: &InstanceId, now: Timestamp) {
        for row in self.claims.values_mut().filter(|row| !row.ended && row.instance == *me) {
            row.until = now.after(LEASE);
        }
        for (instance, until) in self.outbox.values_mut().filter_map(|row| row.taken.as_mut()) {
            if instance == me {
                *until = now.after(LEASE);
            }
        }
    }

    fn take_due(&mut self, me: &InstanceId, now: Timestamp, most: usize) -> Vec<OutboxEntry> {
        let is_due = |(project, task, _): &OutboxKey, row: &OutboxRow| {
            row.taken.is_none()
                && row.not_before <= now
                && !self.is_claimed_by_another(project, task.as_ref(), me)
        };
        let due = self.outbox.iter().filter(|(key, row)| is_due(key, row)).take(most);
        let due: Vec<OutboxEntry> = due
            .map(|((project, task, key), row)| {
                let (project, task, key) = (project.clone(), task.clone(), key.clone());
                OutboxEntry { project, task, key, action: row.action.clone() }
            })
            .collect();
        for entry in &due {
            let key = (entry.project.clone(), entry.task.clone(), entry.key.clone());
            if let Some(row) = self.outbox.get_mut(&key) {
                row.taken = Some((me.clone(), now.after(LEASE)));
            }
        }
        // A decision depends on what is under way, so one made before this is stale.
        for entry in &due {
            match &entry.task {
                Some(task) => {
                    if let Some(row) = self.tasks.get_mut(&(entry.project.clone(), task.clone())) {
                        row.version += 1;
                    }
                }
                None => {
                    if let Some((_, version, _)) = self.projects.get_mut(&entry.project) {
                        *version += 1;
                    }
                }
            }
        }
        due
    }

    fn next_due(&self, me: &InstanceId) -> Option<Timestamp> {
        let open = self.outbox.iter().filter(|((project, task, _), row)| {
            row.taken.is_none() && !self.is_claimed_by_another(project, task.as_ref(), me)
        });
        open.map(|(_, row)| row.not_before).min()
    }

    fn queued(&self, project: &ProjectId) -> Vec<Candidate> {
        let mut queued: Vec<Candidate> = self
            .tasks
            .values()
            .filter(|row| row.facts.project == *project)
            .filter_map(|row| {
                let Stage::Queued { rank } = row.stage else { return None };
                Some(Candidate::of(&row.facts, rank))
            })
            .collect();
        queued.sort_by(|one, other| (one.rank, &one.task).cmp(&(other.rank, &other.task)));
        queued
    }

    fn tasks(&self, project: &ProjectId) -> Vec<(TaskFacts, Stage, Option<Timestamp>)> {
        let rows = self.tasks.values().filter(|row| row.facts.project == *project);
        rows.map(|row| (row.facts.clone(), row.stage.clone(), row.wake)).collect()
    }

    fn log(&self, project: &ProjectId, task: &TaskKey) -> Vec<Entry> {
        self.tasks.get(&(project.clone(), task.clone())).map_or_else(Vec::new, |row| row.log.clone())
    }

    fn has_taken(&self, project: &ProjectId, task: Option<&TaskKey>, key: &Key, me: &InstanceId) -> bool {
        let row = self.outbox.get(&(project.clone(), task.cloned(), key.clone()));
        row.is_some_and(|row| row.taken.as_ref().is_some_and(|(holder, _)| holder == me))
    }
}

impl MemoryStore {
    /// Whether another instance has claimed a task: its actions are left to that one.
    fn is_claimed_by_another(&self, project: &ProjectId, task: Option<&TaskKey>, me: &InstanceId) -> bool {
        let mut claims = self.claims.iter();
        claims.any(|((of, key, _), row)| {
            of == project && Some(key) == task && !row.ended && row.instance != *me
        })
    }

    fn open(&self, project: &ProjectId, task: Option<&TaskKey>) -> Vec<OpenEntry> {
        let rows = self.outbox.iter().filter(|((of, whose, _), _)| of == project && whose.as_ref() == task);
        rows.map(|((_, _, key), row)| OpenEntry {
            key: key.clone(),
            not_before: row.not_before,
            taken: row.taken.is_some(),
        })
        .collect()
    }

    /// Why a turn may not be written, if it may not.
    fn refusal(&self, turn: &Turn, me: &InstanceId) -> Applied {
        let id = turn.project_id();
        if self.projects.get(id).map_or(0, |(_, version, _)| *version) != turn.project.version {
            return Applied::Stale;
        }
        let mine = |task: Option<&TaskKey>, changes: &[OutboxChange]| {
            changes.iter().all(|change| match change {
                OutboxChange::Settle(key) | OutboxChange::Release(key) => {
                    let row = self.outbox.get(&(id.clone(), task.cloned(), key.clone()));
                    let holder = row.and_then(|row| row.taken.as_ref());
                    holder.is_some_and(|(holder, _)| holder == me)
                }
                OutboxChange::Plan(_) | OutboxChange::Reschedule(..) | OutboxChange::Withdraw(_) => true,
            })
        };
        if !mine(None, &turn.project.outbox) {
            return Applied::Fenced;
        }
        let Some(task) = &turn.task else { return Applied::Written };
        let key = &task.facts.key;
        if self.tasks.get(&(id.clone(), key.clone())).map_or(0, |row| row.version) != task.version {
            return Applied::Stale;
        }
        let claim = |generation| self.claims.get(&(id.clone(), key.clone(), generation));
        if let Some(ClaimChange::Take { generation, .. }) = &task.claim
            && claim(*generation).is_some()
        {
            return Applied::Taken;
        }
        let held = task
            .fence
            .is_none_or(|generation| claim(generation).is_some_and(|row| !row.ended && row.instance == *me));
        if held && mine(Some(key), &task.outbox) { Applied::Written } else { Applied::Fenced }
    }

    fn change_outbox(&mut self, project: &ProjectId, task: Option<&TaskKey>, changes: &[OutboxChange]) {
        let at = |key: &Key| (project.clone(), task.cloned(), key.clone());
        for change in changes {
            match change {
                OutboxChange::Settle(key) => {
                    self.outbox.remove(&at(key));
                }
                OutboxChange::Release(key) => {
                    if let Some(row) = self.outbox.get_mut(&at(key)) {
                        row.taken = None;
                    }
                }
                OutboxChange::Plan(planned) => {
                    let row = OutboxRow {
                        action: planned.action.clone(),
                        not_before: planned.not_before,
                        taken: None,
                    };
                    self.outbox.insert(at(&planned.key), row);
                }
                OutboxChange::Reschedule(key, not_before) => {
                    if let Some(row) = self.outbox.get_mut(&at(key)) {
                        row.not_before = *not_before;
                    }
                }
                OutboxChange::Withdraw(key) => {
                    if self.outbox.get(&at(key)).is_some_and(|row| row.taken.is_none()) {
                        self.outbox.remove(&at(key));
                    }
                }
            }
        }
    }

    fn take_over(
        &mut self,
        me: &InstanceId,
        now: Timestamp,
        dead: impl Fn(&InstanceId, Timestamp) -> bool,
    ) -> Left {
        let mut left = Left::default();
        for ((project, task, generation), row) in &self.claims {
            if !row.ended && dead(&row.instance, row.until) {
                left.claims.push((project.clone(), task.clone(), *generation));
            }
        }
        for ((project, task, key), row) in &mut self.outbox {
            if !row.taken.as_ref().is_some_and(|(holder, until)| dead(holder, *until)) {
                continue;
            }
            row.taken = Some((me.clone(), now.after(LEASE)));
            left.intents.push((project.clone(), task.clone(), key.clone()));
        }
        left
    }
}
