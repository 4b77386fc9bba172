//! What happens while an agent of a run works: its output is recorded and read, its cost charged, commands and the screen
//! are served.

use pilot_core::budget::{BudgetAction, BudgetVerdict};
use pilot_core::config::LogLevel;
use pilot_core::outcome::EndedBy;
use pilot_core::progress::Shown;
use pilot_core::run::RunProgress;
use pilot_core::stagnation::{StagnationAction, StagnationVerdict, words};
use pilot_store::{LogLine, RunId, Store, StreamRecorder};

use super::control::{Control, RunCommand};
use super::cost_meter::CostMeter;
use super::output::{OutputNotice, RunOutput};
use super::view::View;
use crate::agent::run::ProcessListener;
use crate::clock::{self, Stopwatch};

pub(crate) struct LiveRun<'l> {
    pub(crate) store: &'l Store,
    pub(crate) run: &'l RunId,
    pub(crate) control: &'l Control,
    pub(crate) view: &'l mut View,
    pub(crate) watch: Stopwatch,
    pub(crate) output: RunOutput,
    pub(crate) recorder: StreamRecorder,
    pub(crate) cost: CostMeter,
    pub(crate) over_budget: Option<String>,
    /// Whether the session was stopped until the user resumes the run.
    pub(crate) paused: bool,
    /// Why, where it made no progress.
    pub(crate) stagnated: Option<String>,
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
        self.recorder.note(self.watch.millis(), &sentence);
        let mut stop = None;
        for action in self.output.state.monitor.actions(verdict) {
            match action {
                StagnationAction::Alert => {
                    self.log(LogLevel::Warn, "stagnation", vec![sentence.clone()]).await;
                }
                StagnationAction::Pause => {
                    self.paused = true;
                    self.stagnated = Some(sentence.clone());
                    stop = Some(EndedBy::Stagnation);
                }
                StagnationAction::Abort => stop = Some(EndedBy::Stagnation),
            }
        }
        stop
    }

    /// Charges what was used; a limit that ends the session is a reason to stop.
    async fn charge(&mut self) -> Option<EndedBy> {
        let facts = self.output.facts();
        let reached = match self.cost.update(&facts.usage(), facts.model(), self.watch.elapsed()) {
            BudgetVerdict::Within => return None,
            BudgetVerdict::Warn(reached) | BudgetVerdict::Exceeded(reached) => reached,
        };
        let words = reached.words();
        self.recorder.note(self.watch.millis(), &words);
        self.view.warn(&words);
        self.log(LogLevel::Warn, "budget", vec![words.clone()]).await;
        if !reached.ends() {
            return None;
        }
        self.over_budget = Some(words);
        self.paused |= reached.action == BudgetAction::Pause;
        Some(EndedBy::Budget)
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
