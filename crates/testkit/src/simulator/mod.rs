//! The simulator: Pilot's own decisions, in one thread, on a clock that jumps, against a tracker, a forge, agents and people
//! that fail in every way we know. Everything comes from a seed, and the same seed gives the same trace.
//!
//! Requests and replies take time; either may be lost, late or stale. Pilot may crash at any of them and before and after
//! every write. The laws are checked after each event, and at the end, hours after the last fault, whether every task came
//! to rest. A [`Mutant`] breaks one rule on purpose; the laws must notice.

mod agents;
mod daemon;
mod end_laws;
mod fault;
mod forge;
mod laws;
mod mutant;
mod people;
mod request;
mod setup;
mod store;
mod trace;
mod world;

pub use fault::{CallCounts, CallKind, Fault, SingleFault};
pub use mutant::Mutant;
pub use store::{LEASE, MemoryStore, TaskStore};
pub use trace::{Outcome, Totals, Violation};

use world::World;

/// What is asked of a simulation, beside its seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A rule to break.
    pub mutant: Option<Mutant>,
    /// Whether the lines of the trace are kept.
    pub keep_trace: bool,
}

/// Runs one seed with stores in memory.
pub fn simulate(seed: u64, options: Options) -> Outcome {
    simulate_with(seed, options, || Box::new(MemoryStore::default()))
}

/// Runs one seed with other stores.
pub fn simulate_with(seed: u64, options: Options, store: impl Fn() -> Box<dyn TaskStore>) -> Outcome {
    World::new(seed, options, &store).run()
}

/// The most requests of one kind that a fault is tried on.
const MOST_NTH: u32 = 3;

/// Every fault of every kind of request: the first few of each kind that are made when nothing goes wrong.
pub fn single_faults() -> Vec<SingleFault> {
    let counts = simulate_single(None, Options::default()).counts;
    let mut faults = Vec::new();
    for call in CallKind::ALL {
        for nth in 1..=counts.of(call).min(MOST_NTH) {
            faults.extend(Fault::ALL.map(|fault| SingleFault { call, nth, fault }));
        }
    }
    faults
}

/// Runs a world in which nothing goes wrong but one fault at most: three tickets, of which one fails in CI at first, one
/// depends on another, and one is claimed by another Pilot in the beginning.
pub fn simulate_single(fault: Option<SingleFault>, options: Options) -> Outcome {
    World::scripted(fault, options).run()
}
