//! The clock: the only place of the forge that asks for the time.
//!
//! Stored times are microseconds since 1970 in UTC. The fault plan may set the clock off by some time, as a forge's clock is
//! not its clients'; waiting is never measured with it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::timestamp::Timestamp;

/// What time it is, as the forge believes.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    skew: AtomicI64,
}

impl Clock {
    /// The time of day.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(wall().0.saturating_add(self.skew.load(Ordering::Relaxed)))
    }

    /// Sets the clock off by so many microseconds.
    pub(crate) fn set_skew(&self, micros: i64) {
        self.skew.store(micros, Ordering::Relaxed);
    }
}

/// The machine's time of day.
#[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Measures from its start, whatever happens to the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// What has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the forge's clock")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
