//! Everything known of a project that is not about one task.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Trouble;
use crate::name::{IssueNumber, PrNumber, ProjectId, Sha, TaskKey};
use crate::outcome::Class;
use crate::policy::Policy;
use crate::seen::{Failure, Reach};
use crate::task::Key;
use crate::time::Timestamp;

/// The span that caps per hour are about.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The most moments that are remembered for a cap.
const MOMENTS: usize = 1000;

/// A thing that happened to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ProjectHappened {
    /// Somebody paused it.
    Paused {
        /// Who.
        by: String,
    },
    /// Somebody let it go on.
    Resumed {
        /// Who.
        by: String,
    },
    /// The budget lets nothing new begin.
    BudgetSpent {
        /// Why, for people.
        why: String,
    },
    /// The budget lets things begin again.
    BudgetFree,
    /// There is a tag on a merged commit.
    Tagged {
        /// Its name.
        tag: String,
        /// The commit.
        commit: Sha,
    },
    /// An action failed.
    Failed {
        /// Which.
        key: Key,
        /// How.
        failure: Failure,
    },
}

/// Everything known of a project that is not about one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFacts {
    /// The project.
    pub id: ProjectId,
    /// How many things have happened to it.
    pub seq: u64,
    /// Who paused it.
    pub paused: Option<String>,
    /// Why the budget lets nothing begin.
    pub budget: Option<String>,
    /// Runs that failed in a row.
    pub failures: u32,
    /// When the last of them did, and how.
    pub failed: Option<(Timestamp, Class)>,
    /// The merges of the last hour.
    pub merges: Vec<Timestamp>,
    /// The issues Pilot opened in the last hour.
    pub opened: Vec<Timestamp>,
    /// The tasks that are being worked on.
    pub active: BTreeMap<TaskKey, Active>,
    /// Merges without a tag.
    pub unreleased: Vec<Unreleased>,
    /// The last tag.
    pub tag: Option<(String, Sha)>,
    /// Actions that failed since they last succeeded, by their lane.
    pub trouble: BTreeMap<String, Trouble>,
}

/// A task that is being worked on, as others need to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The issue it is about in the end.
    pub root: IssueNumber,
    /// Where its work is.
    pub reach: Reach,
    /// Whether an agent runs or is about to.
    pub running: bool,
    /// Until when others wait for it.
    pub until: Timestamp,
}

/// A merge without a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreleased {
    /// The commit on the base branch.
    pub commit: Sha,
    /// The pull request.
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
            budget: None,
            failures: 0,
            failed: None,
            merges: Vec::new(),
            opened: Vec::new(),
            active: BTreeMap::new(),
            unreleased: Vec::new(),
            tag: None,
            trouble: BTreeMap::new(),
        }
    }

    /// Takes in what happened.
    pub fn fold(&mut self, at: Timestamp, happened: &ProjectHappened) {
        self.seq = self.seq.saturating_add(1);
        match happened {
            ProjectHappened::Paused { by } => {
                self.paused.get_or_insert_with(|| by.clone());
            }
            ProjectHappened::Resumed { .. } => {
                self.paused = None;
                self.failures = 0;
                self.failed = None;
            }
            ProjectHappened::BudgetSpent { why } => self.budget = Some(why.clone()),
            ProjectHappened::BudgetFree => self.budget = None,
            ProjectHappened::Tagged { tag, commit } => self.tagged(tag, commit),
            ProjectHappened::Failed { key, failure } => {
                let before = self.trouble.get(key.lane());
                let count = before.map_or(0, |trouble| trouble.count).saturating_add(1);
                let may_have_happened = failure.kind.may_have_happened();
                let trouble = Trouble { count, at, failure: failure.clone(), may_have_happened };
                self.trouble.insert(key.lane().to_owned(), trouble);
            }
        }
    }

    /// Whether a word about the project says anything that was not known.
    pub fn is_news(&self, happened: &ProjectHappened) -> bool {
        match happened {
            ProjectHappened::Paused { .. } => self.paused.is_none(),
            ProjectHappened::Resumed { .. } => self.paused.is_some() || self.failures > 0,
            ProjectHappened::BudgetSpent { why } => self.budget.as_ref() != Some(why),
            ProjectHappened::BudgetFree => self.budget.is_some(),
            ProjectHappened::Tagged { .. } | ProjectHappened::Failed { .. } => true,
        }
    }

    /// An action succeeded: what went wrong with its like before is over.
    pub fn settled(&mut self, key: &Key) {
        self.trouble.remove(key.lane());
    }

    /// Until when nothing new begins because too much failed: the breaker.
    pub fn broken_until(&self, policy: &Policy, now: Timestamp) -> Option<(Timestamp, Class)> {
        let (at, class) = self.failed?;
        let until = at.after(policy.failure_reset);
        let broken = self.failures >= policy.max_failures || class.stops_everybody();
        (broken && now < until).then_some((until, class))
    }

    /// Until when no more is merged because there were so many.
    pub fn merges_capped_until(&self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        capped_until(&self.merges, policy.max_merges_per_hour, now)
    }

    /// Until when no more issues are opened because there were so many: as many as merges, for each has its fix at most.
    pub fn issues_capped_until(&self, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        capped_until(&self.opened, policy.max_merges_per_hour, now)
    }

    /// A run ended: one that completed closes the breaker, one that failed for a reason of its own moves it.
    pub(crate) fn run_ended(&mut self, at: Timestamp, class: Option<Class>) {
        match class {
            None => {
                self.failures = 0;
                self.failed = None;
            }
            Some(class) if blames_somebody(class) => {
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

    /// Pilot merged something.
    pub(crate) fn merged(&mut self, at: Timestamp) {
        remember(&mut self.merges, at);
    }

    /// Pilot opened an issue.
    pub(crate) fn issue_opened(&mut self, at: Timestamp) {
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

/// Whether a failure says anything about how things go. Limits pass by themselves, and a person who stops a run is none.
fn blames_somebody(class: Class) -> bool {
    !matches!(class, Class::RateLimit | Class::Cancelled)
}

#[cfg(test)]
mod tests;
