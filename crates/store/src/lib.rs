//! Everything Pilot *remembers*: queue with leases, event log, outbox, history, memory.
//!
//! Must never know: forges, processes.
