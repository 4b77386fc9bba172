//! What is configured about gates, and what follows when one does not pass.

use serde::{Deserialize, Serialize};

use super::Gate;
use crate::config::section;
use crate::text::word_enum;

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OnFailure {
        /// The agent is told and tries again, as often as the policy allows; then the run fails.
        #[default]
        Retry = "retry",
        Fail = "fail",
        /// It is logged, and the run continues.
        Warn = "warn",
    }
}

section! {
    /// What follows when a gate does not pass.
    #[derive(Copy, Serialize, Deserialize)]
    pub struct GatePolicy at (quality.on_failure) {
        /// What happens when a required gate does not pass: the agent is told and tries again, the run fails at once, or
        /// it is only a warning.
        project action: OnFailure = OnFailure::Retry;
        /// How often an agent is sent back with what the gates found.
        project max_retries: u32 = 2;
    }
}

section! {
    /// Everything that is configured about gates.
    pub struct Quality at (quality) {
        /// Whether gates check what an agent did.
        project enabled: bool = true;
        /// The gates; empty takes those the project shows.
        project gates: Vec<Gate> = Vec::new();
        /// Whether gates without a group run at the same time.
        project parallel: bool = false;
        section on_failure: GatePolicy = GatePolicy::default();
        /// Whether Claude Code also runs the required gates inside its session before it stops.
        project stop_hook: bool = false;
    }
}
