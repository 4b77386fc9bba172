//! One program under supervision, and nothing left behind.
//!
//! Pilot starts itself again as a small keeper (`__contain`), hands it the program and its pipes over a socket, and keeps
//! the other end: commands go down, reports about the program come up, and a closed socket means that Pilot is gone,
//! however it died. The keeper contains the program in a PID namespace where the kernel allows it, so that one exit also
//! kills daemons that called `setsid`.
//!
//! ```text
//! Pilot ──socket── keeper ──── first process of the namespace ──── the program ──── its children
//!   └───────────────── standard input, output, error ─────────────────┘
//! ```
//!
//! Must never know: which program it is, what its output means, which class an ending belongs to.

pub mod contain;

mod containment;
mod descendants;
mod descriptors;
mod excerpt;
mod init;
mod launch;
mod oom;
mod read_pacer;
mod running;
mod stop_clock;
mod wire;

pub use containment::{Containment, ContainmentKind};
pub use excerpt::Excerpt;
pub use launch::{Deadlines, Launch, ProcessLimits, StartError};
pub use running::{Ended, Output, Running};
