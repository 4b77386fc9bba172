//! Runs gates and reports how each ended. What an ending means is decided in the core.
//!
//! A command runs under the same supervision as an agent ([`process`](crate::process)), with an environment of its own,
//! on exactly the commit that is judged: what a gate changes under version control is reverted before the next one runs.
//! The same gates can run inside the session of an agent that asks before it stops ([`StopGate`]); there they judge the
//! uncommitted work, and leave it as it was.
//!
//! Must never know: which agent ran, and what follows from a result.

mod attempt;
mod join;
mod project_root;
mod round;
mod session;
mod stop;

pub use project_root::read_root;
pub use round::{GateContext, GateProgress, GateRound, GateTarget, run_gates};
pub use stop::{StopGate, StopGateError, WORD, answer_stop};
