//! What holds whatever happens.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::super::{DiffDigest, RunState, StagnationLevel, StagnationVerdict};
use super::Monitor;
use super::tests::{EXHAUSTED, STUCK, at, config, error, minutes, monitor, state};

/// A fact, as numbers.
type LawFact = (u8, i64, u8, u64);

fn any_facts() -> impl Strategy<Value = Vec<LawFact>> {
    prop::collection::vec((0..10u8, 0..4i64, 0..4u8, 0..400u64), 1..60)
}

/// Feeds a fact that is no real progress once `state(0)` was reported.
fn feed(watch: &mut Monitor, (what, iteration, detail, _): LawFact, now: Duration) -> StagnationVerdict {
    match what {
        0 => watch.agent_says_stuck(STUCK, now),
        1 => watch.agent_says_stuck(EXHAUSTED, now),
        2 => watch.background_started(&detail.to_string(), now),
        3 => watch.background_ended(&detail.to_string(), now),
        4 => watch.paused(now),
        5 | 6 => watch.tick(now),
        7 => watch.report(&RunState { progress: Some(50 - detail), ..state(iteration) }, now),
        8 => watch.report(
            &RunState { last_error: error(&"e".repeat(usize::from(detail))), ..state(iteration) },
            now,
        ),
        _ => watch.report(&RunState { phase: None, ..state(iteration) }, now),
    }
}

proptest! {
    #[test]
    fn the_level_never_falls_without_progress(facts in any_facts()) {
        let mut watch = monitor();
        let mut now = Duration::ZERO;
        let mut level = watch.report(&state(0), now).level;
        for fact in facts {
            now += at(fact.3);
            let verdict = feed(&mut watch, fact, now);
            prop_assert!(verdict.level >= level);
            prop_assert_eq!(verdict.was, level);
            prop_assert_eq!(verdict.reason.is_none(), verdict.level == StagnationLevel::None);
            level = verdict.level;
        }
    }

    #[test]
    fn the_same_tick_again_changes_nothing(facts in any_facts()) {
        let mut watch = monitor();
        let mut now = Duration::ZERO;
        for fact in facts {
            now += at(fact.3);
            let verdict = feed(&mut watch, fact, now);
            let again = watch.tick(now);
            prop_assert_eq!(&again, &StagnationVerdict { was: verdict.level, ..verdict });
            prop_assert!(watch.actions(&again).is_empty());
        }
    }

    #[test]
    fn the_next_check_is_the_first_moment_time_alone_matters(facts in any_facts()) {
        let mut watch = monitor();
        let mut now = Duration::ZERO;
        for fact in facts {
            now += at(fact.3);
            let verdict = feed(&mut watch, fact, now);
            match verdict.next_check {
                Some(next) => {
                    prop_assert!(next > now);
                    prop_assert_eq!(watch.clone().tick(next - Duration::from_millis(1)).level, verdict.level);
                    prop_assert!(watch.clone().tick(next).level > verdict.level);
                }
                None => prop_assert_eq!(watch.clone().tick(now + minutes(999)).level, verdict.level),
            }
        }
    }

    #[test]
    fn disabled_never_speaks(facts in any_facts()) {
        let mut watch = Monitor::new(config(json!({"enabled": false})));
        let mut now = Duration::ZERO;
        for fact in facts {
            now += at(fact.3);
            prop_assert_eq!(feed(&mut watch, fact, now), StagnationVerdict::default());
            prop_assert_eq!(watch.changes_seen(DiffDigest::of(&[fact.0]), now), StagnationVerdict::default());
            prop_assert_eq!(watch.resumed(now), StagnationVerdict::default());
        }
    }
}
