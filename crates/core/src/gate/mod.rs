//! Gates: the checks a commit has to pass before it is published.
//!
//! Which ones there are ([`choose`]), in which order they run ([`schedule`]), what their ending means ([`GateResult`]),
//! what all of them together say about one commit ([`GateVerdict`]), and what follows from that ([`next`]). A gate that did
//! not finish did not pass, and a verdict holds for its commit alone.
//!
//! Must never know: how a command is run, and who wrote the commit. Output of a gate is data: it is shown, never obeyed.

mod choose;
mod coverage;
mod detect;
mod excerpt;
mod feedback;
mod kind;
mod next;
mod percent;
mod plain;
mod policy;
mod result;
mod root;
mod schedule;
mod stop;
mod verdict;
pub mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use choose::{Chosen, GateSource, NotRun, choose};
pub use coverage::{Coverage, coverage};
pub use detect::detect;
pub use excerpt::{EXCERPT_LIMIT, excerpt};
pub use feedback::{FEEDBACK_LIMIT, Feedback};
pub use kind::GateKind;
pub use next::{NextGateStep, next};
pub use percent::Percent;
pub use policy::{GatePolicy, OnFailure, Quality};
pub use result::{GateEnding, GateResult, GateStatus, Ran};
pub use root::{READ, Root};
pub use schedule::schedule;
pub use stop::{StopAnswer, stop_answer};
pub use verdict::{GateEvidence, GateVerdict, verdict};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What people call it; no two gates of a project share it.
    pub name: String,
    pub kind: GateKind,
    /// What a shell runs in the root of the worktree; 0 is a pass.
    pub command: String,
    #[serde(with = "crate::duration")]
    pub timeout: Duration,
    pub max_retries: u32,
    #[serde(with = "crate::duration")]
    pub retry_delay: Duration,
    /// Whether a commit that does not pass it is held up.
    pub required: bool,
    /// What happens then; none is what all gates do.
    pub on_failure: Option<OnFailure>,
    /// The least coverage, for a gate that measures it.
    pub threshold: Option<Percent>,
    pub failure_hint: Option<String>,
    pub group: Option<String>,
}

impl Gate {
    /// A required gate with everything else as it is by default.
    pub fn new(name: impl Into<String>, kind: GateKind, command: impl Into<String>) -> Gate {
        Gate {
            name: name.into(),
            kind,
            command: command.into(),
            timeout: kind.timeout(),
            max_retries: 0,
            retry_delay: Gate::RETRY_DELAY,
            required: true,
            on_failure: None,
            threshold: None,
            failure_hint: None,
            group: None,
        }
    }

    pub const RETRY_DELAY: Duration = Duration::from_secs(5);

    /// What happens when it does not pass: an advisory gate only warns.
    pub fn action(&self, policy: &GatePolicy) -> OnFailure {
        if self.required { self.on_failure.unwrap_or(policy.action) } else { OnFailure::Warn }
    }
}
