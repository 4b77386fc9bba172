//! Agents, whose runs take time and end in one of the ways runs end; and the CI that checks their commits.

use std::time::Duration;

use pilot_core::budget::{Limit, Shortage, Usd, reserve};
use pilot_core::ci::CheckState;
use pilot_core::fact::{Gate, RunEnding, Work};
use pilot_core::id::{ProjectId, Sha, TaskKey};
use pilot_core::outcome::Class;
use pilot_core::policy::Watch;
use pilot_core::route::Complexity;
use pilot_core::task::RunRequest;
use pilot_core::time::Timestamp;

use super::forge::CheckModel;
use super::world::World;

/// A run that is under way.
#[derive(Clone, Debug)]
pub(super) struct RunModel {
    pub(super) daemon: usize,
    pub(super) project: ProjectId,
    pub(super) request: RunRequest,
    /// The commit it starts from.
    pub(super) base: Sha,
    pub(super) is_stopping: bool,
}

/// A commit that a run made.
#[derive(Clone, Debug)]
pub(super) struct CommitModel {
    pub(super) task: TaskKey,
    /// The commit it started from.
    pub(super) base: Sha,
    /// Whether it continues the work of an earlier run.
    pub(super) is_fix: bool,
}

impl World {
    /// How long a run takes.
    pub(super) fn run_time(&mut self) -> Duration {
        let most = if self.setup.is_scripted { 200 } else { 900 };
        Duration::from_secs(self.random.between(20, most))
    }

    /// How a run ends.
    pub(super) fn run_ending(&mut self, run: &RunModel) -> RunEnding {
        let soon =
            |world: &mut World| Some(world.now.after(Duration::from_secs(world.random.between(5, 120))));
        let stopped = |class: Class, again_at: Option<Timestamp>| RunEnding::Stopped {
            class,
            reason: format!("the agent ended with {class}"),
            again_at,
        };
        if run.is_stopping {
            return stopped(Class::Cancelled, None);
        }
        if self.setup.is_scripted {
            return self.completed(run);
        }
        match self.random.below(100) {
            0..=79 => self.completed(run),
            80..=83 => stopped(Class::GateFailed, None),
            84..=87 => {
                let again = soon(self);
                stopped(Class::ApiError, again)
            }
            88..=91 => {
                let again = Some(self.now.after(Duration::from_secs(600)));
                stopped(Class::RateLimit, again)
            }
            92..=94 => stopped(Class::NoChanges, None),
            95 => stopped(Class::Auth, None),
            96 => stopped(Class::Declined, None),
            97 => self.over_budget(),
            _ => {
                let again = soon(self);
                stopped(Class::Timeout, again)
            }
        }
    }

    /// The budget does not admit the run, for a while.
    fn over_budget(&mut self) -> RunEnding {
        let until = self.now.after(Duration::from_secs(self.random.between(60, 1800)));
        let shortage = Shortage {
            limit: Limit::Daily,
            size: Complexity::Medium,
            reserve: reserve::MEDIUM,
            spent: Usd::from_micros(50_000_000),
            reserved: Usd::ZERO,
            most: Usd::from_micros(50_000_000),
            until,
            has_begun: self.random.percent(30),
        };
        RunEnding::OverBudget { shortage }
    }

    fn completed(&mut self, run: &RunModel) -> RunEnding {
        let sha = self.forge(&run.project).new_sha();
        let (task, base) = (run.request.task.clone(), run.base.clone());
        let is_fix = run.request.from.is_some();
        self.commits.insert(sha.clone(), CommitModel { task, base: base.clone(), is_fix });
        RunEnding::Completed(Box::new(Work {
            sha,
            base,
            gates: vec![Gate { name: "test".to_owned(), result: "passed".to_owned() }],
            review: None,
            route: None,
            cost_micro_usd: Some(120_000),
            files_changed: Some(2),
        }))
    }

    /// What CI will say about a commit that was just pushed.
    pub(super) fn plan_ci(&mut self, project: &ProjectId, sha: &Sha) {
        if self.policy(project).ci.watch == Watch::Nothing || self.forge(project).now.ci.contains_key(sha) {
            return;
        }
        if self.setup.is_scripted {
            return self.plan_scripted_ci(project, sha);
        }
        let is_fix = self.commits.get(sha).is_some_and(|commit| commit.is_fix);
        let fails = self.random.percent(if is_fix { 45 } else { 30 });
        // Now and then nothing ever reports.
        let checks = if self.random.percent(4) { 0 } else { self.random.between(1, 3) };
        let mut models = Vec::new();
        let mut last_end = self.now;
        for place in 0..checks {
            let late = place > 0 && self.random.percent(25);
            let from = if late { last_end } else { self.now };
            // A late one appears when the others are over, but within the time that two readings must agree.
            let appears = from.after(Duration::from_secs(self.random.between(1, 20)));
            let ends = appears.after(Duration::from_secs(self.random.between(5, 200)));
            last_end = last_end.max(ends);
            let result = match self.random.below(100) {
                _ if place + 1 == checks && fails => CheckState::Failed,
                0..=3 => CheckState::Undecided,
                4..=7 => CheckState::Skipped,
                8..=11 => CheckState::Ignored,
                _ => CheckState::Passed,
            };
            let is_status = self.random.percent(30);
            // A commit status has no other word.
            let result = if is_status && result != CheckState::Failed { CheckState::Passed } else { result };
            let name = if place == 0 { "build".to_owned() } else { format!("check-{place}") };
            models.push(CheckModel { name, is_status, appears, ends, result });
        }
        let now = self.now;
        self.forge(project).change(now, |state| state.ci.insert(sha.clone(), models.into()));
    }

    /// The first commit fails, all others pass.
    fn plan_scripted_ci(&mut self, project: &ProjectId, sha: &Sha) {
        let now = self.now;
        let first = self.forge_of(project).now.ci.is_empty();
        let result = if first { CheckState::Failed } else { CheckState::Passed };
        let check = |name: &str, is_status: bool, seconds: u64| CheckModel {
            name: name.to_owned(),
            is_status,
            appears: now.after(Duration::from_secs(5)),
            ends: now.after(Duration::from_secs(seconds)),
            result,
        };
        let models = vec![check("build", false, 60), check("deploy", true, 75)];
        self.forge(project).change(now, |state| state.ci.insert(sha.clone(), models.into()));
    }
}
