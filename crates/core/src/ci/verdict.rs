//! The verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::CiFacts;
use super::reading::{Check, CheckState, Conclusion, Reading, Required, StatusMark, StatusState};
use crate::name::Sha;
use crate::policy::{CiPolicy, Watch};
use crate::time::Timestamp;

/// What CI says about a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It passed.
    Passed(CiPassed),
    /// It failed.
    Failed(CiFailed),
    /// Something is under way.
    Pending {
        /// What.
        names: BTreeSet<String>,
    },
    /// Nobody can say.
    Unknown(Doubt),
}

/// A commit that CI passed. Only [`judge`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiPassed {
    sha: Sha,
    checks: BTreeSet<String>,
}

impl CiPassed {
    /// The commit.
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
    /// The commit.
    pub fn sha(&self) -> &Sha {
        &self.sha
    }

    /// What failed.
    pub fn failed(&self) -> &BTreeSet<String> {
        &self.failed
    }
}

/// Why nobody can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Nobody has looked at this commit yet.
    NotRead,
    /// Nothing has reported, and the time in which that is ordinary is not over.
    Discovering,
    /// Nothing has reported.
    NoChecks,
    /// It reads well or badly, and is to be read once more.
    Unconfirmed,
    /// What must be there could not be read.
    RequiredUnknown,
    /// These ended without saying whether the commit is good: cancelled, stale, waiting for a person, or skipped although
    /// they must run.
    Undecided {
        /// Which.
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
        return Verdict::Unknown(Doubt::NotRead);
    };
    match look_at(&facts.reading, exclude, configured) {
        Verdict::Unknown(Doubt::NoChecks) if now.since(head_since) < policy.discovery_grace => {
            Verdict::Unknown(Doubt::Discovering)
        }
        Verdict::Passed(_) | Verdict::Failed(_) if facts.last.since(facts.since) < policy.poll_interval => {
            Verdict::Unknown(Doubt::Unconfirmed)
        }
        verdict @ (Verdict::Passed(_)
        | Verdict::Failed(_)
        | Verdict::Pending { .. }
        | Verdict::Unknown(_)) => verdict,
    }
}

impl CiPolicy {
    /// Whether something is under way, so that what must be there does not matter yet.
    pub fn is_under_way(&self, checks: &BTreeSet<Check>, statuses: &BTreeSet<StatusMark>) -> bool {
        match &self.watch {
            Watch::Nothing => false,
            Watch::Checks { exclude, required } => {
                !Tally::of(checks, statuses, exclude, required).pending.is_empty()
            }
        }
    }

    /// Whether a reading would be a verdict, if another one said the same.
    pub(crate) fn is_final(&self, reading: &Reading) -> bool {
        match &self.watch {
            Watch::Nothing => false,
            Watch::Checks { exclude, required } => match look_at(reading, exclude, required) {
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
                matches!(look_at(reading, exclude, required), Verdict::Passed(_))
            }
        }
    }
}

/// What a single reading says, were it final.
fn look_at(reading: &Reading, exclude: &BTreeSet<String>, configured: &BTreeSet<String>) -> Verdict {
    let known = match &reading.required {
        Required::Known(names) => Some(names),
        Required::Unknown => None,
    };
    let required: BTreeSet<String> = known.into_iter().flatten().chain(configured).cloned().collect();
    let tally = Tally::of(&reading.checks, &reading.statuses, exclude, &required);
    let absent: BTreeSet<String> = required.difference(&tally.seen).cloned().collect();
    if !tally.pending.is_empty() {
        Verdict::Pending { names: tally.pending.union(&absent).cloned().collect() }
    } else if known.is_none() {
        Verdict::Unknown(Doubt::RequiredUnknown)
    } else if tally.seen.is_empty() {
        Verdict::Unknown(Doubt::NoChecks)
    } else if !tally.failed.is_empty() {
        Verdict::Failed(CiFailed { sha: reading.sha.clone(), failed: tally.failed })
    } else if !absent.is_empty() {
        Verdict::Pending { names: absent }
    } else if !tally.undecided.is_empty() {
        Verdict::Unknown(Doubt::Undecided { names: tally.undecided })
    } else if tally.passed.is_empty() {
        Verdict::Unknown(Doubt::NothingRan)
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
    fn of(
        checks: &BTreeSet<Check>,
        statuses: &BTreeSet<StatusMark>,
        exclude: &BTreeSet<String>,
        required: &BTreeSet<String>,
    ) -> Tally {
        let mut tally = Tally::default();
        for check in checks.iter().filter(|check| !exclude.contains(&check.name)) {
            let required = required.contains(&check.name);
            tally.add(&check.name, of_check(check.state, required));
        }
        for status in statuses.iter().filter(|status| !exclude.contains(&status.context)) {
            tally.add(&status.context, of_status(status.state));
        }
        tally
    }

    fn add(&mut self, name: &str, meaning: Meaning) {
        self.seen.insert(name.to_owned());
        let set = match meaning {
            Meaning::Passed => &mut self.passed,
            Meaning::Failed => &mut self.failed,
            Meaning::Pending => &mut self.pending,
            Meaning::Undecided => &mut self.undecided,
            Meaning::Nothing => return,
        };
        set.insert(name.to_owned());
    }
}

/// What one report means for the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Passed,
    Failed,
    Pending,
    Undecided,
    Nothing,
}

/// The table. A cancelled, stale or waiting check says nothing about the code, so it destroys nothing and lets nothing pass;
/// one that must run and was skipped did not run.
fn of_check(state: CheckState, required: bool) -> Meaning {
    let conclusion = match state {
        CheckState::Queued | CheckState::InProgress => return Meaning::Pending,
        CheckState::Completed(conclusion) => conclusion,
    };
    match conclusion {
        Conclusion::Success => Meaning::Passed,
        Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => Meaning::Failed,
        Conclusion::Cancelled | Conclusion::Stale | Conclusion::ActionRequired => Meaning::Undecided,
        Conclusion::Skipped if required => Meaning::Undecided,
        Conclusion::Skipped | Conclusion::Neutral => Meaning::Nothing,
    }
}

fn of_status(state: StatusState) -> Meaning {
    match state {
        StatusState::Success => Meaning::Passed,
        StatusState::Pending => Meaning::Pending,
        StatusState::Failure | StatusState::Error => Meaning::Failed,
    }
}

#[cfg(test)]
mod tests;
