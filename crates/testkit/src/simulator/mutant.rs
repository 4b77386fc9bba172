//! Rules broken on purpose, one at a time. A simulator that does not notice is blind.

use pilot_core::ci::{Check, CheckState, Conclusion, Reading};
use pilot_core::fact::Happened;
use pilot_core::name::{InstanceId, ProjectId};
use pilot_core::perform::Call;
use pilot_core::turn::{Input, Loaded, TaskChange};

use super::world::World;

/// A rule that is broken. Each was somebody's bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// No claim is shown to other Pilots.
    DropClaim,
    /// The label goes before the claim.
    LabelBeforeClaim,
    /// A pull request is opened without looking for one.
    NoLookForPr,
    /// A comment is written without looking for one.
    NoLookForComment,
    /// Whoever answered a question does not look whether somebody else did too.
    NoLookForAnswers,
    /// An issue for a fix is opened without looking for one.
    NoLookForFix,
    /// A lost reply is answered by the same call again.
    BlindRepeat,
    /// A commit without checks is green.
    EmptyCiIsGreen,
    /// One failed check is enough, whatever still runs.
    FirstFailureWins,
    /// Commit statuses are not read.
    ChecksOnly,
    /// One reading is a verdict.
    OneReadingIsEnough,
    /// The merge does not name the commit.
    MergeWithoutSha,
    /// The issue is closed when its pull request opens.
    CloseBeforeMerged,
    /// What the forge calls merged is done, wherever the commit is.
    MergedIsDone,
    /// Whoever holds a claim that was taken over may still write.
    NoFencing,
    /// A run that died with its Pilot counts as a failure.
    DeathCounts,
    /// What may have happened is repeated before the forge's lists can be believed.
    NoGrace,
    /// A single read of a closed pull request is believed.
    BelieveOneRead,
    /// Anybody may set Pilot to work.
    AnybodyMayStart,
    /// Anybody may give orders.
    AnybodyMayOrder,
    /// The text of an issue is not read again before a run.
    OldText,
    /// Dependencies are not waited for.
    NoDependencies,
    /// The branch is deleted with the pull request whose CI failed.
    DeleteBranchOnFix,
    /// Fixes of CI have no end.
    EndlessFixes,
    /// One task at a time is as many as there is room for.
    EverythingAtOnce,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 25] = [
        Mutant::DropClaim,
        Mutant::LabelBeforeClaim,
        Mutant::NoLookForPr,
        Mutant::NoLookForComment,
        Mutant::NoLookForAnswers,
        Mutant::NoLookForFix,
        Mutant::BlindRepeat,
        Mutant::EmptyCiIsGreen,
        Mutant::FirstFailureWins,
        Mutant::ChecksOnly,
        Mutant::OneReadingIsEnough,
        Mutant::MergeWithoutSha,
        Mutant::CloseBeforeMerged,
        Mutant::MergedIsDone,
        Mutant::NoFencing,
        Mutant::DeathCounts,
        Mutant::NoGrace,
        Mutant::BelieveOneRead,
        Mutant::AnybodyMayStart,
        Mutant::AnybodyMayOrder,
        Mutant::OldText,
        Mutant::NoDependencies,
        Mutant::DeleteBranchOnFix,
        Mutant::EndlessFixes,
        Mutant::EverythingAtOnce,
    ];

    /// The mutant of this name, as `{:?}` writes it.
    pub fn parse(name: &str) -> Option<Mutant> {
        Mutant::ALL.into_iter().find(|mutant| format!("{mutant:?}") == name)
    }
}

impl World {
    /// What CI says, as a broken Pilot would read it.
    pub(super) fn twisted_ci(&self, mut reading: Reading) -> Reading {
        match self.mutant {
            Some(Mutant::EmptyCiIsGreen) if reading.checks.is_empty() && reading.statuses.is_empty() => {
                let state = CheckState::Completed(Conclusion::Success);
                reading.checks.insert(Check { name: "none".to_owned(), state });
            }
            Some(Mutant::FirstFailureWins) => {
                let failed = |check: &Check| check.state == CheckState::Completed(Conclusion::Failure);
                if reading.checks.iter().any(failed) {
                    reading.checks.retain(failed);
                    reading.statuses.clear();
                }
            }
            Some(Mutant::ChecksOnly) => reading.statuses.clear(),
            Some(_) | None => {}
        }
        reading
    }

    /// What happened, as a broken Pilot would take it.
    pub(super) fn twisted_input(&self, loaded: &Loaded, input: Option<&Input>) -> Option<Input> {
        let (Some(Mutant::NoFencing), Some(input), Some(claim)) =
            (self.mutant, input, &loaded.task.life.claim)
        else {
            return None;
        };
        let Happened::RunEnded { ending, .. } = &input.happened else { return None };
        let happened = Happened::RunEnded { generation: claim.generation, ending: ending.clone() };
        Some(Input { happened, settles: input.settles.clone() })
    }

    /// Who a broken Pilot says that it is.
    pub(super) fn twisted_instance(&self, daemon: usize, loaded: &Loaded) -> InstanceId {
        match (self.mutant, &loaded.task.life.claim) {
            (Some(Mutant::NoFencing), Some(claim)) => claim.instance.clone(),
            (_, _) => self.instance(daemon),
        }
    }

    /// What a broken Pilot does on top.
    pub(super) fn mutate_after(&mut self, daemon: usize, project: &ProjectId, change: &TaskChange) {
        let opened = change.log.iter().any(|entry| matches!(entry.happened, Some(Happened::PrOpened { .. })));
        let closed = change.log.iter().any(|entry| matches!(entry.happened, Some(Happened::PrClosed { .. })));
        let call = match (self.mutant, &change.facts.life.pushed) {
            (Some(Mutant::CloseBeforeMerged), _) if opened => Call::CloseIssue(change.facts.number),
            (Some(Mutant::DeleteBranchOnFix), Some(pushed)) if closed => {
                Call::DeleteBranch { branch: pushed.branch.clone(), expect: pushed.sha.clone() }
            }
            (_, _) => return,
        };
        // Sent without an action: what is wrong with that is not what this is about.
        let home = self.daemons[daemon].owner.clone();
        let (now, epoch) = (self.now, u64::MAX);
        self.judge_write(daemon, epoch, &home, project, &call, None);
        let _ = self.forge(project).write(&call, &home, now);
    }
}
