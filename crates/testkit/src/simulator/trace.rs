//! What happened, as a hash and, where they are kept, in lines.

use pilot_core::time::Timestamp;

use super::fault::CallCounts;

/// What came of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub seed: u64,
    /// The hash of the whole trace.
    pub hash: u64,
    pub events: u64,
    pub counts: CallCounts,
    pub totals: Totals,
    /// The law that was broken, if one was.
    pub violation: Option<Violation>,
    /// The trace, if it was asked for.
    pub lines: Vec<String>,
}

/// Numbers about a seed: a simulator in which nothing happens proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub runs: u64,
    /// Pull requests that Pilot merged.
    pub merges: u64,
    /// Tickets opened to fix CI.
    pub fixes: u64,
    /// Crashes of a Pilot.
    pub crashes: u64,
    /// Calls that failed or were lost.
    pub faults: u64,
    pub tags: u64,
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub law: &'static str,
    pub how: String,
    /// When, in seconds of the simulation.
    pub at: u64,
}

/// The trace of a running simulation.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) hash: u64,
    pub(super) keep: bool,
    pub(super) lines: Vec<String>,
}

impl Trace {
    pub(super) fn new(keep: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, keep, lines: Vec::new() }
    }

    pub(super) fn add_line(&mut self, now: Timestamp, start: Timestamp, line: &str) {
        let millis = u64::try_from(now.since(start).as_millis()).unwrap_or(u64::MAX);
        for byte in millis.to_le_bytes().into_iter().chain(line.bytes()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.keep {
            self.lines.push(format!("{:>9}.{:03} {line}", millis / 1000, millis % 1000));
        }
    }
}
