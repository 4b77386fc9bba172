//! Is the run getting anywhere? Warn, then pause, then abort when it is not.
//!
//! Four kinds of evidence: reports that repeat, time without real progress, more rounds than allowed, and the
//! agent's own word. A level that was reached goes down only on real progress, or when a person says to go
//! on. Must never know the clock, the process or what an alert is sent by: time is an argument, actions are
//! data.

mod clock;
mod config;
pub(crate) mod fnv;
mod monitor;
mod rounds;
mod seen;
mod series;
mod state;
pub mod words;

use std::time::Duration;

use crate::text::word_enum;

pub use config::{StagnationAction, StagnationConfig, Thresholds};
pub use monitor::Monitor;
pub use state::{AgentClaim, DiffDigest, ErrorDigest, RunState};

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum StagnationLevel {
        #[default]
        None = "none",
        Warn = "warn",
        /// A person should decide.
        Pause = "pause",
        Abort = "abort",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Phase, progress and iteration: the agent says the same again.
    Report,
    /// Phase, progress, indicators, changes and last error, whatever the iteration: the agent counts rounds
    /// and changes nothing.
    Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundCap {
    Configured(u32),
    /// The number of rounds the agent planned itself.
    Planned(i64),
}

/// Why a level was reached. `quiet` does not count time with background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StagnationReason {
    Repeated { times: u32, what: Repeat },
    NoProgress { quiet: Duration },
    Iterations { iteration: i64, cap: RoundCap },
    AgentSaysSo(AgentClaim),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagnationVerdict {
    pub level: StagnationLevel,
    /// The level before this fact.
    pub was: StagnationLevel,
    /// Why; none only at level none.
    pub reason: Option<StagnationReason>,
    /// When time alone would raise the level: ask again then. None while the clock stands still or nothing is
    /// left to raise.
    pub next_check: Option<Duration>,
}

impl StagnationVerdict {
    pub fn changed(&self) -> bool {
        self.level != self.was
    }

    pub fn rose(&self) -> bool {
        self.level > self.was
    }
}
