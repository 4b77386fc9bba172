//! Rules broken on purpose, one at a time. The laws must notice each.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState};
use pilot_core::fact::TaskEvent;
use pilot_core::id::{InstanceId, ProjectId, Sha};
use pilot_core::observed::{TicketState, Trust};
use pilot_core::port::{Answer, Call, ForgeAnswer, GitAnswer, GitCall, Reply, TrackerAnswer, TrackerCall};
use pilot_core::schedule::{Job, RecordFor};
use pilot_core::task::{Action, Query};
use pilot_core::turn::{Input, Loaded, TaskChange};

use super::request::Request;
use super::world::World;

macro_rules! mutants {
    ($($(#[$meta:meta])* $mutant:ident),+ $(,)?) => {
        /// A rule that is broken. Each was a bug of a real product.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant { $($(#[$meta])* $mutant),+ }

        impl Mutant {
            pub const ALL: [Mutant; [$(Mutant::$mutant),+].len()] = [$(Mutant::$mutant),+];
        }
    };
}

mutants!(
    /// No claim is shown to other Pilots.
    DropClaim,
    /// The label is written before the claim.
    LabelBeforeClaim,
    /// A pull request is opened without searching for one.
    NoSearchForPr,
    /// A comment is written without searching for one.
    NoSearchForComment,
    /// After an answer to a question nothing searches for a second one.
    NoSearchForAnswers,
    /// A ticket for a fix is opened without searching for one.
    NoSearchForFix,
    /// After a lost reply the same call is made again.
    BlindRepeat,
    /// A commit without checks passes.
    EmptyCiPasses,
    /// One failed check is enough, although others are pending.
    FirstFailureWins,
    /// Commit statuses are not read.
    ChecksOnly,
    /// One reading is a verdict.
    OneReadingIsEnough,
    /// The merge does not name the commit.
    MergeWithoutSha,
    /// The ticket is closed when its pull request opens.
    CloseBeforeMerged,
    /// People's reviews are not read before a merge.
    IgnoreReviews,
    /// What the forge calls merged is done, also when the commit is not on the base branch.
    MergedIsDone,
    /// An instance whose claim was taken over may still write.
    NoFencing,
    /// A run that ended because its Pilot crashed counts as a failure.
    CrashCounts,
    /// A run that the budget did not admit counts as a failure.
    RefusalCounts,
    /// An action that may have happened is repeated while reads may still be stale.
    NoSettleTime,
    /// A single read of a closed pull request is believed.
    BelieveOneRead,
    /// Untrusted people may set Pilot to work.
    UntrustedMayStart,
    /// Untrusted people may give commands.
    UntrustedMayCommand,
    /// A run starts with a text that changed since it was admitted.
    OldText,
    /// Dependencies are not waited for.
    NoDependencies,
    /// The branch is deleted with the pull request whose CI failed.
    DeleteBranchOnFix,
    /// There is no limit to CI fixes in a row.
    EndlessFixes,
    /// Where one task at a time is configured, several run.
    AllAtOnce,
    /// A pull request that is held does not keep other tasks from starting.
    HeldFreesTurn,
    /// Failed runs in a row do not stop a project.
    NoBreaker,
    /// Comments are read only when the list of labelled tickets has changed.
    CommandsOnlyWithListing,
    /// What dead instances left is not taken over.
    NoTakeover,
    /// A task is never looked at again when its time has come.
    NeverLookAgain,
    /// Commands are received and dropped.
    CommandsDropped,
    /// A run that shall stop is not stopped.
    StopIgnored,
    /// The queue is read once.
    DispatchOnce,
);

impl Mutant {
    /// The mutant of this name, as `{:?}` writes it.
    pub fn parse(name: &str) -> Option<Mutant> {
        Mutant::ALL.into_iter().find(|mutant| format!("{mutant:?}") == name)
    }
}

impl World {
    /// Whether a broken Pilot forgets a job of its schedule.
    pub(super) fn drops_job(&mut self, job: &Job) -> bool {
        match (self.mutant, job) {
            (Some(Mutant::NeverLookAgain), Job::LookAt { .. })
            | (Some(Mutant::StopIgnored), Job::StopRun { .. }) => true,
            (Some(Mutant::CommandsDropped), Job::Record(record)) => record.purpose == RecordFor::Command,
            (Some(Mutant::DispatchOnce), Job::Dispatch { .. }) => self.totals.runs > 0,
            (_, _) => false,
        }
    }

    /// A reply to an action's call, as a broken Pilot takes it.
    pub(super) fn mutate_action_reply(&self, action: &Action, place: usize, reply: Reply) -> Reply {
        let Ok(answer) = reply else { return reply };
        Ok(match (self.mutant, action, place, answer) {
            (Some(Mutant::NoSearchForPr), Action::OpenPr(_), 0, _) => {
                Answer::Forge(ForgeAnswer::Pulls(Vec::new()))
            }
            (Some(Mutant::IgnoreReviews), _, _, Answer::Forge(ForgeAnswer::Reviews(_))) => {
                Answer::Forge(ForgeAnswer::Reviews(Vec::new()))
            }
            (
                Some(Mutant::NoSearchForFix),
                Action::OpenFix(_),
                _,
                Answer::Tracker(TrackerAnswer::OwnTickets(_)),
            ) => Answer::Tracker(TrackerAnswer::OwnTickets(Vec::new())),
            (Some(Mutant::NoSearchForComment), _, _, Answer::Tracker(TrackerAnswer::Comments(_))) => {
                Answer::Tracker(TrackerAnswer::Comments(Vec::new()))
            }
            (Some(Mutant::NoSearchForComment), _, _, Answer::Forge(ForgeAnswer::Comments(_))) => {
                Answer::Forge(ForgeAnswer::Comments(Vec::new()))
            }
            (Some(Mutant::NoSearchForAnswers), Action::AnswerOnce { .. }, _, Answer::Tracker(_)) => {
                Answer::Tracker(TrackerAnswer::Comments(Vec::new()))
            }
            (Some(Mutant::DropClaim), Action::PlaceClaim { .. }, _, _) => Answer::Git(GitAnswer::Claim(None)),
            (
                Some(Mutant::OldText),
                Action::StartRun(request),
                _,
                Answer::Tracker(TrackerAnswer::Ticket(Some(mut read))),
            ) => {
                read.ticket.body.hash = request.body.clone();
                Answer::Tracker(TrackerAnswer::Ticket(Some(read)))
            }
            (_, _, _, Answer::Forge(ForgeAnswer::Checks(checks))) => {
                Answer::Forge(ForgeAnswer::Checks(self.mutate_checks(checks)))
            }
            (_, _, _, answer) => answer,
        })
    }

    /// A reply to a query's call, as a broken Pilot takes it.
    pub(super) fn mutate_query_reply(&self, query: &Query, reply: Reply) -> Reply {
        let Ok(answer) = reply else { return reply };
        Ok(match (self.mutant, query, answer) {
            (_, _, Answer::Forge(ForgeAnswer::Checks(checks))) => {
                Answer::Forge(ForgeAnswer::Checks(self.mutate_checks(checks)))
            }
            (Some(Mutant::UntrustedMayStart), Query::Trust { .. }, _) => {
                Answer::Tracker(TrackerAnswer::Trust(Trust::Trusted))
            }
            (Some(Mutant::MergedIsDone), Query::Base { .. }, Answer::Git(_)) => {
                Answer::Git(GitAnswer::Contains(true))
            }
            (Some(Mutant::MergedIsDone), Query::Base { .. }, Answer::Forge(_)) => {
                Answer::Forge(ForgeAnswer::Contains(true))
            }
            (
                Some(Mutant::NoDependencies),
                Query::Dependency { .. },
                Answer::Tracker(TrackerAnswer::Ticket(Some(mut read))),
            ) => {
                read.ticket.state = TicketState::Closed;
                Answer::Tracker(TrackerAnswer::Ticket(Some(read)))
            }
            (_, _, answer) => answer,
        })
    }

    /// A reply to a poll's call, as a broken Pilot takes it.
    pub(super) fn mutate_poll_reply(&self, reply: Reply) -> Reply {
        match reply {
            Ok(Answer::Tracker(TrackerAnswer::Trust(_))) if self.is(Mutant::UntrustedMayCommand) => {
                Ok(Answer::Tracker(TrackerAnswer::Trust(Trust::Trusted)))
            }
            reply => reply,
        }
    }

    fn mutate_checks(&self, mut checks: BTreeSet<Check>) -> BTreeSet<Check> {
        match self.mutant {
            Some(Mutant::EmptyCiPasses) if checks.is_empty() => {
                checks.insert(Check { name: "none".to_owned(), state: CheckState::Passed });
            }
            Some(Mutant::FirstFailureWins) => {
                let has_failed = |check: &Check| check.state == CheckState::Failed;
                if checks.iter().any(has_failed) {
                    checks.retain(has_failed);
                }
            }
            Some(_) | None => {}
        }
        checks
    }

    /// The checks of a commit without what came as a commit status.
    pub(super) fn without_statuses(&self, project: &ProjectId, sha: &Sha, reply: Reply) -> Reply {
        let Ok(Answer::Forge(ForgeAnswer::Checks(mut checks))) = reply else { return reply };
        if let Some(models) = self.forge_of(project).now.ci.get(sha) {
            checks.retain(|check| !models.iter().any(|model| model.is_status && model.name == check.name));
        }
        Ok(Answer::Forge(ForgeAnswer::Checks(checks)))
    }

    /// An event, as a broken Pilot takes it.
    pub(super) fn mutate_input(&self, loaded: &Loaded, input: Option<&Input>) -> Option<Input> {
        let (Some(Mutant::NoFencing), Some(input), Some(claim)) =
            (self.mutant, input, &loaded.task.life.claim)
        else {
            return None;
        };
        let TaskEvent::RunEnded { ending, .. } = &input.event else { return None };
        let event = TaskEvent::RunEnded { generation: claim.generation, ending: ending.clone() };
        Some(Input { event, settles: input.settles.clone() })
    }

    /// The instance as which a broken Pilot writes.
    pub(super) fn mutate_instance(&self, daemon: usize, loaded: &Loaded) -> InstanceId {
        match (self.mutant, &loaded.task.life.claim) {
            (Some(Mutant::NoFencing), Some(claim)) => claim.instance.clone(),
            (_, _) => self.instance(daemon),
        }
    }

    /// What a broken Pilot does besides.
    pub(super) fn mutate_world(&mut self, daemon: usize, project: &ProjectId, change: &TaskChange) {
        let has_opened =
            change.log.iter().any(|entry| matches!(entry.event, Some(TaskEvent::PrOpened { .. })));
        let has_closed =
            change.log.iter().any(|entry| matches!(entry.event, Some(TaskEvent::PrClosed { .. })));
        let call = match (self.mutant, &change.facts.life.pushed) {
            (Some(Mutant::CloseBeforeMerged), _) if has_opened => {
                Call::Tracker(TrackerCall::Close(change.facts.key.clone()))
            }
            (Some(Mutant::DeleteBranchOnFix), Some(pushed)) if has_closed => {
                let (branch, expect) = (pushed.branch.clone(), pushed.sha.clone());
                Call::Git(GitCall::DeleteBranch { branch, expect })
            }
            (_, _) => return,
        };
        // An epoch that never was: the missing outbox entry is not what this is about.
        let (home, project) = (self.daemons[daemon].owner.clone(), project.clone());
        let request = Request { daemon, epoch: u64::MAX, home, id: 0, project, call, key: None, etag: None };
        self.judge_write(&request);
        let now = self.now;
        let _ = self.forge(&request.project).write(&request.call, &request.home, now);
    }
}
