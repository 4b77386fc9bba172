//! The clock: the only place that asks for the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pilot_core::time::Timestamp;

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// An arbitrary number from 0 to 1: the time of day, below a second.
pub(crate) fn jitter() -> f64 {
    (now().0 % 1_000_000) as f64 / 1_000_000.0
}

/// Measures from its start, whatever happens to the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
