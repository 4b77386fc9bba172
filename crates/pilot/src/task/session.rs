//! One session of an agent: called, run to its end, paused for the user and continued.

use std::time::Duration;

use pilot_core::config::{Backend, Effort};
use pilot_core::outcome::{Class, EndedBy, Goal};
use pilot_exec::backend::Invocation;
use pilot_exec::process::Ended;

use super::control::RunCommand;
use super::run::TaskRun;
use crate::agent::call::AgentProgram;
use crate::agent::evidence::{EndedSession, NO_CHANGES};
use crate::agent::run::{TICK, run};

/// The prompt of a resumed session that only has to continue.
pub(crate) const CONTINUE: &str = "Go on with the task where you left off.";

#[derive(Clone, Debug)]
pub(crate) struct SessionCall<'c> {
    pub(crate) agent: &'c AgentProgram,
    pub(crate) prompt: String,
    /// The prompt of a new session, for an agent that has lost the one to resume.
    pub(crate) fresh_prompt: String,
    pub(crate) resume: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) timeout: Duration,
    pub(crate) read_only: bool,
    /// Settings for this session alone, in the agent's own form.
    pub(crate) settings: Option<String>,
}

enum AfterPause {
    Resume,
    Cancel,
    TimedOut,
}

impl TaskRun<'_> {
    /// Runs the agent until it ends for good: it continues after a pause that the user ended, and starts a new session when
    /// it has lost its own.
    pub(super) async fn run_session(&mut self, mut call: SessionCall<'_>) -> anyhow::Result<EndedSession> {
        let session = loop {
            let session = self.run_once(&call).await?;
            let lost = call.resume.is_some() && session.ended.is_ok() && self.has_lost_session(&session);
            if lost {
                let words = "The agent has lost its session; it starts a new one in the same worktree.";
                self.live.view.note(words);
                call = SessionCall { resume: None, prompt: call.fresh_prompt.clone(), ..call };
                continue;
            }
            let then = match (self.live.paused, self.live.cancelled) {
                (false, _) => break session,
                (true, true) => AfterPause::Cancel,
                (true, false) => self.wait_for_user().await,
            };
            match then {
                AfterPause::TimedOut => break session,
                AfterPause::Cancel => {
                    let by = EndedBy::Person;
                    let ended = session.ended.map(|ended| Ended { by, ..ended });
                    break EndedSession { ended, ..session };
                }
                AfterPause::Resume => {
                    self.live.cost.lift_limit();
                    self.live.over_budget = None;
                    call = self.resumed(call);
                }
            }
        };
        if let Some(charge) = self.live.cost.charge() {
            // What is not written now is charged with the end of the run.
            let _ = self.live.store.note_spent(self.live.run, &charge).await;
        }
        Ok(session)
    }

    async fn run_once(&mut self, call: &SessionCall<'_>) -> anyhow::Result<EndedSession> {
        let invocation = self.invocation(call)?;
        let live = &mut self.live;
        live.output.begin(invocation.output, call.resume.is_some());
        live.cost.begin_session(call.model.as_deref(), live.watch.elapsed());
        live.paused = false;
        let process = call.agent.process(&invocation, call.timeout);
        let ended = run(&self.launcher, &process, self.interrupts, live).await;
        if ended.is_ok() {
            live.finish_session();
        }
        let agent = call.agent.backend.agent().or(live.output.agent());
        Ok(EndedSession { ended, format: invocation.output, agent })
    }

    pub(super) fn invocation(&self, call: &SessionCall<'_>) -> anyhow::Result<Invocation> {
        self.plan.invocation(call, &self.branch, &self.launcher.dir, &self.images)
    }

    fn has_lost_session(&self, session: &EndedSession) -> bool {
        let output = &self.live.output;
        let outcome = session.outcome(Goal::Change, output.facts(), &output.state.claims, &NO_CHANGES);
        outcome.class() == Some(Class::SessionNotFound)
    }

    /// The call after a pause. The backend `command` has no sessions: it starts again in the worktree as it left it.
    fn resumed<'c>(&self, call: SessionCall<'c>) -> SessionCall<'c> {
        let session = self.live.output.facts().session();
        match session.filter(|_| call.agent.backend != Backend::Command) {
            Some(session) => {
                SessionCall { resume: Some(session.to_owned()), prompt: CONTINUE.to_owned(), ..call }
            }
            None => SessionCall { resume: None, prompt: call.fresh_prompt.clone(), ..call },
        }
    }

    async fn wait_for_user(&mut self) -> AfterPause {
        let live = &mut self.live;
        let since = live.watch.elapsed();
        live.output.state.monitor.paused(since);
        live.view.warn(&format!(
            "The agent is stopped and the run is paused: `pilot resume {key}` continues it, `pilot cancel {key}` ends it.",
            key = self.plan.job.key
        ));
        loop {
            tokio::select! {
                () = self.interrupts.wait() => return AfterPause::Cancel,
                () = tokio::time::sleep(TICK) => {}
            }
            if live.control.take(RunCommand::Cancel) {
                return AfterPause::Cancel;
            }
            if live.control.take(RunCommand::Resume) {
                live.output.state.monitor.resumed(live.watch.elapsed());
                return AfterPause::Resume;
            }
            if live.watch.elapsed() - since >= self.launcher.executor.pause_timeout {
                return AfterPause::TimedOut;
            }
        }
    }
}
