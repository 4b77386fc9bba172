//! One attempt of a gate's command.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pilot_core::gate::{Gate, GateEnding, Ran};
use pilot_core::outcome::{EndedBy, ProcessEnd};

use super::join::raised;
use super::round::GateContext;
use crate::process::{Deadlines, Ended, Excerpt, Launch, Output, Running};

/// Bytes kept of the beginning and of the end of an output: compiler errors come first, test summaries last.
const HEAD: usize = 64 * 1024;
const TAIL: usize = 256 * 1024;

/// After this many bytes the other gates and the cancel signal are polled: a command that never stops printing would starve them.
const YIELD_AFTER: usize = 4 << 20;

/// A run that is stopped ends within two seconds.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Runs the command once. `stop` ends it.
pub(super) async fn attempt(gate: &Gate, context: &GateContext<'_>, stop: &AtomicBool) -> Ran {
    let launch = Launch {
        env: context.env.to_vec(),
        limits: context.limits,
        deadlines: Deadlines { total: Some(gate.timeout), silence: None, grace: context.grace },
        ..Launch::new(["/bin/sh", "-c", gate.command.as_str()], context.target.tree())
    };
    let mut running = match Running::start(launch, context.containment).await {
        Ok(running) => running,
        Err(error) => {
            let ending = GateEnding::NotStarted(format!("failed to {error}"));
            return Ran { ending, output: String::new(), duration: Duration::ZERO };
        }
    };
    let output = listen(&mut running, stop).await;
    let ended = running.end().await;
    Ran { ending: ending(&ended), output: output.text(), duration: ended.duration }
}

async fn listen(running: &mut Running, stop: &AtomicBool) -> Excerpt {
    let mut output = Excerpt::of(HEAD, TAIL);
    let (mut asked, mut heard) = (false, 0);
    loop {
        let piece = tokio::select! {
            biased;
            () = raised(stop), if !asked => {
                asked = true;
                running.stop_within(EndedBy::Person, CANCEL_GRACE);
                continue;
            }
            piece = running.next() => piece,
        };
        let Some(Output::Stdout(bytes) | Output::Stderr(bytes)) = piece else { return output };
        output.push(bytes);
        heard += bytes.len();
        if heard >= YIELD_AFTER {
            heard = 0;
            tokio::task::yield_now().await;
        }
    }
}

fn ending(ended: &Ended) -> GateEnding {
    match (ended.by, ended.exit) {
        // Also what it prints while it shuts down.
        (EndedBy::Deadline | EndedBy::Silence, _) => GateEnding::TimedOut,
        (
            EndedBy::Person | EndedBy::Shutdown | EndedBy::ExitMark | EndedBy::Stagnation | EndedBy::Budget,
            _,
        ) => GateEnding::Cancelled,
        (EndedBy::Itself, _) if ended.oom => GateEnding::Memory,
        (EndedBy::Itself, ProcessEnd::Code(code)) => GateEnding::Code(code),
        (EndedBy::Itself, ProcessEnd::Signal(signal)) => GateEnding::Signal(signal),
        (EndedBy::Itself, ProcessEnd::Lost) => GateEnding::Lost,
    }
}
