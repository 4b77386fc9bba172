//! The state of a run as one message reports it, and the two digests that tell whether it is the same as
//! before.

use serde_json::{Map, Value};

use super::fnv::Fnv;
use crate::phase::Phase;
use crate::signal::{Kind, Signal};

/// What stands for the changes the agent made: equal digests, equal changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiffDigest(u64);

impl DiffDigest {
    /// The digest of anything that names the changes: the diff itself, or files with their hashes, commits
    /// included.
    pub fn of(diff: &[u8]) -> DiffDigest {
        DiffDigest(Fnv::new().bytes(diff).digest())
    }

    /// The digest after one more change.
    #[must_use]
    pub fn then(self, change: &[u8]) -> DiffDigest {
        DiffDigest(Fnv::new().number(Some(self.0)).bytes(change).digest())
    }
}

/// What stands for the last error: equal digests, equal errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorDigest(u64);

impl ErrorDigest {
    /// The digest of an error text; digits count as one another, because line numbers, times and sizes differ
    /// from try to try.
    pub fn of(error: &str) -> ErrorDigest {
        let mut digest = Fnv::new();
        let mut in_number = false;
        for byte in error.bytes() {
            if !byte.is_ascii_digit() {
                digest = digest.bytes(&[byte]);
            } else if !in_number {
                digest = digest.bytes(b"0");
            }
            in_number = byte.is_ascii_digit();
        }
        ErrorDigest(digest.digest())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentClaim {
    /// It has tried as often as it may.
    pub retry_exhausted: bool,
}

impl AgentClaim {
    pub fn of(signal: &Signal) -> Option<AgentClaim> {
        let indicator = |name| signal.indicators.as_ref().and_then(|indicators| indicators.get(name));
        let retry_exhausted = indicator("retry_exhausted") == Some(&Value::Bool(true));
        (signal.kind == Kind::Stagnation).then_some(AgentClaim { retry_exhausted })
    }
}

/// What is known of a run. A field that was not sent is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    pub phase: Option<Phase>,
    pub progress: Option<u8>,
    pub iteration: Option<i64>,
    /// The rounds the agent planned. No part of the digests.
    pub max_iterations: Option<i64>,
    pub indicators: Map<String, Value>,
    /// The changes so far; absent when there are none or they were not read.
    pub diff: Option<DiffDigest>,
    pub last_error: Option<ErrorDigest>,
}

impl RunState {
    /// Takes over the fields a signal carries, keeps the others; says whether it carried any. Take over all
    /// signals of one message, then report once: copies of one block in a message are one report.
    pub fn absorb(&mut self, signal: &Signal) -> bool {
        let reports = signal.phase.is_some()
            || signal.progress.is_some()
            || signal.iteration.is_some()
            || signal.indicators.is_some();
        self.phase = signal.phase.clone().or(self.phase.take());
        self.progress = signal.progress.or(self.progress);
        self.iteration = signal.iteration.or(self.iteration);
        self.max_iterations = signal.max_iterations.or(self.max_iterations);
        if let Some(indicators) = &signal.indicators {
            self.indicators.clone_from(indicators);
        }
        reports
    }

    /// The digest of what the agent says: phase, progress, iteration.
    pub(super) fn report_digest(&self) -> u64 {
        self.head().number(self.iteration.map(i64::cast_unsigned)).digest()
    }

    /// The digest of what there is to see, whatever round the agent counts: phase, progress, indicators,
    /// changes, last error.
    pub(super) fn work_digest(&self) -> u64 {
        indicators(self.head(), &self.indicators)
            .number(self.diff.map(|diff| diff.0))
            .number(self.last_error.map(|error| error.0))
            .digest()
    }

    fn head(&self) -> Fnv {
        let digest = match &self.phase {
            Some(phase) => Fnv::new().text(phase.as_str()),
            None => Fnv::new().number(None),
        };
        digest.number(self.progress.map(u64::from))
    }
}

/// An indicator that is false or null says as little as one that is absent.
fn indicators(digest: Fnv, indicators: &Map<String, Value>) -> Fnv {
    let set = indicators.iter().filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
    object(digest, set)
}

/// Sorted by name: the order in which a map gives its entries depends on how serde_json was built.
fn object<'a>(digest: Fnv, entries: impl Iterator<Item = (&'a String, &'a Value)>) -> Fnv {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|(name, _)| *name);
    let digest = digest.bytes(b"{").number(u64::try_from(entries.len()).ok());
    entries.into_iter().fold(digest, |digest, (name, each)| value(digest.text(name), each))
}

/// As deep as the scanner let it be.
fn value(digest: Fnv, given: &Value) -> Fnv {
    match given {
        Value::Null => digest.bytes(b"n"),
        Value::Bool(flag) => digest.bytes(if *flag { b"t" } else { b"f" }),
        Value::Number(number) => digest.bytes(b"#").text(&number.to_string()),
        Value::String(text) => digest.bytes(b"\"").text(text),
        Value::Array(values) => {
            let digest = digest.bytes(b"[").number(u64::try_from(values.len()).ok());
            values.iter().fold(digest, value)
        }
        Value::Object(map) => object(digest, map.iter()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{AgentClaim, DiffDigest, ErrorDigest, RunState};
    use crate::phase::Phase;
    use crate::signal::{Kind, Protocol, Signal, Span};

    fn signal(kind: Kind) -> Signal {
        Signal::new(Protocol::V2, kind, Span { start: 0, end: 0 })
    }

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn base() -> RunState {
        RunState {
            phase: Some(Phase::Impl),
            progress: Some(50),
            iteration: Some(2),
            indicators: map(json!({"same_error": true})),
            diff: Some(DiffDigest::of(b"a")),
            last_error: Some(ErrorDigest::of("x")),
            ..RunState::default()
        }
    }

    #[test]
    fn each_field_counts_where_it_should() {
        for (changed, in_report, in_work) in [
            (base(), false, false),
            (RunState { phase: Some(Phase::Verify), ..base() }, true, true),
            (RunState { phase: None, ..base() }, true, true),
            (RunState { progress: Some(51), ..base() }, true, true),
            (RunState { progress: None, ..base() }, true, true),
            (RunState { iteration: Some(3), ..base() }, true, false),
            (RunState { max_iterations: Some(9), ..base() }, false, false),
            (RunState { indicators: Map::new(), ..base() }, false, true),
            (RunState { indicators: map(json!({"same_error": true, "x": 1})), ..base() }, false, true),
            (
                RunState { indicators: map(json!({"same_error": true, "x": false, "y": null})), ..base() },
                false,
                false,
            ),
            (RunState { diff: Some(DiffDigest::of(b"b")), ..base() }, false, true),
            (RunState { diff: None, ..base() }, false, true),
            (RunState { last_error: Some(ErrorDigest::of("y")), ..base() }, false, true),
            (RunState { last_error: None, ..base() }, false, true),
        ] {
            assert_eq!(changed.report_digest() != base().report_digest(), in_report, "report of {changed:?}");
            assert_eq!(changed.work_digest() != base().work_digest(), in_work, "work of {changed:?}");
        }
    }

    #[test]
    fn digests_are_the_same_in_every_run() {
        assert_eq!(base().report_digest(), 0x6eee_413a_4f5a_60b0);
        assert_eq!(base().work_digest(), 0xc52a_33be_c46d_eb02);
    }

    #[test]
    fn absent_is_not_zero() {
        let absent = RunState { progress: None, ..base() };
        assert_ne!(absent.report_digest(), RunState { progress: Some(0), ..base() }.report_digest());
    }

    #[test]
    fn numbers_in_errors_do_not_matter() {
        let error = ErrorDigest::of("main.rs:12: 3 tests failed in 0.51s");
        assert_eq!(error, ErrorDigest::of("main.rs:130: 4 tests failed in 12.7s"));
        assert_ne!(error, ErrorDigest::of("lib.rs:12: 3 tests failed in 0.51s"));
    }

    #[test]
    fn signals_are_taken_over_field_by_field() {
        let mut state = RunState::default();
        let first = Signal {
            phase: Some(Phase::Impl),
            progress: Some(40),
            iteration: Some(1),
            max_iterations: Some(5),
            ..signal(Kind::Status)
        };
        assert!(state.absorb(&first));
        assert!(state.absorb(&Signal { progress: Some(45), ..signal(Kind::Status) }));
        assert!(state.absorb(&Signal { indicators: Some(map(json!({"a": 1}))), ..signal(Kind::Stagnation) }));
        assert!(!state.absorb(&signal(Kind::Stagnation)));
        assert!(
            !state.absorb(&Signal { message: Some("WORKFLOW CHECK".to_owned()), ..signal(Kind::Marker) })
        );
        let expected = RunState {
            phase: Some(Phase::Impl),
            progress: Some(45),
            iteration: Some(1),
            max_iterations: Some(5),
            indicators: map(json!({"a": 1})),
            ..RunState::default()
        };
        assert_eq!(state, expected);
    }

    #[test]
    fn only_a_stagnation_signal_is_a_claim() {
        let with = |value: Value| Signal { indicators: Some(map(value)), ..signal(Kind::Stagnation) };
        for (given, expected) in [
            (signal(Kind::Stagnation), Some(false)),
            (with(json!({"same_error": true})), Some(false)),
            (with(json!({"retry_exhausted": false})), Some(false)),
            (with(json!({"retry_exhausted": "yes"})), Some(false)),
            (with(json!({"retry_exhausted": true})), Some(true)),
            (Signal { kind: Kind::Status, ..with(json!({"retry_exhausted": true})) }, None),
        ] {
            let expected = expected.map(|retry_exhausted| AgentClaim { retry_exhausted });
            assert_eq!(AgentClaim::of(&given), expected, "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_indicators_does_not_matter(
            pairs in prop::collection::btree_map("[a-c]{1,3}", any::<i8>(), 0..6).prop_map(Vec::from_iter),
            turn in 0..6usize,
        ) {
            let mut turned = pairs.clone();
            turned.rotate_left(turn.min(pairs.len()));
            let digest = |pairs: &[(String, i8)]| {
                let inner: Map<_, _> = pairs.iter().map(|(name, value)| (name.clone(), Value::from(*value))).collect();
                let mut outer = inner.clone();
                outer.insert("nested".to_owned(), Value::Object(inner));
                RunState { indicators: outer, ..RunState::default() }.work_digest()
            };
            prop_assert_eq!(digest(&pairs), digest(&turned));
        }
    }
}
