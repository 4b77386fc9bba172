//! The simulator itself: that it can be believed. The many seeds are run by `.ci/run`.

use pilot_testkit::simulator::{CallKind, Mutant, Options, cells, simulate, simulate_cell};

/// Enough to have met every company and every weather.
const SEEDS: std::ops::Range<u64> = 1..25;

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in SEEDS {
        let options = Options { mutant: None, keep_trace: true };
        let (one, other) = (simulate(seed, options), simulate(seed, options));
        assert_eq!(one.violation, None, "seed {seed}");
        assert_eq!(one.lines, other.lines, "seed {seed}");
        assert_eq!(one, other, "seed {seed}");
        // A trace that nobody keeps is the same one.
        let unkept = simulate(seed, Options::default());
        assert_eq!((unkept.hash, unkept.events), (one.hash, one.events), "seed {seed}");
    }
    assert_ne!(simulate(1, Options::default()).hash, simulate(2, Options::default()).hash);
}

#[test]
fn things_happen_in_it() {
    let stories = SEEDS.map(|seed| simulate(seed, Options::default()).story);
    let mut sum = stories.fold([0; 6], |sum, story| {
        let more = [story.runs, story.merges, story.fixes, story.crashes, story.faults, story.tags];
        std::array::from_fn(|place| sum[place] + more[place])
    });
    sum.sort_unstable();
    assert!(sum[0] > 5, "{sum:?}");
}

#[test]
fn a_world_without_faults_makes_every_kind_of_request() {
    let outcome = simulate_cell(None, Options::default());
    assert_eq!(outcome.violation, None);
    for call in CallKind::ALL {
        assert!(outcome.made.of(call) > 0, "{call:?} is never made");
    }
}

/// A part of the grid, with every fault and every kind of request in it; `.ci/run` does the whole.
#[test]
fn no_single_fault_changes_what_comes_of_it() {
    for cell in cells().into_iter().step_by(7) {
        let outcome = simulate_cell(Some(cell), Options::default());
        assert_eq!(outcome.violation, None, "{cell:?}");
    }
}

#[test]
fn a_broken_rule_is_noticed() {
    for mutant in [Mutant::LabelBeforeClaim, Mutant::CloseBeforeMerged, Mutant::AnybodyMayStart] {
        let options = Options { mutant: Some(mutant), keep_trace: false };
        assert!(SEEDS.into_iter().any(|seed| simulate(seed, options).violation.is_some()), "{mutant:?}");
    }
}
