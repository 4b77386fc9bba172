//! Rate limits: requests per user and hour.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::timestamp::Timestamp;

const HOUR: i64 = 3600;

/// GitHub's hourly limit for requests without a token.
const ANONYMOUS: u32 = 60;

/// The counters; a restart resets them.
#[derive(Debug)]
pub(crate) struct RateLimits {
    limit: u32,
    windows: Mutex<HashMap<Option<i64>, Window>>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    used: u32,
    reset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateUsage {
    pub(crate) limit: u32,
    pub(crate) used: u32,
    /// The end of the hour, in seconds since 1970.
    pub(crate) reset: i64,
}

impl RateUsage {
    pub(crate) fn remaining(self) -> u32 {
        self.limit.saturating_sub(self.used)
    }
}

impl RateLimits {
    pub(crate) fn new(limit: u32) -> RateLimits {
        RateLimits { limit, windows: Mutex::default() }
    }

    pub(crate) fn usage(&self, user: Option<i64>, now: Timestamp) -> RateUsage {
        self.with(user, now, |_| ())
    }

    /// Counts one request.
    pub(crate) fn charge(&self, user: Option<i64>, now: Timestamp) -> RateUsage {
        self.with(user, now, |window| window.used = window.used.saturating_add(1))
    }

    fn with(&self, user: Option<i64>, now: Timestamp, change: impl FnOnce(&mut Window)) -> RateUsage {
        let mut windows = self.windows.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let fresh = Window { used: 0, reset: now.seconds() + HOUR };
        let window = windows.entry(user).or_insert(fresh);
        if window.reset <= now.seconds() {
            *window = fresh;
        }
        change(window);
        let limit = if user.is_some() { self.limit } else { ANONYMOUS.min(self.limit) };
        RateUsage { limit, used: window.used.min(limit), reset: window.reset }
    }
}

#[cfg(test)]
mod tests {
    use super::RateLimits;
    use crate::timestamp::Timestamp;

    #[test]
    fn the_limit_resets_after_an_hour() {
        let limits = RateLimits::new(2);
        let now = Timestamp::of_seconds(1000);
        assert_eq!(limits.charge(Some(1), now).remaining(), 1);
        assert_eq!(limits.charge(Some(1), now).remaining(), 0);
        assert_eq!(limits.usage(Some(2), now).remaining(), 2);
        let later = Timestamp::of_seconds(1000 + 3600);
        assert_eq!(limits.usage(Some(1), later).remaining(), 2);
    }
}
