//! The decision after a failure.

use std::time::Duration;

use super::config::{Pause, RetryConfig};
use super::counters::{Counter, Counters};
use super::{wait, words};
use crate::config::Factor;
use crate::outcome::Class;

/// Somebody who looks at a terminal is told a time instead of waiting longer.
pub const LONGEST_IN_FOREGROUND: Duration = Duration::from_secs(60);

/// How often a session that is gone may cost a fresh start. Not configurable: it costs nothing and is nobody's fault.
const FRESH_STARTS: u32 = 3;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub class: Class,
    /// What of the agent's own marks.
    pub marks: Marks,
    /// When the limit resets, if somebody said so, in epoch seconds.
    pub reset_at: Option<u64>,
}

/// Whether the agent's last words can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// They can, or there are none.
    Readable,
    /// A mark that would have ended the run could not.
    Malformed,
}

/// What else is known when it failed.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'s> {
    /// The task's attempts so far.
    pub counters: &'s Counters,
    /// The time, in epoch seconds.
    pub now: u64,
    /// A number from 0 to 1 that nobody can foresee.
    pub jitter: f64,
    /// Where Pilot runs.
    pub place: Place,
    /// Whether there is another agent to fall back to.
    pub has_fallback: bool,
    /// For how long these attempts have gone on.
    pub elapsed: Duration,
}

/// Where Pilot runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Somebody waits for the end.
    Foreground,
    /// Nobody does; a task can wait in the queue.
    Daemon,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another attempt.
    Again(Again),
    /// None.
    GiveUp {
        /// Why, as a fragment for people.
        why: String,
        /// When another attempt might go better, in epoch seconds.
        not_before: Option<u64>,
    },
}

/// Another attempt, in the same workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// How long to wait first.
    pub after: Duration,
    /// How to go about it.
    pub how: How,
    /// What it counts as; count it before it starts.
    pub counts: Counter,
    /// Why, as a fragment for people.
    pub why: String,
}

/// How to go about another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// In which session.
    pub session: Session,
    /// With which words.
    pub prompt: Prompt,
    /// With how many times the time that the attempt before had.
    pub time: Factor,
    /// With which agent.
    pub agent: Agent,
}

/// In which session an attempt goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// In the one before, when there is one.
    Resume,
    /// In a new one.
    Fresh,
}

/// What the agent is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The task; in a resumed session, to go on with it.
    Task,
    /// The task, and that nothing was changed.
    Firmer,
    /// Which mark could not be read, and where.
    Marks,
}

/// Which agent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The one that was chosen.
    Chosen,
    /// `executor.fallback`.
    Fallback,
}

/// Says what to do after an attempt that did not complete.
pub fn decide(config: &RetryConfig, failure: &Failure, situation: &Situation<'_>) -> Decision {
    let class = failure.class;
    let give_up = |why| Decision::GiveUp { why, not_before: told_reset(failure, situation) };
    let Some(plan) = plan(config, failure, situation) else { return give_up(words::never(class)) };
    // A session that is gone is our own doing: whoever wants no retries still wants the task done.
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
    if situation.place == Place::Foreground && plan.after > LONGEST_IN_FOREGROUND {
        let at = told_reset(failure, situation).or(situation.now.checked_add(plan.after.as_secs()));
        let why = words::too_long(class, plan.after);
        return fallback(class, situation).unwrap_or(Decision::GiveUp { why, not_before: at });
    }
    let how = How { agent: agent(situation), ..plan.how };
    Decision::Again(Again { after: plan.after, how, counts: plan.counts, why: plan.why })
}

/// What the class asks for, before any cap.
struct Plan {
    counts: Counter,
    cap: u32,
    after: Duration,
    how: How,
    why: String,
}

/// The same session, the same words, as much time.
const ON: How =
    How { session: Session::Resume, prompt: Prompt::Task, time: Factor::ONE, agent: Agent::Chosen };

fn plan(config: &RetryConfig, failure: &Failure, situation: &Situation<'_>) -> Option<Plan> {
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
        Class::SessionNotFound => Some(Plan {
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

fn rate_limit(config: &RetryConfig, reset_at: Option<u64>, situation: &Situation<'_>) -> Plan {
    let backoff = &config.rate_limit;
    let number = situation.counters.of(Counter::Class(Class::RateLimit));
    match reset_at.and_then(|reset_at| wait::until_reset(reset_at, situation.now, situation.jitter)) {
        Some(after) => Plan {
            why: words::at_reset(after, number + 1, backoff.max_attempts),
            ..waiting(Class::RateLimit, backoff.max_attempts, after, number)
        },
        None => {
            // Without jitter: the settled waits are as long as somebody in front of a terminal is willing to wait.
            let after = wait::growing(backoff, number, 0.0);
            waiting(Class::RateLimit, backoff.max_attempts, after, number)
        }
    }
}

fn waiting(class: Class, cap: u32, after: Duration, number: u32) -> Plan {
    let why = words::after_wait(class, after, number.saturating_add(1), cap);
    Plan { counts: Counter::Class(class), cap, after, how: ON, why }
}

fn pausing(class: Class, pause: Pause, situation: &Situation<'_>) -> Plan {
    let number = situation.counters.of(Counter::Class(class));
    waiting(class, pause.max_attempts, pause.initial_backoff, number)
}

fn timeout(config: &RetryConfig, situation: &Situation<'_>) -> Plan {
    let more = &config.timeout;
    let number = situation.counters.of(Counter::Class(Class::Timeout));
    let time = if more.extend_timeout { more.timeout_multiplier } else { Factor::ONE };
    Plan {
        counts: Counter::Class(Class::Timeout),
        cap: more.max_attempts,
        after: Duration::ZERO,
        how: How { time, ..ON },
        why: words::more_time(number.saturating_add(1), more.max_attempts),
    }
}

/// A mark that could not be read is asked for first: the agent may have had its reasons and said them wrongly.
fn no_changes(config: &RetryConfig, failure: &Failure, situation: &Situation<'_>) -> Plan {
    let asked = situation.counters.of(Counter::MalformedSignal);
    if failure.marks == Marks::Malformed && asked < config.malformed_signal_attempts {
        return Plan {
            counts: Counter::MalformedSignal,
            cap: config.malformed_signal_attempts,
            after: Duration::ZERO,
            how: How { prompt: Prompt::Marks, ..ON },
            why: words::malformed(),
        };
    }
    Plan {
        counts: Counter::Class(Class::NoChanges),
        cap: config.no_changes_attempts,
        after: Duration::ZERO,
        // A session that has talked itself into doing nothing does so again.
        how: How { session: Session::Fresh, prompt: Prompt::Firmer, ..ON },
        why: words::firmer(),
    }
}

/// The fallback agent where it may help and has not been tried.
fn fallback(class: Class, situation: &Situation<'_>) -> Option<Decision> {
    let untried = situation.has_fallback && situation.counters.of(Counter::Fallback) == 0;
    let how = How { session: Session::Fresh, agent: Agent::Fallback, ..ON };
    let again = Again { after: Duration::ZERO, how, counts: Counter::Fallback, why: words::fallback(class) };
    (untried && helps(class)).then_some(Decision::Again(again))
}

/// Whether another agent may do better.
fn helps(class: Class) -> bool {
    match class {
        Class::RateLimit | Class::ApiError | Class::Stalled | Class::NoChanges => true,
        // Memory, time and sessions are no agent's own.
        Class::OomKilled | Class::Timeout | Class::SessionNotFound => false,
        // Never tried again, so never here.
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
        | Class::Unknown => false,
    }
}

/// Whoever has taken over stays.
fn agent(situation: &Situation<'_>) -> Agent {
    match situation.counters.of(Counter::Fallback) {
        0 => Agent::Chosen,
        _ => Agent::Fallback,
    }
}

/// When a limit is over, if that was told and is a time.
fn told_reset(failure: &Failure, situation: &Situation<'_>) -> Option<u64> {
    let told = failure.reset_at.filter(|_| failure.class == Class::RateLimit)?;
    wait::until_reset(told, situation.now, 0.0).map(|_| told)
}

#[cfg(test)]
mod tests;
