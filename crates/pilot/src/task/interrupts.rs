//! Ctrl-C, and the machine asking Pilot to stop.

use anyhow::Context;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// Ctrl-C, and the machine asking Pilot to stop. Heard from the moment this is made.
pub(crate) struct Interrupts {
    int: Signals,
    term: Signals,
}

impl Interrupts {
    pub(crate) fn listen() -> anyhow::Result<Interrupts> {
        let heard = |kind| signal(kind).context("listen for signals");
        Ok(Interrupts { int: heard(SignalKind::interrupt())?, term: heard(SignalKind::terminate())? })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
    }
}
