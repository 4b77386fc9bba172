//! The day and the month by the clock on the wall.

use super::usd::Usd;

/// A forecast from less than this part of a period would be a guess.
const LEAST_PART: i64 = 24;

/// From one moment to another, in microseconds since 1970, UTC. The end is no longer part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub start: i64,
    pub end: i64,
}

impl Period {
    /// The projected spend at the end of the period; none while too little of it has passed.
    pub fn forecast(&self, spent: Usd, now: i64) -> Option<Usd> {
        let whole = self.end.saturating_sub(self.start);
        let over = now.saturating_sub(self.start).min(whole);
        if whole <= 0 || over <= 0 || over < whole / LEAST_PART {
            return None;
        }
        let micros = i128::from(spent.micros()).saturating_mul(i128::from(whole)) / i128::from(over);
        Some(Usd::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
    }
}

/// Today and this month where the user is. A day is as long as the clock says: 23, 24 or 25 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub day: Period,
    pub month: Period,
}

#[cfg(test)]
mod tests {
    use super::{Period, Usd};

    const HOUR: i64 = 3_600_000_000;

    #[test]
    fn a_forecast_is_a_line_through_what_is_known() {
        let day = |hours: i64| Period { start: 1_000 * HOUR, end: (1_000 + hours) * HOUR };
        let ten = Usd::from_micros(10_000_000);
        for (hours, over, forecast) in [
            (24, 12, Some(20_000_000)),
            (24, 24, Some(10_000_000)),
            (24, 6, Some(40_000_000)),
            (23, 1, Some(230_000_000)),
            (25, 5, Some(50_000_000)),
            (24, 0, None),
            (24, -3, None),
            // A clock that is ahead: the period is over, not more than over.
            (24, 48, Some(10_000_000)),
            (0, 5, None),
            (-5, 5, None),
        ] {
            let forecast = forecast.map(Usd::from_micros);
            assert_eq!(day(hours).forecast(ten, (1_000 + over) * HOUR), forecast, "{hours} {over}");
        }
        assert_eq!(day(24).forecast(ten, 1_000 * HOUR + HOUR / 2), None, "half an hour tells nothing");
        let most = Usd::from_micros(u64::MAX);
        assert_eq!(day(24).forecast(most, 1_001 * HOUR), Some(most));
        let endless = Period { start: i64::MIN, end: i64::MAX };
        assert_eq!(endless.forecast(ten, i64::MAX), Some(ten));
    }
}
