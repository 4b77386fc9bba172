//! How often and after which waits a failed task is tried again: the section `executor.retry`.

use std::time::Duration;

use crate::config::{Factor, Row, key_row, section};

section! {
    /// `max_attempts` counts attempts after the first everywhere.
    pub struct RetryConfig at (executor.retry) {
        /// Whether a task is tried again after a failure that may pass.
        user enabled: bool = true;
        /// Attempts of one task after its first, whatever they fail with.
        user max_attempts: u32 = 6;
        /// How long one task may be retried; no attempt starts later.
        user max_elapsed: Duration = Duration::from_mins(3 * 60);
        keys rate_limit: Backoff = Backoff::starting_at(30), RATE_LIMIT;
        keys api_error: Backoff = Backoff::starting_at(5), API_ERROR;
        keys stalled: Pause = Pause { max_attempts: 1, initial_backoff: Duration::from_secs(5) }, STALLED;
        keys oom_killed: Pause = Pause { max_attempts: 1, initial_backoff: Duration::from_secs(10) }, OOM_KILLED;
        section timeout: MoreTime = MoreTime::default();
        keys no_changes_attempts: u32 = 1, NO_CHANGES;
        keys malformed_signal_attempts: u32 = 1, MALFORMED_SIGNAL;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub max_attempts: u32,
    pub initial_backoff: Duration,
    pub backoff_multiplier: Factor,
}

impl Backoff {
    fn starting_at(first: u64) -> Backoff {
        Backoff {
            max_attempts: 3,
            initial_backoff: Duration::from_secs(first),
            backoff_multiplier: Factor::TWO,
        }
    }
}

/// A wait that stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    pub max_attempts: u32,
    pub initial_backoff: Duration,
}

section! {
    /// More time for the next attempt.
    #[derive(Copy)]
    pub struct MoreTime at (executor.retry.timeout) {
        /// More attempts after a run that took too long, in the same session.
        user max_attempts: u32 = 1;
        /// Whether they get a longer timeout.
        user extend_timeout: bool = true;
        /// How many times the previous timeout they get.
        user timeout_multiplier: Factor = Factor::ONE_AND_A_HALF;
    }
}

const RATE_LIMIT: &[Row] = &[
    key_row!(user "executor.retry.rate_limit.max_attempts", executor.retry.rate_limit.max_attempts,
        "More attempts after a rate limit."),
    key_row!(user "executor.retry.rate_limit.initial_backoff", executor.retry.rate_limit.initial_backoff,
        "The first wait after a rate limit without a known reset time."),
    key_row!(user "executor.retry.rate_limit.backoff_multiplier", executor.retry.rate_limit.backoff_multiplier,
        "How much longer each of these waits is than the one before."),
];

const API_ERROR: &[Row] = &[
    key_row!(user "executor.retry.api_error.max_attempts", executor.retry.api_error.max_attempts,
        "More attempts after a failure of the API."),
    key_row!(user "executor.retry.api_error.initial_backoff", executor.retry.api_error.initial_backoff,
        "The first wait after a failure of the API."),
    key_row!(user "executor.retry.api_error.backoff_multiplier", executor.retry.api_error.backoff_multiplier,
        "How much longer each of these waits is than the one before."),
];

const STALLED: &[Row] = &[
    key_row!(user "executor.retry.stalled.max_attempts", executor.retry.stalled.max_attempts,
        "More attempts after a run without output for too long."),
    key_row!(user "executor.retry.stalled.initial_backoff", executor.retry.stalled.initial_backoff,
        "The wait before them."),
];

const OOM_KILLED: &[Row] = &[
    key_row!(user "executor.retry.oom_killed.max_attempts", executor.retry.oom_killed.max_attempts,
        "More attempts after the kernel killed the agent because memory ran out."),
    key_row!(user "executor.retry.oom_killed.initial_backoff", executor.retry.oom_killed.initial_backoff,
        "The wait before them."),
];

const NO_CHANGES: &[Row] =
    &[key_row!(user "executor.retry.no_changes.max_attempts", executor.retry.no_changes_attempts,
        "How often an agent that changed nothing is asked again.")];

const MALFORMED_SIGNAL: &[Row] = &[
    key_row!(user "executor.retry.malformed_signal.max_attempts", executor.retry.malformed_signal_attempts,
        "How often an agent that changed nothing and whose last mark cannot be read is asked for it again."),
];
