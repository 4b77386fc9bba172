//! One run, from its row in the store to its result: the core's `run_plan` says what comes next, this does it and reports
//! what came of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use pilot_core::budget::{Shortage, Standing};
use pilot_core::gate::{Feedback, GateVerdict, Root, choose};
use pilot_core::outcome::{Class, Outcome, StreamFacts};
use pilot_core::progress::words;
use pilot_core::prompt::Budget;
use pilot_core::retry::RetryPlace;
use pilot_core::review::Review;
use pilot_core::run::{GateReport, RunResult};
use pilot_core::run_plan::{self, History, NextStep, RunMoment, RunPolicy};
use pilot_core::stream::Usage;
use pilot_exec::gate::read_root;
use pilot_exec::process::Containment;
use pilot_exec::workspace::{Finalised, RunFinding, Workspace};
use pilot_store::{Cap, RunId, Store, StreamRecorder};

use super::classify::Classified;
use super::control::Control;
use super::cost_meter::CostMeter;
use super::live::LiveRun;
use super::output::RunOutput;
use super::pictures::{self, TaskImage};
use super::plan::TaskPlan;
use super::prompts::Prompts;
use super::record;
use super::view::View;
use crate::agent::call::{AgentProgram, Launcher};
use crate::agent::evidence::EndedSession;
use crate::agent::interrupts::Interrupts;
use crate::clock::{self, Stopwatch};
use crate::config::Environment;

/// A run that was admitted and has its workspace.
pub(crate) struct RunStart<'s> {
    pub(crate) plan: &'s TaskPlan,
    pub(crate) environment: &'s Environment,
    pub(crate) run: &'s RunId,
    pub(crate) store: &'s Store,
    pub(crate) containment: Containment,
    /// What was spent when the run was admitted.
    pub(crate) standing: Standing,
    pub(crate) classified: Classified,
}

pub(crate) struct FinishedRun {
    pub(crate) result: RunResult,
    pub(crate) finalised: Option<Finalised>,
    /// When another attempt makes sense, in seconds since 1970.
    pub(crate) not_before: Option<u64>,
    /// The limit of the day or month at which it was stopped.
    pub(crate) shortage: Option<Shortage>,
}

pub(crate) struct TaskRun<'r> {
    pub(crate) plan: &'r TaskPlan,
    pub(crate) launcher: Launcher<'r>,
    pub(crate) interrupts: &'r mut Interrupts,
    pub(crate) live: LiveRun<'r>,
    pub(crate) workspace: Option<&'r mut Workspace>,
    pub(crate) branch: String,
    pub(crate) images: Vec<PathBuf>,
    pub(crate) prompts: Prompts<'r>,
    pub(crate) root: Root,
    pub(crate) history: History,
    /// The result so far, in git.
    pub(crate) finalised: Option<Finalised>,
    /// Whether the worktree may differ from `finalised`.
    pub(crate) is_open: bool,
    /// The last result that passed its gates.
    pub(crate) passed: Option<Finalised>,
    /// The last working session, and what its output says.
    pub(crate) session: Option<EndedSession>,
    pub(crate) facts: StreamFacts,
    pub(crate) verdict: Option<GateVerdict>,
    pub(crate) feedback: Option<Feedback>,
    pub(crate) review: Option<Review>,
    pub(crate) not_before: Option<u64>,
    /// The agent of the last working session, and its time limit.
    pub(crate) agent: &'r AgentProgram,
    pub(crate) timeout: Duration,
}

impl RunStart<'_> {
    /// Carries the task out in its workspace; a question has none.
    pub(crate) async fn carry_out(
        &self,
        workspace: Option<&mut Workspace>,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> anyhow::Result<FinishedRun> {
        record::begin(self, workspace.as_deref()).await?;
        let home = self.plan.loaded.home.path();
        let control = Control::open(home, self.run).context("open the run for commands")?;
        let images = pictures::fetch(self, &control, interrupts, view).await;
        let mut run = self.prepare(&control, workspace, interrupts, view, images).await?;
        let outcome = run.follow_plan().await?;
        let (result, charge) = (run.result(self.run, &outcome), run.live.cost.charge());
        let TaskRun { live, finalised, session, facts, review, not_before, .. } = run;
        let LiveRun { mut recorder, watch, shortage, .. } = live;
        let shortage = shortage.filter(|_| outcome.class() == Some(Class::BudgetExceeded));
        let _ = recorder.finish(self.store, watch.millis()).await;
        // Before the row is closed: the directory of a closed run is never looked for again.
        control.close();
        let review = review.as_ref().filter(|_| finalised.is_some());
        if let Err(error) =
            record::end(self, session.as_ref(), &outcome, &facts, &result, (charge, review)).await
        {
            // What the agent did is in git, whatever became of the store.
            view.warn(&format!("cannot store the end of the run: {error:#}"));
        }
        Ok(FinishedRun { result, finalised, not_before, shortage })
    }

    async fn prepare<'r>(
        &'r self,
        control: &'r Control,
        workspace: Option<&'r mut Workspace>,
        interrupts: &'r mut Interrupts,
        view: &'r mut View,
        images: Option<Vec<TaskImage>>,
    ) -> anyhow::Result<TaskRun<'r>> {
        let (plan, config) = (self.plan, self.plan.config()?);
        let (project, key) = (plan.project.to_string_lossy(), plan.job.key.as_str());
        let stopped = images.is_none() || self.classified.cancelled;
        let live = self.live_run(control, view, stopped).await?;
        let images = images.unwrap_or_default();
        let launcher = Launcher {
            executor: &config.executor,
            environment: self.environment,
            containment: self.containment.clone(),
            dir: workspace.as_ref().map_or(plan.project.clone(), |workspace| workspace.path().to_owned()),
            tmp: control.tmp(),
        };
        let root = read_root(&launcher.dir);
        let gates = choose(&config.quality, std::slice::from_ref(&root));
        let branch =
            workspace.as_ref().map_or_else(String::new, |workspace| workspace.branch().as_str().to_owned());
        let files = images.iter().filter_map(|image| image.file().cloned()).collect();
        Ok(TaskRun {
            plan,
            prompts: Prompts::new(plan, &branch, &launcher.dir, &gates, self.prompt_budget()?, images),
            launcher,
            interrupts,
            live,
            workspace,
            branch,
            images: files,
            root,
            history: History::new(self.store.retries(&project, key).await?),
            finalised: None,
            is_open: false,
            passed: None,
            session: None,
            facts: StreamFacts::default(),
            verdict: None,
            feedback: None,
            review: plan.skips_review()?.map(Review::skipped),
            not_before: None,
            agent: &plan.agent,
            timeout: plan.route.timeout,
        })
    }

    async fn live_run<'r>(
        &'r self,
        control: &'r Control,
        view: &'r mut View,
        cancelled: bool,
    ) -> anyhow::Result<LiveRun<'r>> {
        let (config, classified) = (self.plan.config()?, &self.classified);
        let project = self.plan.project.to_string_lossy();
        let spent = self.store.spent_on(&project, &self.plan.job.key).await?;
        let cap = Cap::of(usize::try_from(config.executor.limits.output).unwrap_or(usize::MAX));
        Ok(LiveRun {
            store: self.store,
            run: self.run,
            control,
            watch: Stopwatch::start(),
            output: RunOutput::new(config.executor.stagnation.clone(), classified.usage, view.verbose),
            view,
            recorder: StreamRecorder::new(self.store, self.run.clone(), cap),
            cost: CostMeter::new(&config.budget, spent, &self.standing, classified.charge),
            size: self.plan.route.complexity,
            over_budget: None,
            shortage: None,
            ledger_synced: None,
            paused: false,
            cancelled,
            notices: Vec::new(),
        })
    }

    fn prompt_budget(&self) -> anyhow::Result<Budget> {
        let config = &self.plan.config()?.budget;
        if !config.enabled {
            return Ok(Budget::default());
        }
        let caps = &config.per_task;
        Ok(Budget {
            tokens: Some(u64::from(caps.max_tokens)),
            usd_cents: caps.max_cost.map(|usd| usd.micros() / 10_000),
            minutes: Some(self.plan.route.timeout.min(caps.max_duration).as_secs() / 60),
        })
    }
}

impl TaskRun<'_> {
    /// Does what the run plan says until the run is over.
    async fn follow_plan(&mut self) -> anyhow::Result<Outcome> {
        let config = self.plan.config()?;
        let policy = RunPolicy {
            retry: &config.executor.retry,
            gates: self.plan.is_gated(),
            review: self.plan.skips_review()?.is_none(),
            has_fallback: self.plan.fallback.is_some(),
            place: if self.live.view.reports { RetryPlace::Daemon } else { RetryPlace::Foreground },
        };
        loop {
            let moment = RunMoment {
                now: u64::try_from(clock::now().0 / 1_000_000).unwrap_or(0),
                jitter: clock::jitter(),
                elapsed: self.live.watch.elapsed(),
            };
            match run_plan::next(&self.history, &policy, &moment) {
                NextStep::Work(work) => self.work(work).await?,
                NextStep::Gates { .. } => self.run_gates().await?,
                NextStep::Review { head } => self.run_review(&head).await?,
                NextStep::End(end) => return Ok(self.end(end)),
            }
        }
    }

    fn result(&self, run: &RunId, outcome: &Outcome) -> RunResult {
        let shown = outcome.shown(self.live.output.state.progress.shown());
        let changed = self.finalised.as_ref().filter(|finalised| finalised.has_changes());
        let review = self.review.as_ref().filter(|_| self.finalised.is_some());
        let is_set = |finalised: &Finalised| {
            !finalised.found.iter().any(|finding| matches!(finding, RunFinding::BranchNotSet { .. }))
        };
        RunResult {
            task: self.plan.job.key.clone(),
            run: run.to_string(),
            status: outcome.status(),
            class: outcome.class(),
            reason: outcome.reason().to_owned(),
            branch: changed.filter(|finalised| is_set(finalised)).map(|_| self.branch.clone()),
            base_sha: self.workspace.as_ref().map(|workspace| workspace.base().clone()),
            commit_sha: changed.map(|finalised| finalised.head.clone()),
            commits: changed.map_or(0, |finalised| finalised.commits.len() as u64),
            files_changed: changed.map_or(0, |finalised| finalised.files_changed() as u64),
            route: self.plan.route.clone(),
            attempts: self.live.output.sessions,
            gates: self
                .verdict
                .as_ref()
                .map(|verdict| verdict.results().iter().map(GateReport::from).collect()),
            review: review.map(|review| review.to_string().lines().next().unwrap_or_default().to_owned()),
            usage: Usage { cost_usd: self.live.cost_usd(), ..self.live.output.usage() },
            progress: shown.percent,
            phase: words::phase(&shown.phase),
            final_message: self.facts.final_message().to_owned(),
            duration_ms: self.live.watch.millis(),
            pr_number: None,
            pr_url: None,
        }
    }
}
