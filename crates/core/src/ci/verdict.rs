//! The verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::CiFacts;
use super::reading::{Check, CheckState, Reading, Required};
use crate::id::Sha;
use crate::policy::{CiPolicy, Watch};
use crate::time::Timestamp;

/// What CI says about a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed(CiPassed),
    Failed(CiFailed),
    /// Something is under way.
    Pending {
        names: BTreeSet<String>,
    },
    Unknown(Inconclusive),
}

/// A commit that CI passed. Only [`judge`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiPassed {
    sha: Sha,
    checks: BTreeSet<String>,
}

impl CiPassed {
    pub fn sha(&self) -> &Sha {
        &self.sha
    }

    /// What passed; empty only where no CI is configured.
    pub fn checks(&self) -> &BTreeSet<String> {
        &self.checks
    }
}

/// A commit that CI failed. Only [`judge`] makes one, and only with names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiFailed {
    sha: Sha,
    failed: BTreeSet<String>,
}

impl CiFailed {
    pub fn sha(&self) -> &Sha {
        &self.sha
    }

    pub fn failed(&self) -> &BTreeSet<String> {
        &self.failed
    }
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inconclusive {
    /// This commit was not read yet.
    NotRead,
    /// Nothing has reported, and the time in which that is ordinary is not over.
    Discovering,
    NoChecks,
    /// Seen once; a second identical read is required before it counts.
    Unconfirmed,
    /// What must be there could not be read.
    RequiredUnknown,
    /// These ended without a verdict on the commit, or were skipped although they must run.
    Undecided {
        names: BTreeSet<String>,
    },
    /// CI passed, and the forge does not know yet whether it could merge.
    NotMergeableYet,
    /// Everything that reported was skipped or neutral: nothing was tested.
    NothingRan,
}

/// The verdict on a commit: from what is remembered of it, what is configured, and the time.
///
/// `head_since` is when the commit was pushed: its own clock, not that of the pull request.
pub fn judge(
    sha: &Sha,
    facts: Option<&CiFacts>,
    head_since: Timestamp,
    policy: &CiPolicy,
    now: Timestamp,
) -> Verdict {
    let (exclude, configured) = match &policy.watch {
        Watch::Nothing => return Verdict::Passed(CiPassed { sha: sha.clone(), checks: BTreeSet::new() }),
        Watch::Checks { exclude, required } => (exclude, required),
    };
    let Some(facts) = facts.filter(|facts| facts.reading.sha == *sha) else {
        return Verdict::Unknown(Inconclusive::NotRead);
    };
    match judge_reading(&facts.reading, exclude, configured) {
        Verdict::Unknown(Inconclusive::NoChecks) if now.since(head_since) < policy.discovery_grace => {
            Verdict::Unknown(Inconclusive::Discovering)
        }
        Verdict::Passed(_) | Verdict::Failed(_) if facts.last.since(facts.since) < policy.poll_interval => {
            Verdict::Unknown(Inconclusive::Unconfirmed)
        }
        verdict @ (Verdict::Passed(_)
        | Verdict::Failed(_)
        | Verdict::Pending { .. }
        | Verdict::Unknown(_)) => verdict,
    }
}

impl CiPolicy {
    /// Whether something is under way, so that what must be there does not matter yet.
    pub fn is_under_way(&self, checks: &BTreeSet<Check>) -> bool {
        match &self.watch {
            Watch::Nothing => false,
            Watch::Checks { exclude, .. } => !Tally::of(checks, exclude, &BTreeSet::new()).pending.is_empty(),
        }
    }

    /// Whether a reading would be a verdict, if another one said the same.
    pub(crate) fn is_final(&self, reading: &Reading) -> bool {
        match &self.watch {
            Watch::Nothing => false,
            Watch::Checks { exclude, required } => match judge_reading(reading, exclude, required) {
                Verdict::Passed(_) | Verdict::Failed(_) => true,
                Verdict::Pending { .. } | Verdict::Unknown(_) => false,
            },
        }
    }

    /// Whether a single reading speaks for the commit: the last look before a merge.
    pub(crate) fn lets_pass(&self, reading: &Reading) -> bool {
        match &self.watch {
            Watch::Nothing => true,
            Watch::Checks { exclude, required } => {
                matches!(judge_reading(reading, exclude, required), Verdict::Passed(_))
            }
        }
    }
}

/// What a single reading says, were it final.
fn judge_reading(reading: &Reading, exclude: &BTreeSet<String>, configured: &BTreeSet<String>) -> Verdict {
    let known = match &reading.required {
        Required::Known(names) => Some(names),
        Required::Unknown => None,
    };
    let required: BTreeSet<String> = known.into_iter().flatten().chain(configured).cloned().collect();
    let tally = Tally::of(&reading.checks, exclude, &required);
    let absent: BTreeSet<String> = required.difference(&tally.seen).cloned().collect();
    if !tally.pending.is_empty() {
        Verdict::Pending { names: tally.pending.union(&absent).cloned().collect() }
    } else if known.is_none() {
        Verdict::Unknown(Inconclusive::RequiredUnknown)
    } else if tally.seen.is_empty() {
        Verdict::Unknown(Inconclusive::NoChecks)
    } else if !tally.failed.is_empty() {
        Verdict::Failed(CiFailed { sha: reading.sha.clone(), failed: tally.failed })
    } else if !absent.is_empty() {
        Verdict::Pending { names: absent }
    } else if !tally.undecided.is_empty() {
        Verdict::Unknown(Inconclusive::Undecided { names: tally.undecided })
    } else if tally.passed.is_empty() {
        Verdict::Unknown(Inconclusive::NothingRan)
    } else {
        Verdict::Passed(CiPassed { sha: reading.sha.clone(), checks: tally.passed })
    }
}

/// Everything that reported, by what it means. A name may be in several: two programs may use the same one.
#[derive(Default)]
struct Tally {
    seen: BTreeSet<String>,
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    pending: BTreeSet<String>,
    undecided: BTreeSet<String>,
}

impl Tally {
    fn of(checks: &BTreeSet<Check>, exclude: &BTreeSet<String>, required: &BTreeSet<String>) -> Tally {
        let mut tally = Tally::default();
        for check in checks.iter().filter(|check| !exclude.contains(&check.name)) {
            tally.add(check, required.contains(&check.name));
        }
        tally
    }

    /// A cancelled, stale or waiting check says nothing about the code, so it destroys nothing and lets nothing pass; one
    /// that must run and was skipped did not run.
    fn add(&mut self, check: &Check, is_required: bool) {
        self.seen.insert(check.name.clone());
        let set = match check.state {
            CheckState::Passed => &mut self.passed,
            CheckState::Failed => &mut self.failed,
            CheckState::Pending => &mut self.pending,
            CheckState::Undecided => &mut self.undecided,
            CheckState::Skipped if is_required => &mut self.undecided,
            CheckState::Skipped | CheckState::Ignored => return,
        };
        set.insert(check.name.clone());
    }
}

#[cfg(test)]
mod tests;
