//! What the monitor says in every story we know.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::{
    AgentClaim, DiffDigest, ErrorDigest, Repeat, RoundCap, RunState, StagnationAction, StagnationConfig,
    StagnationLevel, StagnationReason, StagnationVerdict,
};
use super::Monitor;
use crate::config::{merge, variables};
use crate::phase::Phase;
use crate::signal::{Kind, Protocol, Signal, Span};

pub(super) const STUCK: AgentClaim = AgentClaim { retry_exhausted: false };
pub(super) const EXHAUSTED: AgentClaim = AgentClaim { retry_exhausted: true };

pub(super) fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn minutes(count: u64) -> Duration {
    at(60 * count)
}

pub(super) fn monitor() -> Monitor {
    Monitor::new(StagnationConfig::default())
}

pub(super) fn config(section: Value) -> StagnationConfig {
    read_section(section).unwrap()
}

/// Reads the keys as variables, or lists what is wrong with them.
pub(in super::super) fn read_section(section: Value) -> Result<StagnationConfig, String> {
    let Value::Object(entries) = section else { panic!("a section of keys") };
    let texts = entries.into_iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (format!("PILOT_EXECUTOR_STAGNATION_{}", name.to_uppercase()), text)
    });
    let texts: Vec<(String, String)> = texts.collect();
    let merged = merge([variables(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))]);
    if merged.problems.is_empty() {
        return Ok(merged.config.executor.stagnation);
    }
    Err(merged.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

pub(super) fn state(iteration: i64) -> RunState {
    RunState {
        phase: Some(Phase::Impl),
        progress: Some(50),
        iteration: Some(iteration),
        ..RunState::default()
    }
}

fn indicators(value: i64) -> Map<String, Value> {
    [("n".to_owned(), Value::from(value))].into_iter().collect()
}

pub(super) fn error(text: &str) -> Option<ErrorDigest> {
    Some(ErrorDigest::of(text))
}

fn diff(text: &str) -> Option<DiffDigest> {
    Some(DiffDigest::of(text.as_bytes()))
}

/// Reports the states one a second; gives the level after each.
fn levels(monitor: &mut Monitor, states: impl IntoIterator<Item = RunState>) -> String {
    let verdicts = (1..).zip(states).map(|(second, state)| monitor.report(&state, at(second)));
    verdicts.map(|verdict| verdict.level.as_str().to_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn identical_states_warn_at_3_pause_at_5_abort_at_7() {
    let all = "none none warn warn pause pause abort abort";
    assert_eq!(levels(&mut monitor(), (0..8).map(|_| state(1))), all);
    // The same work under a counting loop.
    assert_eq!(levels(&mut monitor(), (0..8).map(state)), all);
    // The same report with other errors and indicators.
    let talks = |n: i64| RunState { indicators: indicators(n), ..state(1) };
    assert_eq!(levels(&mut monitor(), (0..8).map(talks)), all);
    // Both change: nothing repeats, and only time will tell.
    let moves = |n: i64| RunState { indicators: indicators(n), ..state(n) };
    assert_eq!(levels(&mut monitor(), (0..8).map(moves)), "none none none none none none none none");
}

#[test]
fn copies_of_a_block_in_one_message_are_one_report() {
    let block = Signal {
        phase: Some(Phase::Impl),
        progress: Some(50),
        ..Signal::new(Protocol::V2, Kind::Status, Span { start: 0, end: 9 })
    };
    let mut watch = monitor();
    let mut known = RunState::default();
    for (second, expected) in (1..).zip([StagnationLevel::None, StagnationLevel::None, StagnationLevel::Warn])
    {
        for copy in [&block, &block, &block, &block] {
            assert!(known.absorb(copy));
        }
        assert_eq!(watch.report(&known, at(second)).level, expected);
    }
}

#[test]
fn the_evidence_names_what_repeats() {
    let mut watch = monitor();
    levels(&mut watch, [state(1), state(1)]);
    let verdict = watch.report(&state(1), at(3));
    assert_eq!(verdict.reason, Some(StagnationReason::Repeated { times: 3, what: Repeat::Report }));
    assert_eq!(
        (verdict.was, verdict.level, verdict.changed()),
        (StagnationLevel::None, StagnationLevel::Warn, true)
    );
    let verdict = watch.report(&state(2), at(4));
    assert_eq!(verdict.reason, Some(StagnationReason::Repeated { times: 4, what: Repeat::Work }));
    assert!(!verdict.changed());
}

#[test]
fn a_series_ends_with_another_state_but_the_level_stays() {
    let mut watch = monitor();
    let other = RunState { last_error: error("x"), ..state(9) };
    let story = [state(1), state(1), state(1), other, state(1), state(1)];
    assert_eq!(levels(&mut watch, story), "none none warn warn warn warn");
}

#[test]
fn weaker_evidence_does_not_replace_stronger() {
    let mut watch = monitor();
    levels(&mut watch, [state(1), state(1), state(1), state(1), state(1)]);
    watch.report(&RunState { indicators: indicators(1), ..state(2) }, at(6));
    let verdict = watch.agent_says_stuck(STUCK, at(7));
    assert_eq!(verdict.level, StagnationLevel::Pause);
    assert_eq!(verdict.reason, Some(StagnationReason::Repeated { times: 5, what: Repeat::Report }));
}

#[test]
fn of_equal_evidence_the_first_kind_is_named() {
    let mut watch = monitor();
    watch.agent_says_stuck(STUCK, at(1));
    levels(&mut watch, [RunState::default(), RunState::default()]);
    let verdict = watch.report(&RunState::default(), minutes(10));
    assert_eq!(verdict.level, StagnationLevel::Warn);
    assert_eq!(verdict.reason, Some(StagnationReason::Repeated { times: 3, what: Repeat::Report }));
}

#[test]
fn real_progress_takes_the_level_back() {
    let stuck = || {
        let mut watch = monitor();
        levels(&mut watch, [state(1), state(1), state(1), state(1), state(1)]);
        watch
    };
    for (next, level, why) in [
        (RunState { phase: Some(Phase::Verify), ..state(1) }, StagnationLevel::None, "new phase"),
        (
            RunState { phase: Some(Phase::Other("POLISH".to_owned())), ..state(1) },
            StagnationLevel::None,
            "own phase",
        ),
        (RunState { progress: Some(51), ..state(1) }, StagnationLevel::None, "higher progress"),
        (RunState { diff: diff("a"), ..state(1) }, StagnationLevel::None, "changes"),
        (state(2), StagnationLevel::Pause, "a higher iteration is no progress"),
        (RunState { progress: Some(49), ..state(1) }, StagnationLevel::Pause, "lower progress"),
        (RunState { progress: None, ..state(1) }, StagnationLevel::Pause, "no progress sent"),
        (RunState { phase: None, ..state(1) }, StagnationLevel::Pause, "no phase sent"),
        (RunState { last_error: error("new"), ..state(1) }, StagnationLevel::Pause, "another error"),
        (RunState { indicators: indicators(1), ..state(1) }, StagnationLevel::Pause, "other indicators"),
    ] {
        let verdict = stuck().report(&next, at(6));
        assert_eq!(verdict.level, level, "{why}");
        assert_eq!(verdict.reason.is_none(), level == StagnationLevel::None, "{why}");
    }
    let verdict = stuck().changes_seen(DiffDigest::of(b"a"), at(6));
    assert_eq!((verdict.level, verdict.was), (StagnationLevel::None, StagnationLevel::Pause));
}

#[test]
fn what_was_seen_before_is_no_progress() {
    let mut watch = monitor();
    let early = RunState { phase: Some(Phase::Research), progress: Some(20), diff: diff("a"), ..state(1) };
    let late = RunState { diff: diff("b"), ..state(1) };
    levels(&mut watch, [early.clone(), late.clone()]);
    // Back and forth between two states: no series, but time counts from the last news.
    for minute in 1..10 {
        let swing = if minute % 2 == 0 { &early } else { &late };
        assert_eq!(watch.report(swing, minutes(minute)).level, StagnationLevel::None, "{minute}");
    }
    assert_eq!(watch.tick(minutes(10) + at(2)).level, StagnationLevel::Warn);
}

#[test]
fn new_changes_keep_a_repeating_agent_alive() {
    let mut watch = monitor();
    for n in 0..50 {
        let working = RunState { diff: diff(&n.to_string()), ..state(1) };
        assert_eq!(watch.report(&working, minutes(n)).level, StagnationLevel::None);
    }
}

#[test]
fn inventing_phases_is_not_progress_for_ever() {
    let mut watch = monitor();
    let mut attempt = |n: u64| {
        let phase = Some(Phase::Other(format!("ATTEMPT {n}")));
        watch.report(&RunState { phase, ..RunState::default() }, minutes(n)).level
    };
    // The 32nd word, in minute 31, was the last that counted.
    for n in 0..=40 {
        assert_eq!(attempt(n), StagnationLevel::None, "{n}");
    }
    assert_eq!(attempt(41), StagnationLevel::Warn);
    let known = RunState { phase: Some(Phase::Verify), ..RunState::default() };
    assert_eq!(watch.report(&known, minutes(42)).level, StagnationLevel::None);
}

#[test]
fn silence_warns_at_10_pauses_at_20_aborts_at_30_minutes() {
    let mut watch = monitor();
    for (seconds, level, next) in [
        (0, StagnationLevel::None, Some(600)),
        (599, StagnationLevel::None, Some(600)),
        (600, StagnationLevel::Warn, Some(1_200)),
        (1_199, StagnationLevel::Warn, Some(1_200)),
        (1_200, StagnationLevel::Pause, Some(1_800)),
        (1_799, StagnationLevel::Pause, Some(1_800)),
        (1_800, StagnationLevel::Abort, None),
        (9_999, StagnationLevel::Abort, None),
    ] {
        let verdict = watch.tick(at(seconds));
        assert_eq!((verdict.level, verdict.next_check), (level, next.map(at)), "{seconds}");
    }
    assert_eq!(watch.tick(at(9_999)).reason, Some(StagnationReason::NoProgress { quiet: at(9_999) }));
}

#[test]
fn a_late_look_goes_straight_to_the_level() {
    let verdict = monitor().tick(minutes(31));
    assert_eq!((verdict.was, verdict.level), (StagnationLevel::None, StagnationLevel::Abort));
}

#[test]
fn progress_restarts_the_clock_and_counting_rounds_does_not() {
    let mut watch = monitor();
    let verdict = watch.report(&state(1), minutes(9));
    assert_eq!((verdict.level, verdict.next_check), (StagnationLevel::None, Some(minutes(19))));
    let moved = RunState { indicators: indicators(1), ..state(2) };
    assert_eq!(watch.report(&moved, minutes(18)).next_check, Some(minutes(19)));
    assert_eq!(watch.tick(minutes(19)).level, StagnationLevel::Warn);
    let verdict = watch.changes_seen(DiffDigest::of(b"a"), minutes(20));
    assert_eq!((verdict.level, verdict.next_check), (StagnationLevel::None, Some(minutes(30))));
    assert_eq!(watch.changes_seen(DiffDigest::of(b"a"), minutes(29)).next_check, Some(minutes(30)));
}

#[test]
fn background_work_suspends_the_clock() {
    let mut watch = monitor();
    assert_eq!(watch.background_started("tests", minutes(5)).next_check, None);
    assert_eq!(watch.background_started("tests", minutes(6)).next_check, None);
    watch.background_started("server", minutes(10));
    assert_eq!(watch.tick(minutes(60)).level, StagnationLevel::None);
    assert_eq!(watch.background_ended("tests", minutes(60)).next_check, None);
    assert_eq!(watch.background_ended("tests", minutes(61)).next_check, None);
    let verdict = watch.background_ended("server", minutes(70));
    assert_eq!((verdict.level, verdict.next_check), (StagnationLevel::None, Some(minutes(75))));
    assert_eq!(watch.background_ended("unknown", minutes(71)).next_check, Some(minutes(75)));
    assert_eq!(watch.tick(minutes(75)).level, StagnationLevel::Warn);
}

#[test]
fn background_work_keeps_a_level_and_repeats_still_count() {
    let mut watch = monitor();
    watch.tick(minutes(10));
    assert_eq!(watch.background_started("job", minutes(11)).level, StagnationLevel::Warn);
    for second in 1..=5 {
        watch.report(&RunState::default(), minutes(12) + at(second));
    }
    assert_eq!(watch.tick(minutes(13)).level, StagnationLevel::Pause);
}

#[test]
fn more_jobs_than_can_be_remembered_do_no_harm() {
    let mut watch = monitor();
    for job in 0..3_000 {
        watch.background_started(&job.to_string(), at(1));
    }
    for job in 0..3_000 {
        watch.background_ended(&job.to_string(), at(2));
    }
    assert_eq!(watch.tick(at(2)).next_check, Some(at(601)));
}

#[test]
fn the_agents_word_is_a_warning_and_used_up_retries_a_pause() {
    let mut watch = monitor();
    let verdict = watch.agent_says_stuck(STUCK, at(1));
    assert_eq!(
        (verdict.level, verdict.reason),
        (StagnationLevel::Warn, Some(StagnationReason::AgentSaysSo(STUCK)))
    );
    assert_eq!(watch.agent_says_stuck(STUCK, at(2)).level, StagnationLevel::Warn);
    let verdict = watch.agent_says_stuck(EXHAUSTED, at(3));
    assert_eq!(
        (verdict.level, verdict.reason),
        (StagnationLevel::Pause, Some(StagnationReason::AgentSaysSo(EXHAUSTED)))
    );
    assert_eq!(watch.agent_says_stuck(STUCK, at(4)).level, StagnationLevel::Pause);
    assert_eq!(watch.report(&state(1), at(5)).level, StagnationLevel::None);
    assert_eq!(watch.tick(at(6)).level, StagnationLevel::None);
}

#[test]
fn more_rounds_than_planned_are_a_warning() {
    let mut watch = monitor();
    let planned = |iteration, plan, n| RunState {
        max_iterations: Some(plan),
        indicators: indicators(n),
        ..state(iteration)
    };
    assert_eq!(watch.report(&planned(10, 10, 0), at(1)).level, StagnationLevel::None);
    let verdict = watch.report(&planned(11, 10, 1), at(2));
    assert_eq!(verdict.level, StagnationLevel::Warn);
    assert_eq!(
        verdict.reason,
        Some(StagnationReason::Iterations { iteration: 11, cap: RoundCap::Planned(10) })
    );
    assert_eq!(watch.report(&planned(99, 10, 2), at(3)).level, StagnationLevel::Warn);
    // A plan of nothing is no plan.
    assert_eq!(monitor().report(&planned(3, 0, 0), at(1)).level, StagnationLevel::None);
}

#[test]
fn configured_rounds_are_limits() {
    let section = json!({"warn_at_iteration": 8, "pause_at_iteration": 12, "abort_at_iteration": 15});
    for (iteration, level, cap) in [
        (7, StagnationLevel::None, None),
        (8, StagnationLevel::Warn, Some(8)),
        (12, StagnationLevel::Pause, Some(12)),
        (15, StagnationLevel::Abort, Some(15)),
        (99, StagnationLevel::Abort, Some(15)),
    ] {
        let verdict = Monitor::new(config(section.clone())).report(&state(iteration), at(1));
        let reason =
            cap.map(|cap| StagnationReason::Iterations { iteration, cap: RoundCap::Configured(cap) });
        assert_eq!((verdict.level, verdict.reason), (level, reason), "{iteration}");
    }
    let only_abort = config(json!({"abort_at_iteration": 4}));
    assert_eq!(Monitor::new(only_abort.clone()).report(&state(3), at(1)).level, StagnationLevel::None);
    assert_eq!(Monitor::new(only_abort).report(&state(4), at(1)).level, StagnationLevel::Abort);
}

#[test]
fn a_person_can_let_it_go_on() {
    let mut watch = Monitor::new(config(json!({"pause_at_iteration": 12})));
    assert_eq!(watch.report(&state(12), at(1)).level, StagnationLevel::Pause);
    watch.paused(at(2));
    assert_eq!(watch.tick(minutes(600)).level, StagnationLevel::Pause);
    let verdict = watch.resumed(minutes(600));
    assert_eq!((verdict.level, verdict.next_check), (StagnationLevel::None, Some(minutes(610))));
    assert_eq!(watch.report(&state(13), minutes(601)).level, StagnationLevel::None);
    assert_eq!(watch.report(&state(24), minutes(602)).level, StagnationLevel::Pause);
}

#[test]
fn actions_are_due_once_at_the_moment_a_level_is_reached() {
    let mut watch = monitor();
    let due = |watch: &Monitor, verdict: &StagnationVerdict| watch.actions(verdict).to_vec();
    let verdict = watch.tick(minutes(10));
    assert_eq!(due(&watch, &verdict), [StagnationAction::Alert]);
    let verdict = watch.tick(minutes(11));
    assert_eq!(due(&watch, &verdict), []);
    let verdict = watch.tick(minutes(30));
    assert_eq!(due(&watch, &verdict), [StagnationAction::Alert, StagnationAction::Abort]);
    let verdict = watch.report(&state(1), minutes(31));
    assert!(verdict.changed() && due(&watch, &verdict).is_empty());
    // Down to a level that still holds: no second report.
    watch.tick(minutes(60));
    let over = RunState { progress: Some(60), max_iterations: Some(1), ..state(2) };
    let verdict = watch.report(&over, minutes(61));
    assert_eq!((verdict.was, verdict.level), (StagnationLevel::Pause, StagnationLevel::Warn));
    assert_eq!(due(&watch, &verdict), []);
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let mut watch = monitor();
    assert_eq!(watch.tick(minutes(12)).level, StagnationLevel::Warn);
    let verdict = watch.tick(minutes(1));
    assert_eq!((verdict.level, verdict.next_check), (StagnationLevel::Warn, Some(minutes(20))));
    assert_eq!(watch.report(&state(1), minutes(1)).next_check, Some(minutes(22)));
}

/// What a configuration does in a fixed set of stories.
fn fingerprint(config: &StagnationConfig) -> String {
    let mut told = Vec::new();
    let mut tell = |watch: &Monitor, verdict: StagnationVerdict| {
        told.push(format!("{:?} {:?} {:?}", verdict.level, verdict.next_check, watch.actions(&verdict)));
    };
    let mut watch = Monitor::new(config.clone());
    for second in 1..=20 {
        let verdict = watch.report(&state(1), at(second));
        tell(&watch, verdict);
    }
    let mut watch = Monitor::new(config.clone());
    for minute in 1..=40 {
        let verdict = watch.tick(minutes(minute));
        tell(&watch, verdict);
    }
    let mut watch = Monitor::new(config.clone());
    for iteration in 1..=40 {
        let counting =
            RunState { indicators: indicators(iteration), max_iterations: Some(30), ..state(iteration) };
        let verdict = watch.report(&counting, at(1));
        tell(&watch, verdict);
    }
    told.join("\n")
}

#[test]
fn flipping_any_key_changes_something() {
    let usual = fingerprint(&StagnationConfig::default());
    for section in [
        json!({"enabled": false}),
        json!({"warn_after_identical": 2}),
        json!({"pause_after_identical": 4}),
        json!({"abort_after_identical": 8}),
        json!({"warn_timeout": "5m"}),
        json!({"pause_timeout": "15m"}),
        json!({"abort_timeout": "35m"}),
        json!({"warn_at_iteration": 8}),
        json!({"pause_at_iteration": 12}),
        json!({"abort_at_iteration": 15}),
        json!({"warn_over_planned_iterations": false}),
        json!({"on_warn": []}),
        json!({"on_pause": ["alert"]}),
        json!({"on_abort": ["pause"]}),
    ] {
        assert_ne!(fingerprint(&config(section.clone())), usual, "{section}");
    }
    assert_eq!(fingerprint(&config(json!({}))), usual);
}
