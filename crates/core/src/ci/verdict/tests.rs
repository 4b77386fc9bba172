//! The verdict, against a reference that knows nothing of how it is made, over everything that can be said with three reports.

use std::collections::BTreeSet;

use super::{CiFailed, CiPassed, Inconclusive, Verdict, judge};
use crate::ci::{Check, CheckState, CiFacts, Reading, Required};
use crate::policy::{CiPolicy, Watch};
use crate::task::scenario::{at, policy, sha};
use crate::time::Timestamp;

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn ci() -> CiPolicy {
    policy().ci
}

/// The reading was made at second 1000 and again an interval later, long after the push.
fn settled(reading: Reading, policy: &CiPolicy) -> Verdict {
    let facts = CiFacts { reading, since: at(1000), last: at(1030) };
    judge(&sha(10), Some(&facts), at(0), policy, at(1030))
}

/// What one check says: nothing, where it did not report.
type Said = Option<CheckState>;

fn everything_that_can_be_said() -> Vec<Said> {
    [None].into_iter().chain(CheckState::ALL.map(Some)).collect()
}

/// What a single check comes to: good, bad, pending, absent, void, without weight.
fn worth(said: Said, required: bool) -> char {
    match said {
        None if required => 'o',
        None => '-',
        Some(CheckState::Passed) => 'g',
        Some(CheckState::Failed) => 'b',
        Some(CheckState::Pending) => 'p',
        Some(CheckState::Undecided) => 'v',
        Some(CheckState::Skipped) if required => 'v',
        Some(CheckState::Skipped | CheckState::Ignored) => '.',
    }
}

/// The reference: pending before bad, bad before missing, missing before void; good only with something good.
fn expected(worths: &[char]) -> &'static str {
    let has = |worth: char| worths.contains(&worth);
    match () {
        () if worths.iter().all(|worth| *worth == '-' || *worth == 'o') => "unknown",
        () if has('p') => "pending",
        () if has('b') => "failed",
        () if has('o') => "pending",
        () if has('v') || !has('g') => "unknown",
        () => "passed",
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed(_) => "passed",
        Verdict::Failed(_) => "failed",
        Verdict::Pending { .. } => "pending",
        Verdict::Unknown(_) => "unknown",
    }
}

#[test]
fn all_that_three_reports_can_say() {
    let options: Vec<(Said, bool)> =
        everything_that_can_be_said().into_iter().flat_map(|said| [(said, false), (said, true)]).collect();
    let policy = ci();
    let mut rows = 0;
    for one in &options {
        for two in &options {
            for three in &options {
                let slots = [one, two, three];
                let mut reading = empty();
                let mut required = BTreeSet::new();
                for (name, (said, needed)) in ["a", "b", "c"].into_iter().zip(slots) {
                    say(&mut reading, name, *said);
                    if *needed {
                        required.insert(name.to_owned());
                    }
                }
                reading.required = Required::Known(required);
                let worths = slots.map(|(said, required)| worth(*said, *required));
                let verdict = settled(reading, &policy);
                assert_eq!(word(&verdict), expected(&worths), "{slots:?}: {verdict:?}");
                rows += 1;
            }
        }
    }
    assert_eq!(rows, 14 * 14 * 14);
}

fn empty() -> Reading {
    Reading { sha: sha(10), checks: BTreeSet::new(), required: Required::Known(BTreeSet::new()) }
}

fn say(reading: &mut Reading, name: &str, said: Said) {
    reading.checks.extend(said.map(|state| Check { name: name.to_owned(), state }));
}

fn with(reports: &[(&str, Said)]) -> Reading {
    let mut reading = empty();
    for (name, said) in reports {
        say(&mut reading, name, *said);
    }
    reading
}

const GOOD: Said = Some(CheckState::Passed);
const BAD: Said = Some(CheckState::Failed);
const VOID: Said = Some(CheckState::Undecided);
const SKIPPED: Said = Some(CheckState::Skipped);
const RUNNING: Said = Some(CheckState::Pending);

#[test]
fn a_verdict_names_its_evidence() {
    let policy = ci();
    let check = |reports: &[(&str, Said)], expect: Verdict| {
        assert_eq!(settled(with(reports), &policy), expect, "{reports:?}");
    };
    let passed = |checks: &[&str]| Verdict::Passed(CiPassed { sha: sha(10), checks: names(checks) });
    let failed = |failed: &[&str]| Verdict::Failed(CiFailed { sha: sha(10), failed: names(failed) });
    check(&[("a", GOOD), ("b", GOOD)], passed(&["a", "b"]));
    check(&[("a", GOOD), ("b", SKIPPED)], passed(&["a"]));
    check(&[("a", GOOD), ("b", BAD)], failed(&["b"]));
    // One failure is no verdict while others run: they may be what says why.
    check(&[("a", RUNNING), ("b", BAD)], Verdict::Pending { names: names(&["a"]) });
    check(&[("a", GOOD), ("b", VOID)], Verdict::Unknown(Inconclusive::Undecided { names: names(&["b"]) }));
    check(&[("a", SKIPPED)], Verdict::Unknown(Inconclusive::NothingRan));
    check(&[], Verdict::Unknown(Inconclusive::NoChecks));
    // Two programs under one name.
    check(&[("a", GOOD), ("a", BAD)], failed(&["a"]));
}

#[test]
fn what_must_be_there_comes_from_the_forge_and_from_the_configuration() {
    let watch = Watch::Checks { exclude: names(&["flaky"]), required: names(&["ours"]) };
    let policy = CiPolicy { watch, ..ci() };
    let mut reading = with(&[("a", GOOD), ("flaky", BAD)]);
    reading.required = Required::Known(names(&["theirs"]));
    assert_eq!(
        settled(reading.clone(), &policy),
        Verdict::Pending { names: names(&["ours", "theirs"]) },
        "absent is not passed"
    );
    say(&mut reading, "ours", GOOD);
    say(&mut reading, "theirs", GOOD);
    assert_eq!(word(&settled(reading.clone(), &policy)), "passed", "what is excluded has no say");
    reading.required = Required::Unknown;
    assert_eq!(settled(reading.clone(), &policy), Verdict::Unknown(Inconclusive::RequiredUnknown));
    say(&mut reading, "flaky", RUNNING);
    assert!(!policy.is_under_way(&reading.checks), "what is excluded does not keep it up");
    say(&mut reading, "slow", RUNNING);
    assert!(policy.is_under_way(&reading.checks));
    assert_eq!(
        settled(reading, &policy),
        Verdict::Pending { names: names(&["slow"]) },
        "whatever must be there"
    );
}

#[test]
fn a_verdict_takes_two_equal_readings_one_interval_apart() {
    let policy = ci();
    let judged = |since: i64, last: i64| {
        let facts = CiFacts { reading: with(&[("a", GOOD)]), since: at(since), last: at(last) };
        word(&judge(&sha(10), Some(&facts), at(0), &policy, at(last)))
    };
    assert_eq!([judged(100, 100), judged(100, 129), judged(100, 130)], ["unknown", "unknown", "passed"]);
    let mut facts: Option<CiFacts> = None;
    let mut words = Vec::new();
    for (seconds, said) in [(0, RUNNING), (30, GOOD), (60, RUNNING), (90, GOOD), (120, GOOD)] {
        facts = Some(CiFacts::with(facts.as_ref(), with(&[("a", said)]), at(seconds)));
        words.push(word(&judge(&sha(10), facts.as_ref(), at(0), &policy, at(seconds))));
    }
    assert_eq!(
        words,
        ["pending", "unknown", "pending", "unknown", "passed"],
        "a check that came later counts"
    );
}

#[test]
fn nothing_passes_without_a_report() {
    let policy = ci();
    let facts = |reading: Reading| CiFacts { reading, since: at(0), last: at(0) };
    let judged = |facts: Option<&CiFacts>, now: Timestamp| judge(&sha(10), facts, at(0), &policy, now);
    assert_eq!(judged(None, at(9999)), Verdict::Unknown(Inconclusive::NotRead));
    let old = facts(Reading { sha: sha(11), ..with(&[("a", GOOD)]) });
    assert_eq!(judged(Some(&old), at(9999)), Verdict::Unknown(Inconclusive::NotRead), "another commit's");
    let unreported = facts(empty());
    assert_eq!(judged(Some(&unreported), at(59)), Verdict::Unknown(Inconclusive::Discovering));
    assert_eq!(judged(Some(&unreported), at(60)), Verdict::Unknown(Inconclusive::NoChecks));
    let none = CiPolicy { watch: Watch::Nothing, ..ci() };
    let passed = judge(&sha(10), None, at(0), &none, at(0));
    assert_eq!(
        passed,
        Verdict::Passed(CiPassed { sha: sha(10), checks: BTreeSet::new() }),
        "the configuration says so"
    );
}
