//! One attempt of a gate's command.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pilot_core::gate::{Ending, Gate, Ran};

use super::round::Site;
use super::together::raised;
use crate::process::{Deadlines, Ended, EndedBy, Excerpt, Exit, Launch, Output, Running, Why};

/// Bytes kept of the beginning and of the end of an output: errors of a compiler stand first, sums of a test run last.
const HEAD: usize = 64 * 1024;
const TAIL: usize = 256 * 1024;

/// A command that prints without end must not keep the others, or whoever stops the run, from being heard.
const BREATH: usize = 4 << 20;

/// A run that is stopped ends within two seconds.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Runs the command once. `stop` ends it.
pub(super) async fn attempt(gate: &Gate, site: &Site<'_>, stop: &AtomicBool) -> Ran {
    let launch = Launch {
        env: site.env.to_vec(),
        limits: site.limits,
        deadlines: Deadlines { total: Some(gate.timeout), silence: None, grace: site.grace },
        ..Launch::new(["/bin/sh", "-c", gate.command.as_str()], site.ground.tree())
    };
    let mut running = match Running::start(launch, site.containment).await {
        Ok(running) => running,
        Err(error) => {
            let ending = Ending::NotStarted(format!("failed to {error}"));
            return Ran { ending, output: String::new(), duration: Duration::ZERO };
        }
    };
    let output = listen(&mut running, stop).await;
    let ended = running.end().await;
    Ran { ending: ending(&ended), output: output.text(), duration: ended.duration }
}

/// Both streams, as they come, to the end.
async fn listen(running: &mut Running, stop: &AtomicBool) -> Excerpt {
    let mut output = Excerpt::of(HEAD, TAIL);
    let (mut asked, mut heard) = (false, 0);
    loop {
        let piece = tokio::select! {
            biased;
            () = raised(stop), if !asked => {
                asked = true;
                running.stop_within(Why::Cancelled, CANCEL_GRACE);
                continue;
            }
            piece = running.next() => piece,
        };
        let Some(Output::Stdout(bytes) | Output::Stderr(bytes)) = piece else { return output };
        output.push(bytes);
        heard += bytes.len();
        if heard >= BREATH {
            heard = 0;
            tokio::task::yield_now().await;
        }
    }
}

fn ending(ended: &Ended) -> Ending {
    match (ended.by, ended.exit) {
        // Whatever it said on its way out.
        (EndedBy::Deadline | EndedBy::Silence, _) => Ending::TimedOut,
        (EndedBy::Stopped(_), _) => Ending::Cancelled,
        (EndedBy::Itself, _) if ended.oom => Ending::Memory,
        (EndedBy::Itself, Exit::Code(code)) => Ending::Code(code),
        (EndedBy::Itself, Exit::Signal(signal)) => Ending::Signal(signal),
        (EndedBy::Itself, Exit::Lost) => Ending::Lost,
    }
}
