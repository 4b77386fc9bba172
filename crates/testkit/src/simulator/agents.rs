//! Agents: they take their time, and end in one of the ways runs end. And the CI that judges their commits.

use std::time::Duration;

use pilot_core::ci::Conclusion;
use pilot_core::fact::{Gate, RunEnding, Work};
use pilot_core::name::{ProjectId, Sha};
use pilot_core::outcome::Class;
use pilot_core::policy::Watch;
use pilot_core::task::RunOrder;
use pilot_core::time::Timestamp;

use super::forge::CheckModel;
use super::world::World;

/// A run that is under way.
#[derive(Clone, Debug)]
pub(super) struct RunModel {
    pub(super) daemon: usize,
    pub(super) project: ProjectId,
    pub(super) order: RunOrder,
    pub(super) stopping: bool,
}

/// A commit some run made, with what is true about it.
#[derive(Clone, Debug)]
pub(super) struct CommitModel {
    /// The commit it goes on from, for a fix.
    pub(super) from: Option<Sha>,
}

impl World {
    /// How long a run takes.
    pub(super) fn run_time(&mut self) -> Duration {
        let most = if self.scene.scripted { 200 } else { 900 };
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
        if run.stopping {
            return stopped(Class::Cancelled, None);
        }
        if self.scene.scripted {
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
            _ => {
                let again = soon(self);
                stopped(Class::Timeout, again)
            }
        }
    }

    fn completed(&mut self, run: &RunModel) -> RunEnding {
        let forge = self.forge(&run.project);
        let base = forge.now.base.last().cloned().expect("a base branch has a commit");
        let sha = forge.new_sha();
        self.commits.insert(sha.clone(), CommitModel { from: run.order.from.clone() });
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
        if self.scene.scripted {
            return self.plan_scripted_ci(project, sha);
        }
        let is_fix = self.commits.get(sha).is_some_and(|commit| commit.from.is_some());
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
                _ if place + 1 == checks && fails => Conclusion::Failure,
                0..=3 => Conclusion::Cancelled,
                4..=7 => Conclusion::Skipped,
                8..=11 => Conclusion::Neutral,
                _ => Conclusion::Success,
            };
            let status_api = self.random.percent(30);
            let name = if place == 0 { "build".to_owned() } else { format!("check-{place}") };
            models.push(CheckModel { name, status_api, appears, ends, result });
        }
        let now = self.now;
        self.forge(project).change(now, |state| state.ci.insert(sha.clone(), models.into()));
    }

    /// The very first commit fails, all others pass.
    fn plan_scripted_ci(&mut self, project: &ProjectId, sha: &Sha) {
        let now = self.now;
        let first = self.forge_of(project).now.ci.is_empty();
        let result = if first { Conclusion::Failure } else { Conclusion::Success };
        let check = |name: &str, status_api: bool, seconds: u64| CheckModel {
            name: name.to_owned(),
            status_api,
            appears: now.after(Duration::from_secs(5)),
            ends: now.after(Duration::from_secs(seconds)),
            result,
        };
        let models = vec![check("build", false, 60), check("deploy", true, 75)];
        self.forge(project).change(now, |state| state.ci.insert(sha.clone(), models.into()));
    }
}
