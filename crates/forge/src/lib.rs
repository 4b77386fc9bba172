//! The local forge: a small real forge on loopback.
//!
//! Must never know: the rest of Pilot.
