//! The verdict, against a reference that knows nothing of how it is made, over everything that can be said with three reports.

use std::collections::BTreeSet;

use super::{CiFailed, CiPassed, Doubt, Verdict, judge};
use crate::ci::{Check, CheckState, CiFacts, Conclusion, Reading, Required, StatusMark, StatusState};
use crate::policy::{CiPolicy, Watch};
use crate::task::tale::{at, policy, sha};
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

/// What one report says.
#[derive(Clone, Copy, Debug)]
enum Said {
    Nothing,
    Check(CheckState),
    Status(StatusState),
}

fn everything_that_can_be_said() -> Vec<Said> {
    let ended = Conclusion::ALL.map(|conclusion| Said::Check(CheckState::Completed(conclusion)));
    let running = [CheckState::Queued, CheckState::InProgress].map(Said::Check);
    let statuses = [StatusState::Success, StatusState::Pending, StatusState::Failure, StatusState::Error];
    [Said::Nothing].into_iter().chain(ended).chain(running).chain(statuses.map(Said::Status)).collect()
}

/// What a single report comes to: good, bad, open, void.
fn worth(said: Said, required: bool) -> char {
    match said {
        Said::Nothing if required => 'o',
        Said::Nothing => '-',
        Said::Status(StatusState::Success) => 'g',
        Said::Status(StatusState::Failure | StatusState::Error) => 'b',
        Said::Status(StatusState::Pending) => 'p',
        Said::Check(CheckState::Queued | CheckState::InProgress) => 'p',
        Said::Check(CheckState::Completed(conclusion)) => match conclusion {
            Conclusion::Success => 'g',
            Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => 'b',
            Conclusion::Skipped if required => 'v',
            Conclusion::Neutral | Conclusion::Skipped => '.',
            Conclusion::Cancelled | Conclusion::Stale | Conclusion::ActionRequired => 'v',
        },
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
    assert_eq!(rows, 32 * 32 * 32);
}

fn empty() -> Reading {
    Reading {
        sha: sha(10),
        checks: BTreeSet::new(),
        statuses: BTreeSet::new(),
        required: Required::Known(BTreeSet::new()),
    }
}

fn say(reading: &mut Reading, name: &str, said: Said) {
    match said {
        Said::Nothing => {}
        Said::Check(state) => {
            reading.checks.insert(Check { name: name.to_owned(), state });
        }
        Said::Status(state) => {
            reading.statuses.insert(StatusMark { context: name.to_owned(), state });
        }
    }
}

fn with(reports: &[(&str, Said)]) -> Reading {
    let mut reading = empty();
    for (name, said) in reports {
        say(&mut reading, name, *said);
    }
    reading
}

const GOOD: Said = Said::Check(CheckState::Completed(Conclusion::Success));
const BAD: Said = Said::Check(CheckState::Completed(Conclusion::Failure));
const VOID: Said = Said::Check(CheckState::Completed(Conclusion::Cancelled));
const SKIPPED: Said = Said::Check(CheckState::Completed(Conclusion::Skipped));
const RUNNING: Said = Said::Check(CheckState::InProgress);

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
    check(&[("a", GOOD), ("b", VOID)], Verdict::Unknown(Doubt::Undecided { names: names(&["b"]) }));
    check(&[("a", SKIPPED)], Verdict::Unknown(Doubt::NothingRan));
    check(&[], Verdict::Unknown(Doubt::NoChecks));
    // Two programs under one name.
    check(&[("a", GOOD), ("a", Said::Status(StatusState::Failure))], failed(&["a"]));
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
    assert_eq!(settled(reading.clone(), &policy), Verdict::Unknown(Doubt::RequiredUnknown));
    say(&mut reading, "flaky", RUNNING);
    assert!(!policy.is_under_way(&reading.checks, &reading.statuses), "what is excluded does not keep it up");
    say(&mut reading, "slow", RUNNING);
    assert!(policy.is_under_way(&reading.checks, &reading.statuses));
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
fn nothing_is_green_by_silence() {
    let policy = ci();
    let facts = |reading: Reading| CiFacts { reading, since: at(0), last: at(0) };
    let judged = |facts: Option<&CiFacts>, now: Timestamp| judge(&sha(10), facts, at(0), &policy, now);
    assert_eq!(judged(None, at(9999)), Verdict::Unknown(Doubt::NotRead));
    let old = facts(Reading { sha: sha(11), ..with(&[("a", GOOD)]) });
    assert_eq!(judged(Some(&old), at(9999)), Verdict::Unknown(Doubt::NotRead), "another commit's");
    let silent = facts(empty());
    assert_eq!(judged(Some(&silent), at(59)), Verdict::Unknown(Doubt::Discovering));
    assert_eq!(judged(Some(&silent), at(60)), Verdict::Unknown(Doubt::NoChecks));
    let none = CiPolicy { watch: Watch::Nothing, ..ci() };
    let passed = judge(&sha(10), None, at(0), &none, at(0));
    assert_eq!(
        passed,
        Verdict::Passed(CiPassed { sha: sha(10), checks: BTreeSet::new() }),
        "somebody said so"
    );
}
