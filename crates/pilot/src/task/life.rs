//! A run from its first session to its result. Wiring: the core says what comes next, this does it and tells what came
//! of it.

use anyhow::Context;
use pilot_core::budget::Standing;
use pilot_core::course::History;
use pilot_core::gate::choose;
use pilot_core::outcome::{Outcome, StreamFacts};
use pilot_core::prompt::Budget;
use pilot_core::retry::Place;
use pilot_core::review::Review;
use pilot_exec::gate::look;
use pilot_exec::process::Containment;
use pilot_exec::workspace::{Finalised, Finding, Workspace};
use pilot_store::{Cap, RunId, Store, StreamRecorder};

use super::briefing::Briefing;
use super::classify::Took;
use super::control::Control;
use super::drive::Drive;
use super::interrupts::Interrupts;
use super::listen::Listener;
use super::pictures;
use super::plan::Plan;
use super::purse::Purse;
use super::remember;
use super::report::{Parts, TaskResult};
use super::rounds::Rounds;
use super::session::Sessions;
use super::view::View;
use crate::clock::Stopwatch;
use crate::config::Environment;

/// A task whose workspace is there.
pub(crate) struct Life<'l> {
    pub(crate) plan: &'l Plan,
    pub(crate) environment: &'l Environment,
    pub(crate) run: &'l RunId,
    pub(crate) store: &'l Store,
    pub(crate) containment: Containment,
    /// What was spent when the run was let in.
    pub(crate) standing: Standing,
    /// What asking how much work it is has taken.
    pub(crate) asked: Option<Took>,
    /// Whether somebody wants to know what the agent says.
    pub(crate) aloud: bool,
    /// Whether somebody waits for the end.
    pub(crate) place: Place,
}

/// A run that is over.
pub(crate) struct Lived {
    pub(crate) result: TaskResult,
    pub(crate) outcome: Outcome,
    pub(crate) finalised: Option<Finalised>,
    /// When it makes sense to try again, in seconds since 1970, if it ended for a reason that passes.
    pub(crate) not_before: Option<u64>,
}

impl Life<'_> {
    /// Runs the task in its workspace; a question has none.
    pub(crate) async fn live(
        &self,
        workspace: Option<&mut Workspace>,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> anyhow::Result<Lived> {
        let (watch, config) = (Stopwatch::start(), self.plan.config()?);
        let branch = workspace.as_ref().map(|workspace| workspace.branch().as_str().to_owned());
        let base = workspace.as_ref().map(|workspace| workspace.base().as_str().to_owned());
        remember::begin(self, branch.as_deref(), base.as_deref()).await?;
        let control =
            Control::open(self.plan.loaded.home.path(), self.run).context("open the run for orders")?;
        let tree =
            workspace.as_ref().map_or(self.plan.project.clone(), |workspace| workspace.path().to_owned());
        let pictures = pictures::fetch(self, &control, interrupts, view).await;
        let cancelled = pictures.is_none();
        let pictures = pictures.unwrap_or_default();
        let cap = Cap::of(usize::try_from(config.executor.limits.output).unwrap_or(usize::MAX));
        let sessions = Sessions {
            plan: self.plan,
            environment: self.environment,
            containment: self.containment.clone(),
            tree,
            branch: branch.clone().unwrap_or_default(),
            tmp: control.tmp(),
            images: pictures.iter().filter_map(|shown| shown.file().cloned()).collect(),
        };
        let project = self.plan.project.to_string_lossy();
        let spent = self.store.spent_on(&project, &self.plan.job.key).await?;
        let asked = self.asked.map(|took| took.charge);
        let mut purse = Purse::new(&config.budget, spent, &self.standing, asked);
        let drive = Drive {
            store: self.store,
            run: self.run,
            control: &control,
            executor: &config.executor,
            view,
            watch,
            interrupts,
            purse: &mut purse,
            beyond: None,
            cancelled,
        };
        let root = look(&sessions.tree);
        let briefing =
            Briefing::new(&self.plan.job, &sessions.branch, self.plan.route.complexity, &self.plan.templates)
                .with(&sessions.tree, &choose(&config.quality, std::slice::from_ref(&root)), self.budget()?)
                .showing(pictures);
        let mut rounds = Rounds {
            life: self,
            briefing,
            root,
            history: History::new(self.store.retries(&project, &self.plan.job.key).await?),
            agent: &self.plan.agent,
            timeout: self.plan.route.timeout,
            is_open: false,
            passed: None,
            not_before: None,
            told: StreamFacts::new(),
            verdict: None,
            feedback: None,
            review: self.plan.skips_review()?.map(Review::skipped),
            sessions,
            drive,
            listener: Listener::new(config.executor.stagnation(), self.aloud)
                .after(self.asked.map(|took| took.usage)),
            recorder: StreamRecorder::new(self.store, self.run.clone(), cap),
            workspace,
            finalised: None,
            session: None,
        };
        let outcome = rounds.all().await?;
        let Rounds { listener, mut recorder, finalised, session, told, verdict, review, not_before, .. } =
            rounds;
        let _ = recorder.finish(self.store, watch.millis()).await;
        let is_set = |finalised: &Finalised| {
            !finalised.found.iter().any(|finding| matches!(finding, Finding::BranchNotSet { .. }))
        };
        let branch = branch.filter(|_| finalised.as_ref().is_none_or(is_set));
        let result = TaskResult::new(Parts {
            task: &self.plan.job.key,
            run: self.run,
            branch,
            base_sha: base,
            outcome: &outcome,
            finalised: finalised.as_ref(),
            facts: &told,
            usage: listener.usage(),
            charge: purse.charge(),
            progress: &listener.progress,
            route: &self.plan.route,
            verdict: verdict.as_ref(),
            review: review.as_ref().filter(|_| finalised.is_some()),
            attempts: listener.sessions,
            duration_ms: watch.millis(),
        });
        // Before the row says that the run is over: afterwards nobody would look for its directory.
        control.close();
        if let Err(error) = remember::end(self, session.as_ref(), &outcome, &told, &result).await {
            // What the agent did is in git, whatever became of the store.
            view.warn(&format!("the end of the run could not be written down: {error:#}"));
        }
        Ok(Lived { result, outcome, finalised, not_before })
    }

    /// What the agent is told about its budget.
    fn budget(&self) -> anyhow::Result<Budget> {
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

    /// The message of the commit of what an agent left uncommitted.
    pub(crate) fn leftover(&self) -> String {
        let Plan { agent, job, .. } = self.plan;
        format!("chore: what {} left uncommitted\n\nTask: {}", agent.kind.as_str(), job.key)
    }
}
