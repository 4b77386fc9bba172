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

pub use config::{Action, ActionWord, ConfigError, Section, StagnationConfig, Thresholds};
pub use monitor::Monitor;
pub use state::{AgentClaim, DiffDigest, ErrorDigest, State};

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing to worry about.
    #[default]
    None,
    /// Somebody should know.
    Warn,
    /// A person should decide.
    Pause,
    /// The run should end.
    Abort,
}

impl Level {
    /// The name as it is logged and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Warn => "warn",
            Level::Pause => "pause",
            Level::Abort => "abort",
        }
    }
}

/// What of a report stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Phase, progress and iteration: the agent says the same again.
    Report,
    /// Phase, progress, indicators, changes and last error, whatever the iteration: the agent counts rounds
    /// and changes nothing.
    Work,
}

/// Which limit on rounds was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// The configured one.
    Configured(u32),
    /// The number of rounds the agent planned itself.
    Planned(i64),
}

/// Why a level was reached, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The same report came again and again.
    Repeated {
        /// How many times in a row.
        times: u32,
        /// What stayed the same.
        what: Repeat,
    },
    /// Nothing moved.
    NoProgress {
        /// For how long, time with background work not counted.
        quiet: Duration,
    },
    /// The agent is in a later round than it should be.
    Iterations {
        /// The round it reports.
        iteration: i64,
        /// The limit it reached.
        cap: Cap,
    },
    /// The agent says it is stuck.
    AgentSaysSo(AgentClaim),
}

/// What the monitor thinks after a fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The level now.
    pub level: Level,
    /// The level before this fact.
    pub was: Level,
    /// Why; none only at level none.
    pub reason: Option<Reason>,
    /// When time alone would raise the level: ask again then. None while the clock stands still or nothing is
    /// left to raise.
    pub next_check: Option<Duration>,
}

impl Verdict {
    /// Whether this fact changed the level.
    pub fn changed(&self) -> bool {
        self.level != self.was
    }

    /// Whether this fact raised the level: the moment to act.
    pub fn rose(&self) -> bool {
        self.level > self.was
    }
}
