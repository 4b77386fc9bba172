//! One program under supervision, and nothing left behind.
//!
//! Pilot starts itself again as a small keeper (`__contain`), hands it the program and its pipes over a socket, and keeps
//! the other end: orders go down, what became of the program comes up, and the end of the socket means the end of Pilot,
//! whichever way it died. The keeper holds the program in a PID namespace where the kernel lets it, so that one exit takes
//! daemons that called `setsid` along.
//!
//! ```text
//! Pilot ──socket── keeper ──── first process of the namespace ──── the program ──── its children
//!   └───────────────── standard input, output, error ─────────────────┘
//! ```
//!
//! Must never know: which program it is, what its output means, which class an ending belongs to.

pub mod contain;

mod containment;
mod descriptors;
mod evidence;
mod excerpt;
mod first;
mod flood;
mod launch;
mod running;
mod sweep;
mod watch;
mod wire;

pub use containment::{Containment, Kind};
pub use excerpt::Excerpt;
pub use launch::{Deadlines, Launch, Limits, StartError};
pub use running::{Ended, EndedBy, Exit, Output, Running, Why};
