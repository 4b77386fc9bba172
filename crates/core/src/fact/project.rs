//! Everything known of a project that is not about one task.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Trouble;
use crate::budget::Shortage;
use crate::id::{PrNumber, ProjectId, Sha, TaskKey};
use crate::observed::{Failure, TouchedPaths};
use crate::outcome::Class;
use crate::policy::{BreakerPolicy, Policy};
use crate::task::{Hold, Key, Lane};
use crate::time::Timestamp;

/// The span that caps per hour are about.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The most moments that are remembered for a cap.
const MOMENTS: usize = 1000;

/// An event of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ProjectEvent {
    Paused {
        by: String,
    },
    Resumed {
        by: String,
    },
    /// Written by earlier versions: each task knows now why it waits for the budget.
    BudgetSpent {
        why: String,
    },
    BudgetFree,
    /// There is a tag on a merged commit.
    Tagged {
        tag: String,
        commit: Sha,
    },
    Failed {
        key: Key,
        failure: Failure,
    },
}

/// Everything known of a project that is not about one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFacts {
    pub id: ProjectId,
    /// How many events it has had.
    pub seq: u64,
    pub paused: Option<String>,
    /// The tasks that wait for the budget.
    #[serde(default)]
    pub unfunded: BTreeMap<TaskKey, Unfunded>,
    /// Runs that failed in a row.
    pub failures: u32,
    /// When the last of them did, and how.
    pub failed: Option<(Timestamp, Class)>,
    /// The merges of the last hour.
    pub merges: Vec<Timestamp>,
    /// The tickets Pilot opened in the last hour.
    pub opened: Vec<Timestamp>,
    /// The tasks that are being worked on.
    pub active: BTreeMap<TaskKey, Active>,
    /// Tasks that began and are neither merged nor given up, while nothing is being done: others wait for them.
    #[serde(default)]
    pub held: BTreeMap<TaskKey, Active>,
    /// Tasks of a chain of fixes whose ticket a user closed or took the label from, with the chain's first ticket: no task
    /// waits for the chain.
    #[serde(default)]
    pub withdrawn: BTreeMap<TaskKey, TaskKey>,
    /// Merges without a tag.
    pub unreleased: Vec<Unreleased>,
    pub tag: Option<(String, Sha)>,
    /// Actions that failed since they last succeeded, by their lane.
    pub trouble: BTreeMap<Lane, Trouble>,
}

/// A task that is being worked on, as others need to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The first ticket of the chain of fixes.
    pub root: TaskKey,
    /// Where its work is.
    pub paths: TouchedPaths,
    /// Whether an agent runs or is about to.
    pub running: bool,
    /// Until when others wait for it.
    pub until: Timestamp,
    /// Whether a run completed: there is something to merge.
    #[serde(default)]
    pub has_work: bool,
    /// Why it does not continue by itself, if so.
    #[serde(default)]
    pub hold: Option<Hold>,
}

/// A task that waits for the budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfunded {
    /// Its place among the others: the smallest goes first.
    pub rank: i64,
    pub shortage: Shortage,
}

/// A merge without a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreleased {
    /// The commit on the base branch.
    pub commit: Sha,
    pub pr: PrNumber,
    /// What it was called.
    pub title: String,
    /// When it was seen there.
    pub at: Timestamp,
}

impl ProjectFacts {
    /// A project nothing is known of.
    pub fn new(id: ProjectId) -> ProjectFacts {
        ProjectFacts {
            id,
            seq: 0,
            paused: None,
            unfunded: BTreeMap::new(),
            failures: 0,
            failed: None,
            merges: Vec::new(),
            opened: Vec::new(),
            active: BTreeMap::new(),
            held: BTreeMap::new(),
            withdrawn: BTreeMap::new(),
            unreleased: Vec::new(),
            tag: None,
            trouble: BTreeMap::new(),
        }
    }

    pub fn fold(&mut self, at: Timestamp, event: &ProjectEvent) {
        self.seq = self.seq.saturating_add(1);
        match event {
            ProjectEvent::Paused { by } => {
                self.paused.get_or_insert_with(|| by.clone());
            }
            ProjectEvent::Resumed { .. } => {
                self.paused = None;
                self.failures = 0;
                self.failed = None;
            }
            ProjectEvent::BudgetSpent { .. } | ProjectEvent::BudgetFree => {}
            ProjectEvent::Tagged { tag, commit } => self.tagged(tag, commit),
            ProjectEvent::Failed { key, failure } => {
                let before = self.trouble.get(&key.lane());
                let count = before.map_or(0, |trouble| trouble.count).saturating_add(1);
                let may_have_happened = failure.kind.may_have_happened();
                let trouble = Trouble { count, at, failure: failure.clone(), may_have_happened };
                self.trouble.insert(key.lane(), trouble);
            }
        }
    }

    /// Whether an event changes what is known.
    pub fn is_news(&self, event: &ProjectEvent) -> bool {
        match event {
            ProjectEvent::Paused { .. } => self.paused.is_none(),
            ProjectEvent::Resumed { .. } => self.paused.is_some() || self.failures > 0,
            ProjectEvent::BudgetSpent { .. } | ProjectEvent::BudgetFree => false,
            ProjectEvent::Tagged { .. } | ProjectEvent::Failed { .. } => true,
        }
    }

    /// An action succeeded: what went wrong with its like before is over.
    pub fn settled(&mut self, key: &Key) {
        self.trouble.remove(&key.lane());
    }

    /// Until when nothing new begins because too much failed: the breaker.
    pub fn broken_until(&self, policy: &BreakerPolicy, now: Timestamp) -> Option<(Timestamp, Class)> {
        let (at, class) = self.failed?;
        let until = at.after(policy.reset_after);
        let broken = self.failures >= policy.max_failures || class.stops_all_runs();
        (broken && now < until).then_some((until, class))
    }

    /// Until when no more is merged because there were so many.
    pub fn merges_capped_until(&self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        capped_until(&self.merges, policy.max_merges_per_hour, now)
    }

    /// Until when no more tickets are opened because there were so many: as many as merges, for each has its fix at most.
    pub fn tickets_capped_until(&self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        capped_until(&self.opened, policy.max_merges_per_hour, now)
    }

    /// A run ended: one that completed closes the breaker, one that failed for a reason of its own moves it.
    pub(crate) fn run_ended(&mut self, at: Timestamp, class: Option<Class>) {
        match class {
            None => {
                self.failures = 0;
                self.failed = None;
            }
            Some(class) if counts_for_breaker(class) => {
                self.failures = self.failures.saturating_add(1);
                self.failed = Some((at, class));
            }
            Some(_) => {}
        }
    }

    /// Work landed on the base branch.
    pub(crate) fn landed(&mut self, merge: Unreleased) {
        let known = self.unreleased.iter().any(|other| other.commit == merge.commit);
        if !known && self.unreleased.len() < MOMENTS {
            self.unreleased.push(merge);
        }
    }

    pub(crate) fn merged(&mut self, at: Timestamp) {
        remember(&mut self.merges, at);
    }

    /// Pilot opened a ticket.
    pub(crate) fn ticket_opened(&mut self, at: Timestamp) {
        remember(&mut self.opened, at);
    }

    fn tagged(&mut self, tag: &str, commit: &Sha) {
        // Merges behind the tagged one are still without a tag.
        if let Some(place) = self.unreleased.iter().position(|merge| merge.commit == *commit) {
            self.unreleased.drain(..=place);
        }
        self.tag = Some((tag.to_owned(), commit.clone()));
    }
}

fn remember(moments: &mut Vec<Timestamp>, at: Timestamp) {
    moments.retain(|moment| at.since(*moment) < HOUR);
    if moments.len() < MOMENTS {
        moments.push(at);
    }
}

fn capped_until(moments: &[Timestamp], cap: usize, now: Timestamp) -> Option<Timestamp> {
    let recent: Vec<&Timestamp> = moments.iter().filter(|moment| now.since(**moment) < HOUR).collect();
    // When the oldest of the last `cap` is an hour old there is room again.
    let oldest = recent.len().checked_sub(cap).and_then(|place| recent.get(place))?;
    Some(oldest.after(HOUR))
}

/// Whether a failure counts for the breaker. Limits pass by themselves, and a run that a person stops did not fail.
fn counts_for_breaker(class: Class) -> bool {
    !matches!(class, Class::RateLimit | Class::Cancelled)
}

#[cfg(test)]
mod tests;
