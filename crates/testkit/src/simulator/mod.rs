//! The simulator: Pilot's own decisions, in one thread, on a clock that jumps, against a forge, agents and people that do their
//! worst. Everything comes from a seed, and the same seed gives the same trace.
//!
//! Requests and replies travel; either may be lost, late or stale. Pilot may die at any of them and before and after every
//! write. After each event the laws are asked, and in the end, when the weather has been calm for hours, whether everything came
//! to rest. A [`Mutant`] breaks one rule on purpose; the laws must notice.

mod agents;
mod daemon;
mod end;
mod fault;
mod forge;
mod laws;
mod ledger;
mod mutant;
mod people;
mod scene;
mod talk;
mod trace;
mod world;

pub use fault::{CallKind, Cell, Fault, Made};
pub use ledger::{LEASE, Ledger, Memory};
pub use mutant::Mutant;
pub use trace::{Outcome, Story, Violation};

use world::World;

/// What is asked of a simulation, beside its seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A rule to break.
    pub mutant: Option<Mutant>,
    /// Whether the lines of the trace are kept.
    pub keep_trace: bool,
}

/// Runs one seed with ledgers in memory.
pub fn simulate(seed: u64, options: Options) -> Outcome {
    simulate_with(seed, options, || Box::new(Memory::default()))
}

/// Runs one seed with other ledgers.
pub fn simulate_with(seed: u64, options: Options, ledger: impl Fn() -> Box<dyn Ledger>) -> Outcome {
    World::new(seed, options, &ledger).run()
}

/// The most requests of one kind that a fault is tried on.
const MOST_NTH: u32 = 3;

/// Every fault of every kind of request: the first few of each kind that are made when nothing goes wrong.
pub fn cells() -> Vec<Cell> {
    let made = simulate_cell(None, Options::default()).made;
    let mut cells = Vec::new();
    for call in CallKind::ALL {
        for nth in 1..=made.of(call).min(MOST_NTH) {
            cells.extend(Fault::ALL.map(|fault| Cell { call, nth, fault }));
        }
    }
    cells
}

/// Runs a world in which everybody does their part, but for one fault at most: three issues, of which one fails in CI at first,
/// one depends on another, and one is another Pilot's in the beginning.
pub fn simulate_cell(cell: Option<Cell>, options: Options) -> Outcome {
    World::scripted(cell, options).run()
}
