//! What happened, as a hash and, if somebody wants to read it, in lines.

use pilot_core::time::Timestamp;

use super::fault::Made;

/// What came of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// What the whole trace hashes to.
    pub hash: u64,
    /// How many events there were.
    pub events: u64,
    /// How often each kind of request was made.
    pub made: Made,
    /// What came of the tasks, in numbers.
    pub story: Story,
    /// The law that was broken, if one was.
    pub violation: Option<Violation>,
    /// The trace, if it was asked for.
    pub lines: Vec<String>,
}

/// Numbers about a seed: a simulator in which nothing happens proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// Runs that began.
    pub runs: u64,
    /// Pull requests that Pilot merged.
    pub merges: u64,
    /// Issues opened to fix CI.
    pub fixes: u64,
    /// Deaths of a Pilot.
    pub crashes: u64,
    /// Calls that failed, were lost or were answered with what was.
    pub faults: u64,
    /// Tags.
    pub tags: u64,
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which, by name.
    pub law: &'static str,
    /// How.
    pub how: String,
    /// When, in seconds of the simulation.
    pub at: u64,
}

/// The trace while it is made.
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

    /// Adds a line. What it says is made only where somebody reads or hashes it: both always do.
    pub(super) fn say(&mut self, now: Timestamp, start: Timestamp, line: &str) {
        let millis = u64::try_from(now.since(start).as_millis()).unwrap_or(u64::MAX);
        for byte in millis.to_le_bytes().into_iter().chain(line.bytes()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.keep {
            self.lines.push(format!("{:>9}.{:03} {line}", millis / 1000, millis % 1000));
        }
    }
}
