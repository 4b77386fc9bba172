//! The simulator itself: that it is deterministic and that its laws notice. The many seeds are run by `.ci/run`.

use pilot_testkit::simulator::{CallKind, Mutant, Options, simulate, simulate_single, single_faults};

/// Enough for every number of Pilots and every rate of faults to occur.
const SEEDS: std::ops::Range<u64> = 1..25;

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in SEEDS {
        let options = Options { mutant: None, keep_trace: true };
        let (one, other) = (simulate(seed, options), simulate(seed, options));
        assert_eq!(one.violation, None, "seed {seed}");
        assert_eq!(one.lines, other.lines, "seed {seed}");
        assert_eq!(one, other, "seed {seed}");
        // A trace that is not kept is the same one.
        let unkept = simulate(seed, Options::default());
        assert_eq!((unkept.hash, unkept.events), (one.hash, one.events), "seed {seed}");
    }
    assert_ne!(simulate(1, Options::default()).hash, simulate(2, Options::default()).hash);
}

#[test]
fn every_kind_of_thing_happens() {
    let totals = SEEDS.map(|seed| simulate(seed, Options::default()).totals);
    let mut sum = totals.fold([0; 6], |sum, totals| {
        let more = [totals.runs, totals.merges, totals.fixes, totals.crashes, totals.faults, totals.tags];
        std::array::from_fn(|place| sum[place] + more[place])
    });
    sum.sort_unstable();
    assert!(sum[0] > 5, "{sum:?}");
}

#[test]
fn a_world_without_faults_makes_every_kind_of_request() {
    let outcome = simulate_single(None, Options::default());
    assert_eq!(outcome.violation, None);
    for call in CallKind::ALL {
        assert!(outcome.counts.of(call) > 0, "{call:?} is never made");
    }
}

/// A part of the grid, with every fault and every kind of request in it; `.ci/run` tries all of it.
#[test]
fn no_single_fault_changes_the_result() {
    for fault in single_faults().into_iter().step_by(7) {
        let outcome = simulate_single(Some(fault), Options::default());
        assert_eq!(outcome.violation, None, "{fault:?}");
    }
}

#[test]
fn a_broken_rule_is_noticed() {
    for mutant in [Mutant::LabelBeforeClaim, Mutant::CloseBeforeMerged, Mutant::UntrustedMayStart] {
        let options = Options { mutant: Some(mutant), keep_trace: false };
        assert!(SEEDS.into_iter().any(|seed| simulate(seed, options).violation.is_some()), "{mutant:?}");
    }
}
