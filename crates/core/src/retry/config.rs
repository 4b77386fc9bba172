//! How often and after which waits a failed task is tried again: the section `executor.retry`.

use std::time::Duration;

use crate::config::Factor;

/// The section, with the settled numbers as defaults. `max_attempts` counts attempts after the first everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// Whether anything is tried again at all.
    pub enabled: bool,
    /// Attempts of one task after its first, whatever they fail with.
    pub max_attempts: u32,
    /// For how long one task's attempts may go on; no new one begins later.
    pub max_elapsed: Duration,
    /// After a rate limit whose reset nobody told.
    pub rate_limit: Backoff,
    /// After a failure of the API.
    pub api_error: Backoff,
    /// After a silence that was too long.
    pub stalled: Pause,
    /// After the kernel killed the agent for want of memory.
    pub oom_killed: Pause,
    /// After a run that took too long.
    pub timeout: MoreTime,
    /// How often an agent that changed nothing is told so.
    pub no_changes_attempts: u32,
    /// How often an agent whose mark cannot be read is asked for it again.
    pub malformed_signal_attempts: u32,
}

/// Waits that grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// How many.
    pub max_attempts: u32,
    /// The first wait.
    pub initial_backoff: Duration,
    /// How much longer each is than the one before.
    pub backoff_multiplier: Factor,
}

/// A wait that stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How many.
    pub max_attempts: u32,
    /// The wait.
    pub initial_backoff: Duration,
}

/// More time for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoreTime {
    /// How many.
    pub max_attempts: u32,
    /// Whether there is more time at all.
    pub extend_timeout: bool,
    /// How many times the time before.
    pub timeout_multiplier: Factor,
}

impl Default for RetryConfig {
    fn default() -> RetryConfig {
        let seconds = Duration::from_secs;
        let backoff = |first| Backoff {
            max_attempts: 3,
            initial_backoff: seconds(first),
            backoff_multiplier: Factor::TWO,
        };
        RetryConfig {
            enabled: true,
            max_attempts: 6,
            max_elapsed: seconds(3 * 60 * 60),
            rate_limit: backoff(30),
            api_error: backoff(5),
            stalled: Pause { max_attempts: 1, initial_backoff: seconds(5) },
            oom_killed: Pause { max_attempts: 1, initial_backoff: seconds(10) },
            timeout: MoreTime {
                max_attempts: 1,
                extend_timeout: true,
                timeout_multiplier: Factor::ONE_AND_A_HALF,
            },
            no_changes_attempts: 1,
            malformed_signal_attempts: 1,
        }
    }
}
