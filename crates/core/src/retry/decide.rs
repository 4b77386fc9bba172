//! The decision after a failure.

use std::time::Duration;

use super::config::{Pause, RetryConfig};
use super::counters::{Counter, RetryCounters};
use super::{wait, words};
use crate::config::Factor;
use crate::outcome::Class;

/// At a terminal a longer wait is reported to the user instead.
pub const LONGEST_IN_FOREGROUND: Duration = Duration::from_secs(60);

/// How often a session that is gone may cost a fresh start. Not configurable: it costs nothing.
const FRESH_STARTS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    pub class: Class,
    /// What of the agent's own marks.
    pub marks: LastMarks,
    /// When the limit resets, if known, in epoch seconds.
    pub reset_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastMarks {
    /// They can, or there are none.
    Readable,
    /// A mark that would have ended the run could not.
    Malformed,
}

#[derive(Clone, Copy, Debug)]
pub struct Situation<'s> {
    pub counters: &'s RetryCounters,
    pub now: u64,
    /// A random number from 0 to 1.
    pub jitter: f64,
    pub place: RetryPlace,
    pub has_fallback: bool,
    /// For how long these attempts have gone on.
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPlace {
    /// A user waits for the end.
    Foreground,
    /// No user waits; a task can stay in the queue.
    Daemon,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    Again(Again),
    GiveUp {
        why: String,
        /// When another attempt might go better, in epoch seconds.
        not_before: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    pub after: Duration,
    pub how: How,
    /// What it counts as; count it before it starts.
    pub counts: Counter,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    pub session: Session,
    pub prompt: RetryPrompt,
    /// With how many times the time that the attempt before had.
    pub time: Factor,
    pub agent: RetryAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    Resume,
    Fresh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPrompt {
    /// The task; in a resumed session, to go on with it.
    Task,
    /// The task, and that nothing was changed.
    Firmer,
    /// Which mark could not be read, and where.
    Marks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAgent {
    Chosen,
    Fallback,
}

/// Says what to do after an attempt that did not complete.
pub fn decide(config: &RetryConfig, failure: &FailedAttempt, situation: &Situation<'_>) -> RetryDecision {
    let class = failure.class;
    let give_up = |why| RetryDecision::GiveUp { why, not_before: told_reset(failure, situation) };
    let Some(plan) = plan(config, failure, situation) else { return give_up(words::never(class)) };
    // A lost session is Pilot's own doing: a user who wants no retries still wants the task done.
    let is_failure = class != Class::SessionNotFound;
    if is_failure && !config.enabled {
        return give_up(words::turned_off(class));
    }
    if is_failure && situation.counters.total() >= config.max_attempts {
        return give_up(words::task_cap(config.max_attempts));
    }
    if situation.elapsed >= config.max_elapsed {
        return give_up(words::too_late(config.max_elapsed));
    }
    if situation.counters.of(plan.counts) >= plan.cap {
        return fallback(class, situation).unwrap_or_else(|| give_up(words::class_cap(class, plan.cap)));
    }
    if situation.place == RetryPlace::Foreground && plan.after > LONGEST_IN_FOREGROUND {
        let at = told_reset(failure, situation).or(situation.now.checked_add(plan.after.as_secs()));
        let why = words::too_long(class, plan.after);
        return fallback(class, situation).unwrap_or(RetryDecision::GiveUp { why, not_before: at });
    }
    let how = How { agent: agent(situation), ..plan.how };
    RetryDecision::Again(Again { after: plan.after, how, counts: plan.counts, why: plan.why })
}

/// What the class asks for, before any cap.
struct RetryPlan {
    counts: Counter,
    cap: u32,
    after: Duration,
    how: How,
    why: String,
}

/// The same session, the same words, as much time.
const ON: How =
    How { session: Session::Resume, prompt: RetryPrompt::Task, time: Factor::ONE, agent: RetryAgent::Chosen };

fn plan(config: &RetryConfig, failure: &FailedAttempt, situation: &Situation<'_>) -> Option<RetryPlan> {
    match failure.class {
        Class::RateLimit => Some(rate_limit(config, failure.reset_at, situation)),
        Class::ApiError => {
            let number = situation.counters.of(Counter::Class(Class::ApiError));
            let after = wait::growing(&config.api_error, number, situation.jitter);
            Some(waiting(Class::ApiError, config.api_error.max_attempts, after, number))
        }
        Class::Stalled => Some(pausing(Class::Stalled, config.stalled, situation)),
        Class::OomKilled => Some(pausing(Class::OomKilled, config.oom_killed, situation)),
        Class::Timeout => Some(timeout(config, situation)),
        Class::SessionNotFound => Some(RetryPlan {
            counts: Counter::Class(Class::SessionNotFound),
            cap: FRESH_STARTS,
            after: Duration::ZERO,
            how: How { session: Session::Fresh, ..ON },
            why: words::fresh(),
        }),
        Class::NoChanges => Some(no_changes(config, failure, situation)),
        Class::Auth
        | Class::Billing
        | Class::InvalidConfig
        | Class::ModelNotFound
        | Class::PromptTooLong
        | Class::Stagnated
        | Class::BudgetExceeded
        | Class::Cancelled
        | Class::Refused
        | Class::Declined
        | Class::Blocked
        | Class::GateFailed
        | Class::Unknown => None,
    }
}

fn rate_limit(config: &RetryConfig, reset_at: Option<u64>, situation: &Situation<'_>) -> RetryPlan {
    let backoff = &config.rate_limit;
    let number = situation.counters.of(Counter::Class(Class::RateLimit));
    match reset_at.and_then(|reset_at| wait::until_reset(reset_at, situation.now, situation.jitter)) {
        Some(after) => RetryPlan {
            why: words::at_reset(after, number + 1, backoff.max_attempts),
            ..waiting(Class::RateLimit, backoff.max_attempts, after, number)
        },
        None => {
            // Without jitter: the settled waits are as long as a user at a terminal is willing to wait.
            let after = wait::growing(backoff, number, 0.0);
            waiting(Class::RateLimit, backoff.max_attempts, after, number)
        }
    }
}

fn waiting(class: Class, cap: u32, after: Duration, number: u32) -> RetryPlan {
    let why = words::after_wait(class, after, number.saturating_add(1), cap);
    RetryPlan { counts: Counter::Class(class), cap, after, how: ON, why }
}

fn pausing(class: Class, pause: Pause, situation: &Situation<'_>) -> RetryPlan {
    let number = situation.counters.of(Counter::Class(class));
    waiting(class, pause.max_attempts, pause.initial_backoff, number)
}

fn timeout(config: &RetryConfig, situation: &Situation<'_>) -> RetryPlan {
    let more = &config.timeout;
    let number = situation.counters.of(Counter::Class(Class::Timeout));
    let time = if more.extend_timeout { more.timeout_multiplier } else { Factor::ONE };
    RetryPlan {
        counts: Counter::Class(Class::Timeout),
        cap: more.max_attempts,
        after: Duration::ZERO,
        how: How { time, ..ON },
        why: words::more_time(number.saturating_add(1), more.max_attempts),
    }
}

/// A mark that could not be read is asked for first: the agent may have had its reasons and said them wrongly.
fn no_changes(config: &RetryConfig, failure: &FailedAttempt, situation: &Situation<'_>) -> RetryPlan {
    let asked = situation.counters.of(Counter::MalformedSignal);
    if failure.marks == LastMarks::Malformed && asked < config.malformed_signal_attempts {
        return RetryPlan {
            counts: Counter::MalformedSignal,
            cap: config.malformed_signal_attempts,
            after: Duration::ZERO,
            how: How { prompt: RetryPrompt::Marks, ..ON },
            why: words::malformed(),
        };
    }
    RetryPlan {
        counts: Counter::Class(Class::NoChanges),
        cap: config.no_changes_attempts,
        after: Duration::ZERO,
        // A session that has talked itself into doing nothing does so again.
        how: How { session: Session::Fresh, prompt: RetryPrompt::Firmer, ..ON },
        why: words::firmer(),
    }
}

/// The fallback agent where it may help and has not been tried.
fn fallback(class: Class, situation: &Situation<'_>) -> Option<RetryDecision> {
    let untried = situation.has_fallback && situation.counters.of(Counter::Fallback) == 0;
    let how = How { session: Session::Fresh, agent: RetryAgent::Fallback, ..ON };
    let again = Again { after: Duration::ZERO, how, counts: Counter::Fallback, why: words::fallback(class) };
    (untried && helps(class)).then_some(RetryDecision::Again(again))
}

/// Whether another agent may do better: memory, time and sessions are no agent's own.
fn helps(class: Class) -> bool {
    matches!(class, Class::RateLimit | Class::ApiError | Class::Stalled | Class::NoChanges)
}

fn agent(situation: &Situation<'_>) -> RetryAgent {
    match situation.counters.of(Counter::Fallback) {
        0 => RetryAgent::Chosen,
        _ => RetryAgent::Fallback,
    }
}

/// When a limit is over, if that was told and is a time.
fn told_reset(failure: &FailedAttempt, situation: &Situation<'_>) -> Option<u64> {
    let told = failure.reset_at.filter(|_| failure.class == Class::RateLimit)?;
    wait::until_reset(told, situation.now, 0.0).map(|_| told)
}

#[cfg(test)]
mod tests;
