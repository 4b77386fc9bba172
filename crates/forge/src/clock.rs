//! The clock: the only module of the forge that reads the time.
//!
//! The fault plan can add an offset, because a forge's clock differs from its clients'; waits are never measured with it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::timestamp::Timestamp;

/// The time of day with the offset of the fault plan.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    skew: AtomicI64,
}

impl Clock {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(wall_clock().0.saturating_add(self.skew.load(Ordering::Relaxed)))
    }

    /// Sets the offset in microseconds.
    pub(crate) fn set_skew(&self, micros: i64) {
        self.skew.store(micros, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Measures durations with the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
