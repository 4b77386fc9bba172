//! The one loop that runs a process of an agent or a pipeline step: its output is read without a pause, its silence watched,
//! and it is stopped when the user or its listener wants that.

use std::time::Duration;

use pilot_core::outcome::EndedBy;
use pilot_exec::process::{Ended, Output, Running};
use tokio::time::{MissedTickBehavior, interval};

use super::call::{Launcher, ProcessCall};
use super::interrupts::Interrupts;
use crate::clock::Stopwatch;

/// How often a listener gets to look at commands, time and the screen.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// A process that prints without end must not starve the timer and the signal handler.
const YIELD_EVERY: Duration = Duration::from_millis(20);

/// Ctrl-C and `pilot cancel` end a process within two seconds.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// What follows a process while it runs.
pub(crate) trait ProcessListener {
    fn stdout(&mut self, bytes: &[u8]);

    fn stderr(&mut self, _: &[u8]) {}

    /// Called after each piece of standard output; a reason stops the process.
    async fn react(&mut self) -> Option<EndedBy> {
        None
    }

    /// Called every [`TICK`]; a reason stops the process.
    async fn tick(&mut self) -> Option<EndedBy> {
        None
    }

    /// The user pressed Ctrl-C, or the machine shuts down.
    fn cancel(&mut self);

    /// Whether a tool runs, so that silence is expected.
    fn is_busy(&self) -> bool;

    /// Whether the agent has announced its end; it is stopped when it does not exit soon.
    fn has_announced_exit(&self) -> bool {
        false
    }
}

/// Runs a process until it and all its children are gone; the error is why it could not be started.
pub(crate) async fn run(
    launcher: &Launcher<'_>,
    call: &ProcessCall,
    interrupts: &mut Interrupts,
    listener: &mut impl ProcessListener,
) -> Result<Ended, String> {
    let started = Running::start(launcher.launch(call), &launcher.containment).await;
    let mut running = started.map_err(|error| error.to_string())?;
    let watch = Stopwatch::start();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut cancelled, mut busy, mut announced) = (false, false, None);
    let mut yielded = Duration::ZERO;
    loop {
        if watch.elapsed().saturating_sub(yielded) >= YIELD_EVERY {
            tokio::task::yield_now().await;
            yielded = watch.elapsed();
        }
        let stop = tokio::select! {
            biased;
            () = interrupts.wait(), if !cancelled => {
                listener.cancel();
                Some(EndedBy::Person)
            }
            _ = ticks.tick() => {
                if listener.has_announced_exit() {
                    let since = *announced.get_or_insert(watch.elapsed());
                    if watch.elapsed().saturating_sub(since) >= launcher.executor.exit_grace {
                        running.stop(EndedBy::ExitMark);
                    }
                }
                listener.tick().await
            }
            output = running.next() => match output {
                None => break,
                Some(Output::Stdout(bytes)) => {
                    listener.stdout(bytes);
                    listener.react().await
                }
                Some(Output::Stderr(bytes)) => {
                    listener.stderr(bytes);
                    None
                }
            },
        };
        match stop {
            Some(EndedBy::Person) => {
                cancelled = true;
                running.stop_within(EndedBy::Person, CANCEL_GRACE);
            }
            Some(why) => running.stop(why),
            None => {}
        }
        if std::mem::replace(&mut busy, listener.is_busy()) != busy {
            match busy {
                true => running.suspend_silence(),
                false => running.resume_silence(),
            }
        }
    }
    Ok(running.end().await)
}
