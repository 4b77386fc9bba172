use std::time::Duration;

use proptest::prelude::*;

use super::{
    Again, FailedAttempt, LONGEST_IN_FOREGROUND, LastMarks, RetryAgent, RetryDecision, RetryPlace,
    RetryPrompt, Session, Situation, decide,
};
use crate::config::Factor;
use crate::outcome::Class;
use crate::retry::{Counter, RetryConfig, RetryCounters};

const NOW: u64 = 1_763_035_200;

const SITUATION: Situation<'static> = Situation {
    counters: &NONE,
    now: NOW,
    jitter: 0.0,
    place: RetryPlace::Foreground,
    has_fallback: false,
    elapsed: Duration::ZERO,
};

static NONE: RetryCounters = RetryCounters::NONE;

fn failure(class: Class) -> FailedAttempt {
    FailedAttempt { class, marks: LastMarks::Readable, reset_at: None }
}

fn counters(class: Class, count: u32) -> RetryCounters {
    [(Counter::Class(class), count)].into_iter().collect()
}

fn again(decision: RetryDecision) -> Again {
    match decision {
        RetryDecision::Again(again) => again,
        RetryDecision::GiveUp { why, .. } => panic!("given up: {why}"),
    }
}

fn given_up(decision: RetryDecision) -> (String, Option<u64>) {
    match decision {
        RetryDecision::GiveUp { why, not_before } => (why, not_before),
        RetryDecision::Again(again) => panic!("again: {again:?}"),
    }
}

/// For each class: the seconds before each attempt in the daemon, and how the first of them goes about it.
const CLASSES: [(Class, &[u64], Session, RetryPrompt, Factor); 20] = {
    use {Class as C, RetryPrompt as P, Session as S};
    let one = Factor::ONE;
    [
        (C::RateLimit, &[30, 60, 120], S::Resume, P::Task, one),
        (C::ApiError, &[5, 10, 20], S::Resume, P::Task, one),
        (C::Auth, &[], S::Resume, P::Task, one),
        (C::Billing, &[], S::Resume, P::Task, one),
        (C::InvalidConfig, &[], S::Resume, P::Task, one),
        (C::ModelNotFound, &[], S::Resume, P::Task, one),
        (C::PromptTooLong, &[], S::Resume, P::Task, one),
        (C::SessionNotFound, &[0, 0, 0], S::Fresh, P::Task, one),
        (C::Timeout, &[0], S::Resume, P::Task, Factor::ONE_AND_A_HALF),
        (C::Stalled, &[5], S::Resume, P::Task, one),
        (C::Stagnated, &[], S::Resume, P::Task, one),
        (C::BudgetExceeded, &[], S::Resume, P::Task, one),
        (C::OomKilled, &[10], S::Resume, P::Task, one),
        (C::Cancelled, &[], S::Resume, P::Task, one),
        (C::Refused, &[], S::Resume, P::Task, one),
        (C::Declined, &[], S::Resume, P::Task, one),
        (C::NoChanges, &[0], S::Fresh, P::Firmer, one),
        (C::Blocked, &[], S::Resume, P::Task, one),
        (C::GateFailed, &[], S::Resume, P::Task, one),
        (C::Unknown, &[], S::Resume, P::Task, one),
    ]
};

#[test]
fn every_class_has_its_policy() {
    let config = RetryConfig::default();
    assert_eq!(CLASSES.map(|row| row.0), Class::ALL);
    for (class, waits, session, prompt, time) in CLASSES {
        for (number, seconds) in (0..).zip(waits) {
            let counters = counters(class, number);
            let situation = Situation { counters: &counters, place: RetryPlace::Daemon, ..SITUATION };
            let again = again(decide(&config, &failure(class), &situation));
            assert_eq!(again.after, Duration::from_secs(*seconds), "{class} {number}");
            let how = again.how;
            assert_eq!(
                (how.session, how.prompt, how.time, how.agent),
                (session, prompt, time, RetryAgent::Chosen)
            );
            assert_eq!(again.counts, Counter::Class(class));
            assert!(again.why.starts_with(class.as_str()), "{}", again.why);
        }
        let counters = counters(class, u32::try_from(waits.len()).unwrap());
        let situation = Situation { counters: &counters, place: RetryPlace::Daemon, ..SITUATION };
        let (why, not_before) = given_up(decide(&config, &failure(class), &situation));
        assert!(why.contains(class.as_str()), "{class}: {why}");
        assert_eq!(not_before, None, "{class}");
    }
}

#[test]
fn at_a_terminal_no_wait_exceeds_a_minute() {
    let config = RetryConfig::default();
    let limit = |reset_at| FailedAttempt { reset_at, ..failure(Class::RateLimit) };
    let soon = again(decide(&config, &limit(Some(NOW + 20)), &SITUATION));
    assert_eq!(soon.after, Duration::from_secs(21));
    assert_eq!(soon.why, "rate_limit: trying again when the limit resets, in 21s (1 of 3)");
    let late = given_up(decide(&config, &limit(Some(NOW + 8_000)), &SITUATION));
    assert_eq!(late.0, "the limit holds for 2h13m21s more; at a terminal Pilot waits at most 1m");
    assert_eq!(late.1, Some(NOW + 8_000));
    // Without a reset the third wait is the first that is too long.
    let twice = counters(Class::RateLimit, 2);
    let third = Situation { counters: &twice, ..SITUATION };
    assert_eq!(given_up(decide(&config, &limit(None), &third)).1, Some(NOW + 120));
    assert_eq!(again(decide(&config, &limit(None), &SITUATION)).after, Duration::from_secs(30));
    // The daemon waits as long as it takes.
    let daemon = Situation { place: RetryPlace::Daemon, ..SITUATION };
    let long = again(decide(&config, &limit(Some(NOW + 8_000)), &daemon));
    assert_eq!(long.after, Duration::from_secs(8_001));
    // A reset in the past, or one that is none, is as good as none.
    for reset_at in [NOW - 5, NOW * 1_000] {
        assert_eq!(again(decide(&config, &limit(Some(reset_at)), &daemon)).after, Duration::from_secs(30));
    }
}

#[test]
fn jitter_spreads_what_many_wait_for() {
    let config = RetryConfig::default();
    let most = Situation { jitter: 1.0, ..SITUATION };
    let api = again(decide(&config, &failure(Class::ApiError), &most));
    assert_eq!(api.after, Duration::from_millis(6_250));
    let limit = FailedAttempt { reset_at: Some(NOW + 20), ..failure(Class::RateLimit) };
    assert_eq!(again(decide(&config, &limit, &most)).after, Duration::from_secs(25));
}

#[test]
fn nothing_changed_is_asked_about_then_told_then_given_to_the_fallback() {
    let config = RetryConfig::default();
    let unreadable = FailedAttempt { marks: LastMarks::Malformed, ..failure(Class::NoChanges) };
    let mut counters = RetryCounters::default();
    let mut steps = Vec::new();
    loop {
        let situation = Situation { counters: &counters, has_fallback: true, ..SITUATION };
        match decide(&config, &unreadable, &situation) {
            RetryDecision::Again(again) => {
                counters.add(again.counts);
                steps.push((again.how.prompt, again.how.session, again.how.agent));
            }
            RetryDecision::GiveUp { why, .. } => {
                assert_eq!(why, "no_changes twice; giving up");
                break;
            }
        }
    }
    assert_eq!(
        steps,
        [
            (RetryPrompt::Marks, Session::Resume, RetryAgent::Chosen),
            (RetryPrompt::Firmer, Session::Fresh, RetryAgent::Chosen),
            (RetryPrompt::Task, Session::Fresh, RetryAgent::Fallback),
        ]
    );
}

#[test]
fn a_malformed_mark_counts_only_where_nothing_else_is_known() {
    let config = RetryConfig::default();
    for class in Class::ALL {
        let unreadable = FailedAttempt { marks: LastMarks::Malformed, ..failure(class) };
        let asked = matches!(
            decide(&config, &unreadable, &SITUATION),
            RetryDecision::Again(Again { counts: Counter::MalformedSignal, .. })
        );
        assert_eq!(asked, class == Class::NoChanges, "{class}");
    }
}

#[test]
fn the_fallback_comes_once_where_it_may_help_and_stays() {
    let config = RetryConfig::default();
    for class in Class::ALL {
        let spent = counters(class, 9);
        let situation = Situation { counters: &spent, has_fallback: true, ..SITUATION };
        let config = RetryConfig { max_attempts: 20, ..config.clone() };
        let took_over = matches!(
            decide(&config, &failure(class), &situation),
            RetryDecision::Again(Again { counts: Counter::Fallback, .. })
        );
        let helps = [Class::RateLimit, Class::ApiError, Class::Stalled, Class::NoChanges].contains(&class);
        assert_eq!(took_over, helps, "{class}");
    }
    // A limit that is too far away for a terminal is the fallback's turn.
    let far = FailedAttempt { reset_at: Some(NOW + 8_000), ..failure(Class::RateLimit) };
    let with = Situation { has_fallback: true, ..SITUATION };
    assert_eq!(again(decide(&config, &far, &with)).how.agent, RetryAgent::Fallback);
    let after: RetryCounters = [(Counter::Fallback, 1)].into_iter().collect();
    let on_fallback = Situation { counters: &after, ..with };
    assert_eq!(
        again(decide(&config, &failure(Class::ApiError), &on_fallback)).how.agent,
        RetryAgent::Fallback
    );
    assert_eq!(given_up(decide(&config, &far, &on_fallback)).1, Some(NOW + 8_000));
}

#[test]
fn caps_of_the_task_end_it_whatever_the_class() {
    let config = RetryConfig::default();
    let six: RetryCounters =
        [(Counter::Class(Class::Timeout), 3), (Counter::Fallback, 1), (Counter::MalformedSignal, 2)]
            .into_iter()
            .collect();
    let situation = Situation { counters: &six, ..SITUATION };
    let (why, _) = given_up(decide(&config, &failure(Class::ApiError), &situation));
    assert_eq!(why, "the task was tried 6 times more, as often as executor.retry.max_attempts allows");
    let late = Situation { elapsed: Duration::from_secs(3 * 3600), ..SITUATION };
    let (why, _) = given_up(decide(&config, &failure(Class::ApiError), &late));
    assert_eq!(why, "the task's attempts have gone on for 3h, as long as executor.retry.max_elapsed allows");
    let off = RetryConfig { enabled: false, ..config };
    let (why, _) = given_up(decide(&off, &failure(Class::ApiError), &SITUATION));
    assert_eq!(why, "api_error is not tried again: executor.retry.enabled is false");
    assert_eq!(again(decide(&off, &failure(Class::SessionNotFound), &SITUATION)).how.session, Session::Fresh);
}

/// A key of `executor.retry`, and a failure whose decision changes with it.
type Flip = (&'static str, fn(&mut RetryConfig), FailedAttempt, u32);

const fn of(class: Class) -> FailedAttempt {
    FailedAttempt { class, marks: LastMarks::Readable, reset_at: None }
}

const FLIPS: [Flip; 19] = [
    ("enabled", |c| c.enabled = false, of(Class::ApiError), 0),
    ("max_attempts", |c| c.max_attempts = 0, of(Class::ApiError), 0),
    ("max_elapsed", |c| c.max_elapsed = Duration::from_secs(1), of(Class::ApiError), 0),
    ("rate_limit.max_attempts", |c| c.rate_limit.max_attempts = 1, of(Class::RateLimit), 1),
    (
        "rate_limit.initial_backoff",
        |c| c.rate_limit.initial_backoff = Duration::from_secs(7),
        of(Class::RateLimit),
        0,
    ),
    (
        "rate_limit.backoff_multiplier",
        |c| c.rate_limit.backoff_multiplier = Factor::ONE,
        of(Class::RateLimit),
        1,
    ),
    ("api_error.max_attempts", |c| c.api_error.max_attempts = 1, of(Class::ApiError), 1),
    (
        "api_error.initial_backoff",
        |c| c.api_error.initial_backoff = Duration::from_secs(7),
        of(Class::ApiError),
        0,
    ),
    (
        "api_error.backoff_multiplier",
        |c| c.api_error.backoff_multiplier = Factor::ONE,
        of(Class::ApiError),
        1,
    ),
    ("stalled.max_attempts", |c| c.stalled.max_attempts = 0, of(Class::Stalled), 0),
    (
        "stalled.initial_backoff",
        |c| c.stalled.initial_backoff = Duration::from_secs(7),
        of(Class::Stalled),
        0,
    ),
    ("oom_killed.max_attempts", |c| c.oom_killed.max_attempts = 0, of(Class::OomKilled), 0),
    (
        "oom_killed.initial_backoff",
        |c| c.oom_killed.initial_backoff = Duration::from_secs(7),
        of(Class::OomKilled),
        0,
    ),
    ("timeout.max_attempts", |c| c.timeout.max_attempts = 0, of(Class::Timeout), 0),
    ("timeout.extend_timeout", |c| c.timeout.extend_timeout = false, of(Class::Timeout), 0),
    ("timeout.timeout_multiplier", |c| c.timeout.timeout_multiplier = Factor::TWO, of(Class::Timeout), 0),
    ("no_changes.max_attempts", |c| c.no_changes_attempts = 0, of(Class::NoChanges), 0),
    (
        "malformed_signal.max_attempts",
        |c| c.malformed_signal_attempts = 0,
        FailedAttempt { class: Class::NoChanges, marks: LastMarks::Malformed, reset_at: None },
        0,
    ),
    // A control: the same configuration decides the same.
    ("", |_| {}, of(Class::ApiError), 0),
];

#[test]
fn every_key_of_retrying_changes_a_decision() {
    let keys = crate::config::KEYS.iter().filter_map(|key| key.path.strip_prefix("executor.retry."));
    let flipped: Vec<&str> = FLIPS.iter().map(|flip| flip.0).filter(|key| !key.is_empty()).collect();
    assert_eq!(flipped, keys.collect::<Vec<_>>());
    for (key, flip, failure, count) in FLIPS {
        let mut config = RetryConfig::default();
        let counters = counters(failure.class, count);
        let elapsed = Duration::from_secs(10);
        let situation = Situation { counters: &counters, place: RetryPlace::Daemon, elapsed, ..SITUATION };
        let before = decide(&config, &failure, &situation);
        flip(&mut config);
        assert_eq!(decide(&config, &failure, &situation) == before, key.is_empty(), "{key}: {before:?}");
    }
}

fn any_failure() -> impl Strategy<Value = FailedAttempt> {
    let class = (0..Class::ALL.len()).prop_map(|index| Class::ALL[index]);
    let reset = proptest::option::of(prop_oneof![any::<u64>(), NOW - 100..NOW + 1_000_000]);
    (class, any::<bool>(), reset).prop_map(|(class, malformed, reset_at)| {
        let marks = if malformed { LastMarks::Malformed } else { LastMarks::Readable };
        FailedAttempt { class, marks, reset_at }
    })
}

proptest! {
    #[test]
    fn no_sequence_of_failures_goes_on_for_ever(
        failures in proptest::collection::vec(any_failure(), 40),
        max_attempts in 0_u32..8,
        per_class in 0_u32..20,
        jitter in any::<f64>(),
        daemon in any::<bool>(),
        has_fallback in any::<bool>(),
    ) {
        let mut config = RetryConfig { max_attempts, no_changes_attempts: per_class, ..RetryConfig::default() };
        config.api_error.max_attempts = per_class;
        config.rate_limit.max_attempts = per_class;
        let place = if daemon { RetryPlace::Daemon } else { RetryPlace::Foreground };
        let (mut counters, mut attempts) = (RetryCounters::default(), 0_u32);
        for failure in &failures {
            let situation = Situation { counters: &counters, jitter, place, has_fallback, ..SITUATION };
            let RetryDecision::Again(again) = decide(&config, failure, &situation) else { break };
            attempts += 1;
            prop_assert!(place == RetryPlace::Daemon || again.after <= LONGEST_IN_FOREGROUND);
            prop_assert!(again.after <= Duration::from_secs(9 * 24 * 60 * 60));
            let before = (counters.total(), counters.of(again.counts));
            counters.add(again.counts);
            prop_assert!(before < (counters.total(), counters.of(again.counts)), "an attempt that counts nowhere");
        }
        // Sessions that were gone come on top, and have a cap of their own.
        prop_assert!(attempts <= max_attempts + 3, "{} attempts", attempts);
    }
}
