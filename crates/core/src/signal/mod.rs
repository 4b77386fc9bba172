//! Signals: what an agent says about itself inside its own text.
//!
//! Four dialects, one scanner, one event type. Bytes go in as they come; signals and diagnostics come out with the
//! byte span of their mark. Must never know where the bytes come from or what is done with a signal.
//!
//! - [`Scanner`] takes the bytes of one message after another; [`scan`] takes a whole one.
//! - [`Stripper`] and [`strip`] give the text for people.
//! - [`latest_progress`], [`latest_phase`] and [`has_exit`] tell what the signals of a run say together.

mod clean;
mod duplicates;
mod event;
mod fence;
mod json;
mod legacy;
mod line;
mod lists;
mod look;
mod open;
mod place;
mod query;
mod reading;
mod scanner;
mod strip;
mod tag;
mod text;
mod watch;
pub mod words;

pub use event::{Code, Diagnostic, Found, Kind, Protocol, Signal, Span};
pub use query::{has_exit, latest_phase, latest_progress};
pub use scanner::{Scanner, scan};
pub use strip::{Stripper, strip};
