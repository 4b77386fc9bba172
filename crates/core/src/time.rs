//! Points in time, as arguments. Where they come from is the caller's business: a clock, a database, a simulator.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// So much later; the end of time when that is beyond it.
    pub fn after(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(micros(wait)))
    }

    pub fn before(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(micros(span)))
    }

    /// How long after `earlier` this is; nothing when a clock was set back.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub fn whole_second(self) -> Timestamp {
        Timestamp(self.0 - self.0.rem_euclid(1_000_000))
    }

    /// Whether a new period begins after this and not after `later`.
    pub fn is_apart(self, later: Timestamp, period: Duration) -> bool {
        let period = micros(period).max(1);
        self.0.div_euclid(period) != later.0.div_euclid(period)
    }
}

impl fmt::Display for Timestamp {
    /// `2026-11-15T23:59:01Z`, in whole seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000);
        let (year, month, day) = civil_date(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Serialises a time as people read it, in place of microseconds.
pub fn rfc3339<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

/// The date of a day counted from 1970. Years begin in March here, so that a leap day is the last of its year.
fn civil_date(day: i64) -> (i64, i64, i64) {
    // From 1 March of the year 0; 400 years are an era of 146,097 days.
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let in_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, in_month)
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
        assert_eq!(Timestamp(3_999_999).whole_second(), Timestamp(3_000_000));
    }

    #[test]
    fn times_are_written_as_people_read_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_794_787_141, "2026-11-15T23:59:01Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp(seconds * 1_000_000).to_string(), text);
        }
        let _ = (Timestamp(i64::MIN).to_string(), Timestamp(i64::MAX).to_string());
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
