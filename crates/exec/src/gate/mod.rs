//! Gates: what they run in, and what became of them. What it means, the core says.
//!
//! A command runs under the same supervision as an agent ([`process`](crate::process)), with an environment of its own,
//! on exactly the commit that is judged: what a gate changes under version control is put back before another one looks.
//! The same gates can run inside the session of an agent that asks before it stops ([`StopGate`]); there they judge the
//! work as it lies there, and leave it so.
//!
//! Must never know: which agent ran, and what follows from a result.

mod attempt;
mod look;
mod round;
mod session;
mod stop;
mod together;

pub use look::look;
pub use round::{Ground, Progress, Round, Site, run_gates};
pub use stop::{StopGate, StopGateError, WORD, answer_stop};
