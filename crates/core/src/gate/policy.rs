//! What is configured about gates, and what follows when one does not pass.

use serde::{Deserialize, Serialize};

use super::Gate;

/// What happens when a gate does not pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The agent is told and tries again, as often as the policy allows; then the run fails.
    #[default]
    Retry,
    /// The run fails at once.
    Fail,
    /// It is written down, and the run goes on.
    Warn,
}

impl OnFailure {
    /// Every way, the default first.
    pub const ALL: [OnFailure; 3] = [OnFailure::Retry, OnFailure::Fail, OnFailure::Warn];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            OnFailure::Retry => "retry",
            OnFailure::Fail => "fail",
            OnFailure::Warn => "warn",
        }
    }
}

/// What follows when a gate does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// For gates that say nothing else.
    pub action: OnFailure,
    /// How often an agent is sent back with what the gates found.
    pub max_retries: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { action: OnFailure::Retry, max_retries: 2 }
    }
}

/// Everything that is configured about gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Whether any gate runs.
    pub enabled: bool,
    /// The gates; empty leaves it to what the project looks like.
    pub gates: Vec<Gate>,
    /// Whether gates without a group run at the same time.
    pub parallel: bool,
    /// What follows when one does not pass.
    pub on_failure: Policy,
    /// Whether an agent that can is held by the gates before it stops.
    pub stop_hook: bool,
}

impl Default for Quality {
    fn default() -> Quality {
        Quality {
            enabled: true,
            gates: Vec::new(),
            parallel: false,
            on_failure: Policy::default(),
            stop_hook: false,
        }
    }
}
