//! Ctrl-C and the machine's request to stop.

use anyhow::Context;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// Registered from the moment this is made, so that no signal in between is lost.
pub(crate) struct Interrupts {
    int: Signals,
    term: Signals,
}

impl Interrupts {
    pub(crate) fn listen() -> anyhow::Result<Interrupts> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Interrupts { int: listen(SignalKind::interrupt())?, term: listen(SignalKind::terminate())? })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
    }
}
