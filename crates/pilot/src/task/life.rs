//! A run from its first session to its result. Wiring: the core says what comes next, this does it and says what came
//! of it.

use anyhow::Context;
use pilot_core::outcome::Outcome;
use pilot_exec::process::Containment;
use pilot_exec::workspace::{Finalised, Finding, Workspace};
use pilot_store::{Cap, RunId, Store, StreamRecorder};

use super::control::Control;
use super::drive::Drive;
use super::evidence::{self, NOTHING};
use super::interrupts::Interrupts;
use super::listen::Listener;
use super::plan::Plan;
use super::remember;
use super::report::{Parts, Route, TaskResult};
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
    /// Whether somebody wants to know what the agent says.
    pub(crate) aloud: bool,
}

/// A run that is over.
pub(crate) struct Lived {
    pub(crate) result: TaskResult,
    pub(crate) outcome: Outcome,
    pub(crate) finalised: Option<Finalised>,
}

impl Life<'_> {
    /// Runs the task in its workspace; a question has none.
    pub(crate) async fn live(
        &self,
        mut workspace: Option<&mut Workspace>,
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
        let cap = Cap::of(usize::try_from(config.executor.limits.output).unwrap_or(usize::MAX));
        let mut recorder = StreamRecorder::new(self.store, self.run.clone(), cap);
        let mut listener = Listener::new(config.executor.stagnation(), self.aloud);
        let sessions = Sessions {
            plan: self.plan,
            environment: self.environment,
            containment: self.containment.clone(),
            tree,
            branch: branch.clone().unwrap_or_default(),
            tmp: control.tmp(),
        };
        let mut drive = Drive {
            store: self.store,
            run: self.run,
            control: &control,
            executor: &config.executor,
            view,
            watch,
            interrupts,
            cancelled: false,
        };
        let call = self.plan.first_call(&sessions.branch, &sessions.tree)?;
        let session = sessions.run(call, &mut drive, &mut listener, &mut recorder).await?;
        let _ = recorder.finish(self.store, watch.millis()).await;
        let finalised = workspace.as_mut().map(|workspace| {
            workspace.limit(config.executor.finalise_timeout);
            workspace.finalise(&self.leftover())
        });
        let (git, finalised) = finalised.map_or((NOTHING, None), |result| evidence::git(result, view));
        let outcome = session.outcome(self.plan.job.goal(), &listener, &git);
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
            facts: &listener.facts,
            usage: listener.usage(),
            progress: &listener.progress,
            route: self.route()?,
            attempts: listener.sessions,
            duration_ms: watch.millis(),
        });
        // Before the row says that the run is over: afterwards nobody would look for its directory.
        control.close();
        if let Err(error) = remember::end(self, &session, &outcome, &listener, &result).await {
            // What the agent did is in git, whatever became of the store.
            view.warn(&format!("the end of the run could not be written down: {error:#}"));
        }
        Ok(Lived { result, outcome, finalised })
    }

    pub(crate) fn route(&self) -> anyhow::Result<Route> {
        let executor = &self.plan.config()?.executor;
        Ok(Route {
            complexity: None,
            model: executor.model.clone(),
            effort: executor.effort.map(|effort| effort.as_str()),
            timeout_s: executor.timeout.unwrap_or(executor.timeout_routing.medium).as_secs(),
        })
    }

    /// The message of the commit of what an agent left uncommitted.
    pub(crate) fn leftover(&self) -> String {
        let Plan { agent, job, .. } = self.plan;
        format!("chore: what {} left uncommitted\n\nTask: {}", agent.kind.as_str(), job.key)
    }
}
