//! Points in time, as arguments. Where they come from is the caller's business: a clock, a database, a simulator.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// So much later; the end of time when that is beyond it.
    pub fn after(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(micros(wait)))
    }

    /// So much earlier.
    pub fn before(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(micros(span)))
    }

    /// How long after `earlier` this is; nothing when a clock was set back.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whether a new period begins after this and not after `later`.
    pub fn is_apart(self, later: Timestamp, period: Duration) -> bool {
        let period = micros(period).max(1);
        self.0.div_euclid(period) != later.0.div_euclid(period)
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timestamp;

    #[test]
    fn time_has_ends_and_a_clock_set_back_gives_none() {
        let second = Duration::from_secs(1);
        assert_eq!(Timestamp(5).after(second), Timestamp(1_000_005));
        assert_eq!(Timestamp(i64::MAX).after(second), Timestamp(i64::MAX));
        assert_eq!(Timestamp(1_000_005).before(second), Timestamp(5));
        assert_eq!(Timestamp(3_000_000).since(Timestamp(1_000_000)), Duration::from_secs(2));
        assert_eq!(Timestamp(1).since(Timestamp(2)), Duration::ZERO);
    }

    #[test]
    fn periods_begin_at_their_multiples() {
        let period = Duration::from_micros(10);
        for (from, to, apart) in
            [(0, 9, false), (9, 10, true), (10, 19, false), (-1, 0, true), (5, 105, true)]
        {
            assert_eq!(Timestamp(from).is_apart(Timestamp(to), period), apart, "{from} to {to}");
        }
        assert!(Timestamp(1).is_apart(Timestamp(2), Duration::ZERO));
    }
}
