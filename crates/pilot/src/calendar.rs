//! Days and months in local time: the only file that knows time zones.

use anyhow::Context;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use pilot_core::budget::{Period, Window};
use pilot_core::time;

pub(crate) struct Calendar(TimeZone);

impl Calendar {
    /// The user's: `TZ`, else the machine's zone, else UTC.
    pub(crate) fn of_this_machine() -> Calendar {
        Calendar(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    #[cfg(test)]
    pub(crate) fn utc() -> Calendar {
        Calendar(TimeZone::UTC)
    }

    pub(crate) fn zone(&self) -> String {
        match self.0.iana_name() {
            Some(name) => name.to_owned(),
            None => "local time".to_owned(),
        }
    }

    pub(crate) fn window(&self, now: time::Timestamp) -> anyhow::Result<Window> {
        self.around(now).context("find today in the calendar; is the clock right?")
    }

    fn around(&self, now: time::Timestamp) -> Result<Window, jiff::Error> {
        let date = Timestamp::from_microsecond(now.0)?.to_zoned(self.0.clone()).date();
        let first = date.first_of_month();
        let next = first.checked_add(Span::new().months(1))?;
        // A date's midnight; where the clocks leave it out, the first moment behind it.
        let start = |date: Date| date.to_zoned(self.0.clone()).map(|at| at.timestamp().as_microsecond());
        let period = |from, to| Ok::<_, jiff::Error>(Period { start: start(from)?, end: start(to)? });
        Ok(Window { day: period(date, date.tomorrow()?)?, month: period(first, next)? })
    }

    pub(crate) fn text(&self, at: time::Timestamp) -> String {
        Timestamp::from_microsecond(at.0).map_or_else(
            |_| "?".to_owned(),
            |at| at.to_zoned(self.0.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        )
    }

    /// As people near that time write it: `17:26`, `tomorrow 00:00`, `2026-11-20 17:26`.
    pub(crate) fn clock(&self, at: time::Timestamp, now: time::Timestamp) -> String {
        let zoned = |at: time::Timestamp| {
            Timestamp::from_microsecond(at.0).ok().map(|at| at.to_zoned(self.0.clone()))
        };
        let (Some(there), Some(here)) = (zoned(at), zoned(now)) else { return "?".to_owned() };
        let time = there.strftime("%H:%M");
        match (here.date().tomorrow().ok(), here.date().yesterday().ok(), there.date()) {
            (_, _, date) if date == here.date() => time.to_string(),
            (Some(tomorrow), _, date) if date == tomorrow => format!("tomorrow {time}"),
            (_, Some(yesterday), date) if date == yesterday => format!("yesterday {time}"),
            (_, _, _) => self.text(at),
        }
    }
}

/// A timestamp as RFC 3339 writes it, to the millisecond.
pub(crate) fn utc(at: time::Timestamp) -> String {
    let at = Timestamp::from_millisecond(at.0.div_euclid(1000));
    at.map_or_else(|_| "?".to_owned(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use pilot_core::time;

    use super::Calendar;

    /// New York's rules, as they are written down anywhere.
    const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";

    fn micros(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn days_and_months_begin_at_local_midnight() {
        for (zone, now, day, month, hours) in [
            ("UTC0", "2025-11-13T12:00:00Z", "2025-11-13T00:00:00Z", "2025-11-01T00:00:00Z", 24),
            (NEW_YORK, "2025-11-13T04:59:59Z", "2025-11-12T05:00:00Z", "2025-11-01T04:00:00Z", 24),
            (NEW_YORK, "2025-11-13T05:00:00Z", "2025-11-13T05:00:00Z", "2025-11-01T04:00:00Z", 24),
            // The days on which the clocks change.
            (NEW_YORK, "2025-03-09T12:00:00Z", "2025-03-09T05:00:00Z", "2025-03-01T05:00:00Z", 23),
            (NEW_YORK, "2025-11-02T12:00:00Z", "2025-11-02T04:00:00Z", "2025-11-01T04:00:00Z", 25),
            // The last evening of a year, as far ahead and behind as zones go.
            ("XXX-14", "2025-12-31T10:00:00Z", "2025-12-31T10:00:00Z", "2025-12-31T10:00:00Z", 24),
            ("XXX12", "2026-01-01T11:59:59Z", "2025-12-31T12:00:00Z", "2025-12-01T12:00:00Z", 24),
        ] {
            let calendar = Calendar(TimeZone::posix(zone).unwrap());
            let window = calendar.window(time::Timestamp(micros(now))).unwrap();
            assert_eq!(window.day.start, micros(day), "{zone} {now}");
            assert_eq!((window.day.end - window.day.start) / 3_600_000_000, hours, "{zone} {now}");
            assert_eq!(window.month.start, micros(month), "{zone} {now}");
            assert!(window.month.end > window.day.start && window.day.end <= window.month.end);
        }
    }

    #[test]
    fn a_midnight_that_does_not_exist_is_the_moment_behind_it() {
        // In Cuba the clocks go from 23:59:59 to 01:00.
        let calendar = Calendar(TimeZone::posix("CST5CDT,M3.2.0/0,M11.1.0/1").unwrap());
        let window = calendar.window(time::Timestamp(micros("2025-03-09T12:00:00Z"))).unwrap();
        assert_eq!(window.day.start, micros("2025-03-09T05:00:00Z"));
        assert_eq!(calendar.text(time::Timestamp(window.day.start)), "2025-03-09 01:00");
    }

    #[test]
    fn times_near_now_need_no_date() {
        let calendar = Calendar(TimeZone::posix(NEW_YORK).unwrap());
        let now = time::Timestamp(micros("2025-11-13T04:30:00Z"));
        for (at, text) in [
            ("2025-11-13T04:59:00Z", "23:59"),
            ("2025-11-13T05:00:00Z", "tomorrow 00:00"),
            ("2025-11-11T20:00:00Z", "yesterday 15:00"),
            ("2025-11-20T20:00:00Z", "2025-11-20 15:00"),
        ] {
            assert_eq!(calendar.clock(time::Timestamp(micros(at)), now), text);
        }
        assert_eq!(calendar.clock(time::Timestamp(i64::MAX), now), "?");
    }

    #[test]
    fn a_clock_that_is_far_off_is_an_error_not_a_panic() {
        let calendar = Calendar(TimeZone::UTC);
        assert!(calendar.window(time::Timestamp(i64::MAX)).is_err());
        assert_eq!(calendar.text(time::Timestamp(i64::MIN)), "?");
    }
}
