//! The rounds of a run: sessions, gates and a review, as the course says, until it says that the run is over.

use std::time::Duration;

use pilot_core::course::{
    self, End, GateEnd, Gated, History, Moment, Next, Policy, Step, Task, Work, WorkEnd,
};
use pilot_core::gate::{self, Chosen, Feedback, Gate, Root, Verdict};
use pilot_core::outcome::{Class, Outcome, StreamFacts};
use pilot_core::prompt::Why;
use pilot_core::retry::{Again, Agent as Who, Counter, Marks, Prompt, Session as Where};
use pilot_core::review::Review;
use pilot_exec::backend::BackendKind;
use pilot_exec::workspace::{Finalised, Workspace};
use pilot_store::StreamRecorder;

use super::briefing::Briefing;
use super::check;
use super::control::Order;
use super::drive::Drive;
use super::evidence::{self, NOTHING, Session};
use super::life::Life;
use super::listen::Listener;
use super::plan::Agent;
use super::session::{Call, GO_ON, Sessions};
use crate::clock;

/// How often orders are looked for while nothing runs.
const TICK: Duration = Duration::from_millis(200);

/// Everything a run holds while it goes on.
pub(crate) struct Rounds<'r> {
    pub(crate) life: &'r Life<'r>,
    pub(crate) sessions: Sessions<'r>,
    pub(crate) drive: Drive<'r>,
    pub(crate) listener: Listener,
    pub(crate) recorder: StreamRecorder,
    pub(crate) workspace: Option<&'r mut Workspace>,
    pub(crate) briefing: Briefing<'r>,
    /// The root of the project before an agent came.
    pub(crate) root: Root,
    pub(crate) history: History,
    /// The result so far, in git.
    pub(crate) finalised: Option<Finalised>,
    /// Whether somebody worked in the worktree since.
    pub(crate) is_open: bool,
    /// The last result that its gates let pass.
    pub(crate) passed: Option<Finalised>,
    /// The last session of the one who does the task, and what it told.
    pub(crate) session: Option<Session>,
    pub(crate) told: StreamFacts,
    /// What gates said last.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) feedback: Option<Feedback>,
    pub(crate) review: Option<Review>,
    /// When it makes sense to try again, in seconds since 1970, if it ended for a reason that passes.
    pub(crate) not_before: Option<u64>,
    /// Who worked last, and how long it might take.
    pub(crate) agent: &'r Agent,
    pub(crate) timeout: Duration,
}

impl<'r> Rounds<'r> {
    /// Goes on until the run is over.
    pub(crate) async fn all(&mut self) -> anyhow::Result<Outcome> {
        let config = self.life.plan.config()?;
        let policy = Policy {
            retry: &config.executor.retry,
            gates: self.life.plan.is_gated(),
            review: self.life.plan.skips_review()?.is_none(),
            has_fallback: self.life.plan.fallback.is_some(),
            place: self.life.place,
        };
        loop {
            let moment = Moment {
                now: u64::try_from(clock::now().0 / 1_000_000).unwrap_or(0),
                jitter: clock::jitter(),
                elapsed: self.drive.watch.elapsed(),
            };
            match course::next(&self.history, &policy, &moment) {
                Next::Work(work) => self.work(work).await?,
                Next::Gates { .. } => self.judge().await?,
                Next::Review { head } => self.look_over(&head).await?,
                Next::End(end) => return Ok(self.end(end)),
            }
        }
    }

    /// An agent works; what it made is taken into git.
    async fn work(&mut self, work: Work) -> anyhow::Result<()> {
        if !work.why.is_empty() {
            self.say(&work.why).await;
        }
        if !self.wait(work.after).await {
            self.history.add(Step::Stopped);
            return Ok(());
        }
        if let Task::Again(again) = &work.task {
            self.count(again.counts).await?;
        }
        if let Err(error) = self.open() {
            let outcome = Outcome::not_completed(Class::Unknown, error);
            let head = self.head();
            self.history.add(Step::Work(WorkEnd { outcome, head, marks: Marks::Readable }));
            return Ok(());
        }
        let call = self.call(&work.task)?;
        self.timeout = call.timeout;
        self.agent = call.agent;
        let session = self.session(call).await?;
        let git = self.finalise();
        let mut outcome = session.outcome(self.life.plan.job.goal(), &self.listener, &git);
        if let (Some(Class::BudgetExceeded), Some(words)) = (outcome.class(), self.drive.beyond.take()) {
            outcome = Outcome::not_completed(Class::BudgetExceeded, words);
        }
        self.told = self.listener.facts.clone();
        self.session = Some(session);
        // A later mark that can be read says what the unreadable one was to say.
        let readable = self.listener.malformed.is_empty() || self.listener.claims.exit();
        let marks = if readable { Marks::Readable } else { Marks::Malformed };
        self.history.add(Step::Work(WorkEnd { outcome, head: self.head(), marks }));
        Ok(())
    }

    /// How the agent is called for this.
    fn call(&self, task: &Task) -> anyhow::Result<Call<'r>> {
        let plan = self.life.plan;
        let call = match task {
            Task::First => {
                let prompt = self.briefing.first();
                plan.call(&plan.agent, prompt.clone(), prompt)
            }
            Task::Again(again) => self.again(again),
            Task::Mend { .. } => self.mend(),
        };
        let settings = check::stop_hook(self, &call)?;
        Ok(Call { settings, ..call })
    }

    fn again(&self, again: &Again) -> Call<'r> {
        let (plan, how) = (self.life.plan, &again.how);
        let agent = match how.agent {
            Who::Chosen => &plan.agent,
            Who::Fallback => plan.fallback.as_ref().unwrap_or(&plan.agent),
        };
        let timeout = how.time.of(self.timeout);
        let resume = match how.session {
            Where::Resume => self.resumable(agent),
            Where::Fresh => None,
        };
        let say = |resumed: bool| match how.prompt {
            Prompt::Firmer => self.briefing.follow_up(Why::NoChanges, resumed),
            Prompt::Marks => {
                let (message, diagnostics) = (&self.listener.garbled, &self.listener.malformed);
                self.briefing.follow_up(Why::WrongMarks { message, diagnostics }, resumed)
            }
            Prompt::Task if again.counts == Counter::Class(Class::Timeout) => {
                self.briefing.follow_up(Why::TimedOut { after: self.timeout, now: timeout }, resumed)
            }
            Prompt::Task if resumed => GO_ON.to_owned(),
            Prompt::Task => self.briefing.first(),
        };
        Call { resume: resume.clone(), timeout, ..plan.call(agent, say(resume.is_some()), say(false)) }
    }

    fn mend(&self) -> Call<'r> {
        let resume = self.resumable(self.agent);
        let say = |resumed| match &self.feedback {
            Some(feedback) => self.briefing.follow_up(Why::GateFailed(feedback.failure()), resumed),
            None => self.briefing.first(),
        };
        let call = self.life.plan.call(self.agent, say(resume.is_some()), say(false));
        Call { resume, timeout: self.timeout, ..call }
    }

    /// The session that this agent can go on with. A program of one's own has none.
    fn resumable(&self, agent: &Agent) -> Option<String> {
        let same = agent.kind == self.agent.kind && agent.kind != BackendKind::Command;
        self.told.session().filter(|_| same).map(str::to_owned)
    }

    /// Runs one session, whoever's.
    pub(crate) async fn session(&mut self, call: Call<'_>) -> anyhow::Result<Session> {
        let Rounds { sessions, drive, listener, recorder, .. } = self;
        let session = sessions.run(call, drive, listener, recorder).await?;
        if let Some(charge) = drive.purse.charge() {
            // What is not written now is charged with the end of the run.
            let _ = drive.store.note_spent(drive.run, &charge).await;
        }
        Ok(session)
    }

    /// Gates judge the result so far.
    async fn judge(&mut self) -> anyhow::Result<()> {
        let from = self.drive.watch.elapsed();
        self.listener.monitor.paused(from);
        let said = match check::chosen(self)? {
            Chosen::Nothing(why) => {
                self.verdict = self.head().map(|sha| Verdict::NotRun { sha, why });
                Gated::Passed
            }
            Chosen::Gates { gates, .. } => match self.open() {
                Err(why) => Gated::Failed { why },
                Ok(()) => self.run_gates(&gates).await?,
            },
        };
        self.listener.monitor.resumed(self.drive.watch.elapsed());
        if said == Gated::Passed {
            self.passed.clone_from(&self.finalised);
        }
        if let Some(head) = self.head() {
            self.history.add(Step::Gates(GateEnd { head, said }));
        }
        Ok(())
    }

    async fn run_gates(&mut self, gates: &[Gate]) -> anyhow::Result<Gated> {
        let config = self.life.plan.config()?;
        let verdict = check::judge(self, gates).await?;
        let next = gate::next(&verdict, &config.quality.on_failure, self.history.mended());
        let why = gate::words::verdict(&verdict);
        self.verdict = Some(verdict);
        Ok(match next {
            gate::Next::Proceed => Gated::Passed,
            gate::Next::Feedback(feedback) => {
                self.feedback = Some(feedback);
                Gated::Mend { why }
            }
            gate::Next::GiveUp { reason } => Gated::Failed { why: reason },
            gate::Next::Stopped => Gated::Stopped,
        })
    }

    fn end(&mut self, end: End) -> Outcome {
        let outcome = match end {
            End::Done { stepped_back, .. } => {
                if stepped_back && self.passed.is_some() {
                    self.step_back();
                }
                match self.finalised.as_ref().filter(|finalised| finalised.has_changes()) {
                    Some(finalised) => self.judged().recounted(&evidence::facts(finalised)),
                    None => self.judged(),
                }
            }
            End::AsJudged { why, not_before } => {
                self.not_before = not_before;
                let outcome = self.judged();
                let tried = self.history.counters().total() > 0 || not_before.is_some();
                match outcome.class().filter(|_| tried) {
                    Some(_) => outcome.because(&why),
                    None => outcome,
                }
            }
            End::Gates { why } => Outcome::not_completed(Class::GateFailed, why),
            End::Stopped => match self.judged() {
                outcome if outcome.class() == Some(Class::Cancelled) => outcome,
                _ => Outcome::not_completed(Class::Cancelled, "stopped on request; the work is kept"),
            },
        };
        self.close();
        outcome
    }

    /// The verdict on the last work of the one who does the task.
    fn judged(&self) -> Outcome {
        let never = || Outcome::not_completed(Class::Cancelled, "stopped before it began");
        self.history.outcome().cloned().unwrap_or_else(never)
    }

    /// The reviewer's commits did not pass; the result is the one before them.
    fn step_back(&mut self) {
        let passed = self.passed.clone();
        if let (Some(workspace), Some(passed)) = (&mut self.workspace, &passed) {
            match workspace.step_back(passed) {
                Ok(Some(kept)) => {
                    let words =
                        format!("what the review changed did not pass the gates; it is kept at {kept}");
                    self.drive.view.warn(&words);
                    self.finalised = Some(passed.clone());
                    self.is_open = true;
                }
                Ok(None) => {}
                Err(error) => self.drive.view.warn(&format!("the branch could not be set back: {error}")),
            }
        }
    }

    /// Lets somebody work in the worktree, as the result so far left it.
    pub(crate) fn open(&mut self) -> Result<(), String> {
        let (Some(workspace), Some(finalised)) = (&mut self.workspace, &self.finalised) else {
            return Ok(());
        };
        let opened = workspace.reopen(finalised);
        self.is_open |= opened.is_ok();
        opened.map_err(|error| error.to_string())
    }

    /// Takes what is in the worktree into git.
    pub(crate) fn finalise(&mut self) -> pilot_core::outcome::Git {
        let Some(workspace) = &mut self.workspace else { return NOTHING };
        workspace.limit(self.drive.executor.finalise_timeout);
        let result = workspace.finalise(&self.life.leftover());
        let (git, finalised) = evidence::git(result, self.drive.view);
        self.is_open = finalised.is_none();
        self.finalised = finalised;
        git
    }

    /// Nobody works in the worktree any more.
    fn close(&mut self) {
        let (Some(workspace), Some(finalised), true) = (&mut self.workspace, &self.finalised, self.is_open)
        else {
            return;
        };
        let sealed = workspace.reopen(finalised).and_then(|()| workspace.seal(finalised));
        match sealed {
            Ok(found) => {
                for finding in found {
                    self.drive.view.warn(&format!("a gate touched what it should not: {finding}"));
                }
                self.is_open = false;
            }
            Err(error) => self.drive.view.warn(&format!("the worktree is kept: {error}")),
        }
    }

    /// The commit that is the result so far; none when nothing differs from the base.
    pub(crate) fn head(&self) -> Option<String> {
        let changed = self.finalised.as_ref().filter(|finalised| finalised.has_changes());
        changed.map(|finalised| finalised.head.as_str().to_owned())
    }

    /// Waits; false when a person ends the run meanwhile.
    async fn wait(&mut self, length: Duration) -> bool {
        let until = self.drive.watch.elapsed() + length;
        self.listener.monitor.paused(self.drive.watch.elapsed());
        loop {
            if self.drive.cancelled || self.drive.control.take(Order::Cancel) {
                self.drive.cancelled = true;
                return false;
            }
            let left = until.saturating_sub(self.drive.watch.elapsed());
            if left.is_zero() {
                self.listener.monitor.resumed(self.drive.watch.elapsed());
                return true;
            }
            tokio::select! {
                () = self.drive.interrupts.wait() => self.drive.cancelled = true,
                () = tokio::time::sleep(left.min(TICK)) => {}
            }
        }
    }

    /// Tells a person, and the log.
    pub(crate) async fn say(&mut self, words: &str) {
        self.drive.view.note(words);
        self.recorder.note(self.drive.watch.millis(), words);
        self.drive.log("run", vec![words.to_owned()]).await;
    }

    /// Another attempt counts before it starts, so that a restart forgets nothing.
    async fn count(&mut self, counter: Counter) -> anyhow::Result<()> {
        self.history.count(counter);
        let project = self.life.plan.project.to_string_lossy();
        self.drive.store.count_retry(&project, &self.life.plan.job.key, counter).await?;
        Ok(())
    }
}
