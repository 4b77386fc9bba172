//! One run of an agent, from its start to its end: its output is heard, its time watched, orders obeyed.

use std::time::Duration;

use pilot_core::budget::{Action as Beyond, Verdict as Judged};
use pilot_core::config::Executor;
use pilot_core::stagnation::{Action, words};
use pilot_exec::process::{Containment, Ended, Launch, Output, Running, StartError, Why};
use pilot_store::{Level, LogLine, RunId, Store, StreamRecorder};
use tokio::time::{MissedTickBehavior, interval};

use super::control::{Control, Order};
use super::interrupts::Interrupts;
use super::listen::{Heard, Listener};
use super::purse::Purse;
use super::view::{Now, View};
use crate::clock::{self, Stopwatch};

/// How often orders, time and the screen are looked at.
const TICK: Duration = Duration::from_millis(200);
/// An agent that prints without end must not keep the clock and signals from being looked at.
const BREATH: Duration = Duration::from_millis(20);
/// Ctrl-C and `pilot cancel` end a run within two seconds.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// What a run needs while it goes on.
pub(crate) struct Drive<'d> {
    pub(crate) store: &'d Store,
    pub(crate) run: &'d RunId,
    pub(crate) control: &'d Control,
    pub(crate) executor: &'d Executor,
    pub(crate) view: &'d mut View,
    pub(crate) watch: Stopwatch,
    pub(crate) interrupts: &'d mut Interrupts,
    pub(crate) purse: &'d mut Purse,
    /// The cap that ended a session, as a sentence.
    pub(crate) beyond: Option<String>,
    /// Whether a person, or the machine, ended the run.
    pub(crate) cancelled: bool,
}

/// How a run of the agent ended, for Pilot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// For good.
    Over,
    /// Stopped until a person says to go on.
    Paused,
    /// Stopped for a pause, and meanwhile for good.
    Cancelled,
}

impl Drive<'_> {
    /// Runs the agent and listens until everybody is gone.
    pub(crate) async fn run(
        &mut self,
        launch: Launch,
        containment: &Containment,
        listener: &mut Listener,
        recorder: &mut StreamRecorder,
    ) -> Result<(Ended, Ending), StartError> {
        let mut running = Running::start(launch, containment).await?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut ending, mut exit_said) = (Ending::Over, None);
        let (mut busy, mut yielded) = (false, self.watch.elapsed());
        loop {
            if self.watch.elapsed().saturating_sub(yielded) >= BREATH {
                tokio::task::yield_now().await;
                yielded = self.watch.elapsed();
            }
            let heard = tokio::select! {
                biased;
                () = self.interrupts.wait(), if !self.cancelled => {
                    self.cancelled = true;
                    self.view.warn("Stopping; the work is kept.");
                    running.stop_within(Why::Cancelled, CANCEL_GRACE);
                    continue;
                }
                _ = ticks.tick() => {
                    self.tick(&mut running, recorder, listener, &mut exit_said).await
                }
                output = running.next() => match output {
                    None => break,
                    Some(Output::Stdout(bytes)) => {
                        recorder.stdout(self.watch.millis(), bytes);
                        listener.stdout(bytes, self.watch.elapsed())
                    }
                    Some(Output::Stderr(bytes)) => {
                        recorder.stderr(self.watch.millis(), bytes);
                        Vec::new()
                    }
                },
            };
            if std::mem::replace(&mut busy, listener.is_busy()) != busy {
                match busy {
                    true => running.suspend_silence(),
                    false => running.resume_silence(),
                }
            }
            for heard in heard {
                if self.hear(heard, &mut running, listener, recorder).await {
                    ending = Ending::Paused;
                }
            }
            if self.pay(&mut running, listener, recorder).await {
                ending = Ending::Paused;
            }
        }
        for heard in listener.finish(self.watch.elapsed()) {
            self.show(&heard);
        }
        self.view.clear();
        if ending == Ending::Paused && self.cancelled {
            ending = Ending::Cancelled;
        }
        Ok((running.end().await, ending))
    }

    /// Writes lines into the run's log; one that cannot be written is no reason to stop.
    pub(crate) async fn log(&self, component: &'static str, lines: Vec<String>) {
        let now = clock::now();
        let lines: Vec<LogLine> =
            lines.into_iter().map(|line| LogLine::new(now, Level::Info, component, line)).collect();
        let _ = self.store.append_logs(self.run, &lines).await;
    }

    async fn tick(
        &mut self,
        running: &mut Running,
        recorder: &mut StreamRecorder,
        listener: &mut Listener,
        exit_said: &mut Option<Duration>,
    ) -> Vec<Heard> {
        let at = self.watch.elapsed();
        if self.control.take(Order::Cancel) {
            self.cancelled = true;
            self.view.warn("Cancelled; the work is kept.");
            running.stop_within(Why::Cancelled, CANCEL_GRACE);
        }
        if listener.claims.exit() {
            let said = *exit_said.get_or_insert(at);
            if at.saturating_sub(said) >= self.executor.exit_grace {
                running.stop(Why::Lingered);
            }
        }
        if recorder.is_due(self.watch.millis()) {
            // What cannot be written now waits, within its bound; the run goes on.
            let _ = recorder.flush(self.store, self.watch.millis()).await;
        }
        let usage = listener.usage();
        self.view.draw(&Now { shown: listener.progress.shown(), elapsed: at, usage });
        listener.tick(at)
    }

    /// Charges what was used; true when the run is paused for a person.
    async fn pay(
        &mut self,
        running: &mut Running,
        listener: &Listener,
        recorder: &mut StreamRecorder,
    ) -> bool {
        let used = listener.facts.usage();
        let reached = match self.purse.look(&used, listener.facts.model(), self.watch.elapsed()) {
            Judged::Within => return false,
            Judged::Warn(reached) | Judged::Exceeded(reached) => reached,
        };
        let words = reached.words();
        recorder.note(self.watch.millis(), &words);
        self.view.warn(&words);
        let line = LogLine::new(clock::now(), Level::Warn, "budget", words.clone());
        let _ = self.store.append_logs(self.run, &[line]).await;
        if !reached.ends() {
            return false;
        }
        self.beyond = Some(words);
        running.stop(Why::Budget);
        reached.action == Beyond::Pause
    }

    /// Takes what was heard; true when the run is paused for a person.
    async fn hear(
        &mut self,
        heard: Heard,
        running: &mut Running,
        listener: &Listener,
        recorder: &mut StreamRecorder,
    ) -> bool {
        self.show(&heard);
        let Heard::Stagnation(verdict) = heard else { return false };
        let sentence = words::verdict(&verdict);
        recorder.note(self.watch.millis(), &sentence);
        let mut paused = false;
        for action in listener.monitor.actions(&verdict) {
            match action {
                Action::Alert => {
                    let line = LogLine::new(clock::now(), Level::Warn, "stagnation", sentence.clone());
                    let _ = self.store.append_logs(self.run, &[line]).await;
                }
                Action::Pause => {
                    paused = true;
                    running.stop(Why::Stagnated);
                }
                Action::Abort => running.stop(Why::Stagnated),
            }
        }
        paused
    }

    fn show(&mut self, heard: &Heard) {
        match heard {
            Heard::Said(text) => self.view.said(text),
            Heard::Tool(what) => self.view.did(what),
            Heard::Progress(change) => self.view.progress(&change.to),
            Heard::Retry(what) => self.view.note(what),
            Heard::Stagnation(verdict) if verdict.rose() => self.view.warn(&words::verdict(verdict)),
            Heard::Stagnation(_) => {}
        }
    }
}
