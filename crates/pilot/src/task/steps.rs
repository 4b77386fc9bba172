//! The steps of a run: an agent works, gates judge, the result is kept in git.

use std::time::Duration;

use pilot_core::config::Backend;
use pilot_core::gate::{self, Chosen, Gate, GateVerdict};
use pilot_core::outcome::{Class, Git, GitFacts, Outcome};
use pilot_core::prompt::Why;
use pilot_core::retry::{Again, Counter, LastMarks, RetryAgent, RetryPrompt, Session as RetrySession};
use pilot_core::run_plan::{AgentTask, GateAnswer, GateEnd, NextWork, RunEnd, RunStep, WorkEnd};
use pilot_exec::workspace::{Finalised, RunFinding};

use super::control::RunCommand;
use super::gates;
use super::run::TaskRun;
use super::session::{CONTINUE, SessionCall};
use super::view::View;
use crate::agent::call::AgentProgram;
use crate::agent::evidence::NO_CHANGES;
use crate::agent::run::TICK;

impl<'r> TaskRun<'r> {
    pub(super) async fn work(&mut self, work: NextWork) -> anyhow::Result<()> {
        if !work.why.is_empty() {
            self.live.note(&work.why).await;
        }
        if !self.wait(work.after).await {
            self.history.add(RunStep::Stopped);
            return Ok(());
        }
        if let AgentTask::Again(again) = &work.task {
            self.count_retry(again.counts).await?;
        }
        if let Err(error) = self.reopen() {
            let outcome = Outcome::not_completed(Class::Unknown, error);
            let head = self.head();
            self.history.add(RunStep::Work(WorkEnd { outcome, head, marks: LastMarks::Readable }));
            return Ok(());
        }
        if let Some(reached) = self.live.cost.ended_by() {
            self.live.shortage = self.live.shortage_at(&reached);
            let outcome = Outcome::not_completed(Class::BudgetExceeded, reached.words());
            let head = self.head();
            self.history.add(RunStep::Work(WorkEnd { outcome, head, marks: LastMarks::Readable }));
            return Ok(());
        }
        let call = self.work_call(&work.task)?;
        self.timeout = call.timeout;
        self.agent = call.agent;
        let session = self.run_session(call).await?;
        let git = self.finalise();
        let state = &self.live.output.state;
        let mut outcome =
            session.outcome(self.plan.job.goal(), self.live.output.facts(), &state.claims, &git);
        // A later readable mark says what the unreadable one was to say.
        let readable = state.malformed.is_empty() || state.claims.exit();
        if let (Some(Class::BudgetExceeded), Some(words)) = (outcome.class(), self.live.over_budget.take()) {
            outcome = Outcome::not_completed(Class::BudgetExceeded, words);
        }
        self.facts = self.live.output.facts().clone();
        self.session = Some(session);
        let marks = if readable { LastMarks::Readable } else { LastMarks::Malformed };
        self.history.add(RunStep::Work(WorkEnd { outcome, head: self.head(), marks }));
        Ok(())
    }

    fn work_call(&self, task: &AgentTask) -> anyhow::Result<SessionCall<'r>> {
        let plan = self.plan;
        let call = match task {
            AgentTask::First => {
                let prompt = self.prompts.first();
                plan.call(&plan.agent, prompt.clone(), prompt)
            }
            AgentTask::Again(again) => self.retry_call(again),
            AgentTask::Fix { .. } => self.fix_call(),
        };
        let settings = gates::stop_hook(self, &call)?;
        Ok(SessionCall { settings, ..call })
    }

    fn retry_call(&self, again: &Again) -> SessionCall<'r> {
        let (plan, how) = (self.plan, &again.how);
        let agent = match how.agent {
            RetryAgent::Chosen => &plan.agent,
            RetryAgent::Fallback => plan.fallback.as_ref().unwrap_or(&plan.agent),
        };
        let timeout = how.time.of(self.timeout);
        let resume = match how.session {
            RetrySession::Resume => self.resumable(agent),
            RetrySession::Fresh => None,
        };
        let prompt = |resumed: bool| match how.prompt {
            RetryPrompt::Firmer => self.prompts.follow_up(Why::NoChanges, resumed),
            RetryPrompt::Marks => {
                let state = &self.live.output.state;
                let (message, diagnostics) = (&state.malformed_message, &state.malformed);
                self.prompts.follow_up(Why::WrongMarks { message, diagnostics }, resumed)
            }
            RetryPrompt::Task if again.counts == Counter::Class(Class::Timeout) => {
                self.prompts.follow_up(Why::TimedOut { after: self.timeout, now: timeout }, resumed)
            }
            RetryPrompt::Task if resumed => CONTINUE.to_owned(),
            RetryPrompt::Task => self.prompts.first(),
        };
        let call = plan.call(agent, prompt(resume.is_some()), prompt(false));
        SessionCall { resume, timeout, ..call }
    }

    fn fix_call(&self) -> SessionCall<'r> {
        let resume = self.resumable(self.agent);
        let prompt = |resumed| match &self.feedback {
            Some(feedback) => self.prompts.follow_up(Why::GateFailed(feedback.failure()), resumed),
            None => self.prompts.first(),
        };
        let call = self.plan.call(self.agent, prompt(resume.is_some()), prompt(false));
        SessionCall { resume, timeout: self.timeout, ..call }
    }

    /// The session that this agent can continue; the backend `command` has none.
    fn resumable(&self, agent: &AgentProgram) -> Option<String> {
        let same = agent.backend == self.agent.backend && agent.backend != Backend::Command;
        self.facts.session().filter(|_| same).map(str::to_owned)
    }

    pub(super) async fn run_gates(&mut self) -> anyhow::Result<()> {
        self.live.output.state.monitor.paused(self.live.watch.elapsed());
        let answer = match gates::chosen(self)? {
            Chosen::Nothing(why) => {
                self.verdict = self.head().map(|sha| GateVerdict::NotRun { sha, why });
                GateAnswer::Passed
            }
            Chosen::Gates { gates, .. } => match self.reopen() {
                Err(why) => GateAnswer::Failed { why },
                Ok(()) => self.judge_result(&gates).await?,
            },
        };
        self.live.output.state.monitor.resumed(self.live.watch.elapsed());
        if answer == GateAnswer::Passed {
            self.passed.clone_from(&self.finalised);
        }
        if let Some(head) = self.head() {
            self.history.add(RunStep::Gates(GateEnd { head, answer }));
        }
        Ok(())
    }

    async fn judge_result(&mut self, gates: &[Gate]) -> anyhow::Result<GateAnswer> {
        let config = self.plan.config()?;
        let verdict = gates::run(self, gates).await?;
        let next = gate::next(&verdict, &config.quality.on_failure, self.history.fixes());
        let why = gate::words::verdict(&verdict);
        self.verdict = Some(verdict);
        Ok(match next {
            gate::NextGateStep::Proceed => GateAnswer::Passed,
            gate::NextGateStep::Feedback(feedback) => {
                self.feedback = Some(feedback);
                GateAnswer::Fix { why }
            }
            gate::NextGateStep::GiveUp { reason } => GateAnswer::Failed { why: reason },
            gate::NextGateStep::Stopped => GateAnswer::Stopped,
        })
    }

    pub(super) fn end(&mut self, end: RunEnd) -> Outcome {
        let outcome = match end {
            RunEnd::Done { stepped_back, .. } => {
                if stepped_back && self.passed.is_some() {
                    self.step_back();
                }
                match self.finalised.as_ref().filter(|finalised| finalised.has_changes()) {
                    Some(finalised) => self.last_outcome().recounted(&git_facts(finalised)),
                    None => self.last_outcome(),
                }
            }
            RunEnd::AsJudged { why, not_before } => {
                self.not_before = not_before;
                let outcome = self.last_outcome();
                let tried = self.history.counters().total() > 0 || not_before.is_some();
                match outcome.class().filter(|_| tried) {
                    Some(_) => outcome.because(&why),
                    None => outcome,
                }
            }
            RunEnd::Gates { why } => Outcome::not_completed(Class::GateFailed, why),
            RunEnd::Stopped => match self.last_outcome() {
                outcome if outcome.class() == Some(Class::Cancelled) => outcome,
                _ => Outcome::not_completed(Class::Cancelled, "stopped on request; the work is kept"),
            },
        };
        self.seal();
        outcome
    }

    fn last_outcome(&self) -> Outcome {
        let never = || Outcome::not_completed(Class::Cancelled, "stopped before it began");
        self.history.outcome().cloned().unwrap_or_else(never)
    }

    /// The reviewer's commits did not pass; the result is the one before them.
    fn step_back(&mut self) {
        let (Some(workspace), Some(passed)) = (&mut self.workspace, self.passed.clone()) else { return };
        match workspace.step_back(&passed) {
            Ok(Some(kept)) => {
                let words = format!("the reviewer's changes did not pass the gates; they are kept at {kept}");
                self.live.view.warn(&words);
                self.finalised = Some(passed);
                self.is_open = true;
            }
            Ok(None) => {}
            Err(error) => self.live.view.warn(&format!("cannot set the branch back: {error}")),
        }
    }

    /// Opens the worktree for writing, as the result so far left it.
    pub(super) fn reopen(&mut self) -> Result<(), String> {
        let (Some(workspace), Some(finalised)) = (&mut self.workspace, &self.finalised) else {
            return Ok(());
        };
        let opened = workspace.reopen(finalised);
        self.is_open |= opened.is_ok();
        opened.map_err(|error| error.to_string())
    }

    pub(super) fn finalise(&mut self) -> Git {
        let Some(workspace) = &mut self.workspace else { return NO_CHANGES };
        workspace.limit(self.launcher.executor.finalise_timeout);
        let finalised = workspace.finalise(&self.plan.leftover_message());
        self.is_open = finalised.is_err();
        match finalised {
            Err(error) => {
                let words = format!("cannot collect the work: {error}; the worktree is kept");
                self.live.view.warn(&words);
                self.finalised = None;
                Git::Unreadable { reason: error.to_string() }
            }
            Ok(finalised) => {
                report_findings(&finalised, self.live.view);
                let facts = git_facts(&finalised);
                self.finalised = Some(finalised);
                Git::Read(facts)
            }
        }
    }

    /// Ends all work in the worktree.
    fn seal(&mut self) {
        let (Some(workspace), Some(finalised), true) = (&mut self.workspace, &self.finalised, self.is_open)
        else {
            return;
        };
        match workspace.reopen(finalised).and_then(|()| workspace.seal(finalised)) {
            Ok(found) => {
                for finding in found {
                    self.live.view.warn(&format!("a gate touched what it should not: {finding}"));
                }
                self.is_open = false;
            }
            Err(error) => self.live.view.warn(&format!("the worktree is kept: {error}")),
        }
    }

    /// The commit that is the result so far; none when nothing differs from the base.
    pub(super) fn head(&self) -> Option<String> {
        let changed = self.finalised.as_ref().filter(|finalised| finalised.has_changes());
        changed.map(|finalised| finalised.head.as_str().to_owned())
    }

    /// Waits before a retry; false when the run is cancelled meanwhile.
    async fn wait(&mut self, length: Duration) -> bool {
        let live = &mut self.live;
        let until = live.watch.elapsed() + length;
        live.output.state.monitor.paused(live.watch.elapsed());
        loop {
            if live.cancelled || live.control.take(RunCommand::Cancel) {
                live.cancelled = true;
                return false;
            }
            let left = until.saturating_sub(live.watch.elapsed());
            if left.is_zero() {
                live.output.state.monitor.resumed(live.watch.elapsed());
                return true;
            }
            tokio::select! {
                () = self.interrupts.wait() => live.cancelled = true,
                () = tokio::time::sleep(left.min(TICK)) => {}
            }
        }
    }

    /// A retry is counted before it starts, so that a restart forgets nothing.
    async fn count_retry(&mut self, counter: Counter) -> anyhow::Result<()> {
        self.history.count(counter);
        let project = self.plan.project.to_string_lossy();
        self.live.store.count_retry(&project, &self.plan.job.key, counter).await?;
        Ok(())
    }
}

fn git_facts(finalised: &Finalised) -> GitFacts {
    GitFacts {
        commits: finalised.commits.len() as u64,
        files_changed: finalised.files_changed() as u64,
        head_moved: finalised.head != finalised.base,
    }
}

/// Tells the user what a session left that it should not.
fn report_findings(finalised: &Finalised, view: &mut View) {
    for finding in &finalised.found {
        match (finding, &finalised.pin) {
            (finding, _) if finding.is_tampering() => {
                view.warn(&format!("the agent touched what it should not: {finding}"));
            }
            (RunFinding::BranchNotSet { .. }, Some(pin)) => {
                view.warn(&format!("{finding}; the work is at {pin}"));
            }
            // The user may have moved the ref.
            (RunFinding::RefChanged { .. }, _) => view.note(&finding.to_string()),
            (finding, _) => view.warn(&finding.to_string()),
        }
    }
    for other in &finalised.others {
        view.note(&format!("{} is not in the result and kept at {}", other.sha.short(), other.pin));
    }
}
