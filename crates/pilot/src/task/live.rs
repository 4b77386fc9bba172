//! What happens while an agent of a run works: its output is recorded and read, its cost charged, commands and the screen
//! are served.

use std::time::Duration;

use pilot_core::budget::{BudgetAction, BudgetVerdict, Reached, Shortage};
use pilot_core::config::LogLevel;
use pilot_core::outcome::EndedBy;
use pilot_core::progress::Shown;
use pilot_core::route::Complexity;
use pilot_core::run::RunProgress;
use pilot_core::stagnation::{StagnationAction, StagnationVerdict, words};
use pilot_store::{LogLine, RunId, Store, StreamRecorder};

use super::control::{Control, RunCommand};
use super::cost_meter::CostMeter;
use super::output::{OutputNotice, RunOutput};
use super::view::View;
use crate::agent::run::ProcessListener;
use crate::calendar::Calendar;
use crate::clock::{self, Stopwatch};

/// How often a run tells the ledger what it has spent, and asks what the others have.
const SYNC_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct LiveRun<'l> {
    pub(crate) store: &'l Store,
    pub(crate) run: &'l RunId,
    pub(crate) control: &'l Control,
    pub(crate) view: &'l mut View,
    pub(crate) watch: Stopwatch,
    pub(crate) output: RunOutput,
    pub(crate) recorder: StreamRecorder,
    pub(crate) cost: CostMeter,
    pub(crate) size: Complexity,
    pub(crate) over_budget: Option<String>,
    /// The limit of the day or month at which the run was stopped.
    pub(crate) shortage: Option<Shortage>,
    /// When the ledger was last told and asked what all runs have spent.
    pub(crate) ledger_synced: Option<Duration>,
    /// Whether the session was stopped until the user resumes the run.
    pub(crate) paused: bool,
    /// Whether the user, or the machine, ended the run.
    pub(crate) cancelled: bool,
    pub(crate) notices: Vec<OutputNotice>,
}

impl LiveRun<'_> {
    pub(crate) fn finish_session(&mut self) {
        for notice in self.output.finish(self.watch.elapsed()) {
            self.show(&notice);
        }
        self.report();
        self.view.clear();
    }

    pub(crate) async fn note(&mut self, words: &str) {
        self.view.note(words);
        self.recorder.note(self.watch.millis(), words);
        self.log(LogLevel::Info, "run", vec![words.to_owned()]).await;
    }

    /// Writes lines into the run's log; a failure to do so stops no run.
    pub(crate) async fn log(&self, level: LogLevel, component: &'static str, lines: Vec<String>) {
        let line = |line| LogLine::new(clock::now(), level, component, line);
        let lines: Vec<LogLine> = lines.into_iter().map(line).collect();
        let _ = self.store.append_logs(self.run, &lines).await;
    }

    /// The cost so far: as charged, or as the agents say.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        let charged = self.cost.charge().map(|charge| charge.spent.usd.dollars());
        charged.or(self.output.usage().cost_usd)
    }

    fn report(&mut self) {
        if self.view.reports {
            let Shown { phase, percent } = self.output.state.progress.shown().clone();
            let last_message = self.output.state.last_line.clone();
            let cost_usd = self.cost_usd();
            self.view.report(RunProgress { phase, percent, last_message, cost_usd });
        }
    }

    async fn handle_notices(&mut self) -> Option<EndedBy> {
        let mut stop = None;
        for notice in std::mem::take(&mut self.notices) {
            self.show(&notice);
            match notice {
                OutputNotice::Stagnation(verdict) => stop = stop.or(self.handle_stagnation(&verdict).await),
                OutputNotice::Progress(_) => self.report(),
                OutputNotice::Text(_) | OutputNotice::Tool(_) | OutputNotice::Retry(_) => {}
            }
        }
        // Charged in any case.
        let over = self.charge().await;
        stop.or(over)
    }

    async fn handle_stagnation(&mut self, verdict: &StagnationVerdict) -> Option<EndedBy> {
        let sentence = words::verdict(verdict);
        let actions = self.output.state.monitor.actions(verdict);
        if actions.contains(&StagnationAction::Pause) {
            self.forget_resume();
        }
        self.recorder.note(self.watch.millis(), &sentence);
        let mut stop = None;
        for action in actions {
            match action {
                StagnationAction::Alert => {
                    self.log(LogLevel::Warn, "stagnation", vec![sentence.clone()]).await;
                }
                StagnationAction::Pause => {
                    self.paused = true;
                    stop = Some(EndedBy::Stagnation);
                }
                StagnationAction::Abort => stop = Some(EndedBy::Stagnation),
            }
        }
        stop
    }

    /// Tells the ledger what this run has spent and asks what the others have: limits of the day and month hold for all runs
    /// together.
    async fn sync_ledger(&mut self) {
        let now = self.watch.elapsed();
        if self.ledger_synced.is_some_and(|last| now.saturating_sub(last) < SYNC_EVERY) {
            return;
        }
        self.ledger_synced = Some(now);
        if let Some(charge) = self.cost.charge() {
            // What is not written now is charged with the end of the run.
            let _ = self.store.note_spent(self.run, &charge).await;
        }
        if let Ok(window) = Calendar::of_this_machine().window(clock::now())
            && let Ok(standing) = self.store.standing(&window, Some(self.run)).await
        {
            self.cost.refresh(&standing);
        }
    }

    /// A command to resume that came before the pause does not count. One that comes after the pause was announced does,
    /// although the agent may not have ended yet.
    fn forget_resume(&self) {
        if !self.paused {
            self.control.take(RunCommand::Resume);
        }
    }

    /// Charges what was used; a limit that ends the session is a reason to stop.
    async fn charge(&mut self) -> Option<EndedBy> {
        self.sync_ledger().await;
        let facts = self.output.facts();
        let reached = match self.cost.update(&facts.usage(), facts.model(), self.watch.elapsed()) {
            BudgetVerdict::Within => return None,
            BudgetVerdict::Warn(reached) | BudgetVerdict::Exceeded(reached) => reached,
        };
        let words = reached.words();
        self.forget_resume();
        self.recorder.note(self.watch.millis(), &words);
        self.view.warn(&words);
        self.log(LogLevel::Warn, "budget", vec![words.clone()]).await;
        if !reached.ends() {
            return None;
        }
        self.over_budget = Some(words);
        self.shortage = self.shortage_at(&reached);
        self.paused |= reached.action == BudgetAction::Pause;
        Some(EndedBy::Budget)
    }

    /// What holds the task when the run is stopped at a limit of the day or month.
    pub(crate) fn shortage_at(&self, reached: &Reached) -> Option<Shortage> {
        let window = Calendar::of_this_machine().window(clock::now()).ok()?;
        reached.shortage(self.size, &window)
    }

    fn show(&mut self, notice: &OutputNotice) {
        match notice {
            OutputNotice::Text(text) => self.view.said(text),
            OutputNotice::Tool(what) => self.view.did(what),
            OutputNotice::Progress(change) => self.view.progress(&change.to),
            OutputNotice::Retry(words) => self.view.note(words),
            OutputNotice::Stagnation(verdict) if verdict.rose() => self.view.warn(&words::verdict(verdict)),
            OutputNotice::Stagnation(_) => {}
        }
    }
}

impl ProcessListener for LiveRun<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.recorder.stdout(self.watch.millis(), bytes);
        self.notices = self.output.push(bytes, self.watch.elapsed());
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.recorder.stderr(self.watch.millis(), bytes);
    }

    async fn react(&mut self) -> Option<EndedBy> {
        self.handle_notices().await
    }

    async fn tick(&mut self) -> Option<EndedBy> {
        let at = self.watch.elapsed();
        let cancelled = self.control.take(RunCommand::Cancel);
        if cancelled {
            self.cancelled = true;
            self.view.warn("Cancelled; the work is kept.");
        }
        if self.recorder.is_due(self.watch.millis()) {
            // What cannot be written now waits, within its bound.
            let _ = self.recorder.flush(self.store, self.watch.millis()).await;
        }
        let shown = self.output.state.progress.shown();
        self.view.draw(shown, at, &self.output.usage());
        self.report();
        self.notices = self.output.tick(at);
        let stop = self.handle_notices().await;
        if cancelled { Some(EndedBy::Person) } else { stop }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
        self.view.warn("Stopping; the work is kept.");
    }

    fn is_busy(&self) -> bool {
        self.output.is_busy()
    }

    fn has_announced_exit(&self) -> bool {
        self.output.state.claims.exit()
    }
}
