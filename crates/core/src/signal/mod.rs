//! Signals: what an agent says about itself inside its own text.

mod event;

pub use event::{Code, Diagnostic, Found, Kind, Protocol, Signal, Span};
