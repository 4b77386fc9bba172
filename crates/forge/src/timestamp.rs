//! Points in time: integers inside, ISO 8601 in UTC outside.

use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type};

/// Microseconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub(crate) i64);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400;

impl Timestamp {
    /// Whole seconds, as git counts.
    pub(crate) fn seconds(self) -> i64 {
        self.0.div_euclid(SECOND)
    }

    /// From whole seconds.
    pub(crate) fn of_seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds.saturating_mul(SECOND))
    }

    /// The time so much earlier.
    pub(crate) fn before(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(micros(span)))
    }

    /// The time so much later.
    pub(crate) fn after(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(micros(span)))
    }

    /// How long it is from another time to this one; nothing if that is later.
    pub(crate) fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// As GitHub writes it: `2026-11-15T23:53:00Z`.
    pub(crate) fn iso(self) -> String {
        let seconds = self.seconds();
        let (year, month, day) = civil(seconds.div_euclid(DAY));
        let of_day = seconds.rem_euclid(DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// As a header has it: `Sun, 15 Nov 2026 23:53:00 GMT`.
    pub(crate) fn http(self) -> String {
        const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let seconds = self.seconds();
        let days = seconds.div_euclid(DAY);
        let (year, month, day) = civil(days);
        let name = |names: &[&'static str], at: i64| {
            usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or_default()
        };
        let (weekday, month) = (name(&DAYS, days.rem_euclid(7)), name(&MONTHS, month - 1));
        let of_day = seconds.rem_euclid(DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// Reads what [`Timestamp::iso`] writes, with an optional fraction and an optional offset.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00Z"));
        let mut date = date.splitn(3, '-').map(number);
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (time, offset) = split_offset(time)?;
        let clock = time.split_once('.').map_or(time, |(clock, _)| clock);
        let mut clock = clock.splitn(3, ':').map(number);
        let (hour, minute) = (clock.next()??, clock.next()??);
        let second = clock.next().unwrap_or(Some(0))?;
        let sound = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61
            && year < 10_000;
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
        sound.then(|| Timestamp::of_seconds(seconds))
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn number(digits: &str) -> Option<i64> {
    let sound = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if sound { digits.parse().ok() } else { None }
}

/// The time of day, and its offset from UTC in seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, offset) = time.split_at(at);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let seconds = number(hours)? * 3600 + number(minutes)? * 60;
    Some((time, if offset.starts_with('-') { -seconds } else { seconds }))
}

/// The day since 1970 as a date. After Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A date as the day since 1970. After Howard Hinnant's `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

impl Type<Sqlite> for Timestamp {
    fn type_info() -> SqliteTypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }
}

impl<'r> Decode<'r, Sqlite> for Timestamp {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Timestamp(<i64 as Decode<'r, Sqlite>>::decode(value)?))
    }
}

impl Encode<'_, Sqlite> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'_, Sqlite>>::encode_by_ref(&self.0, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn times_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_794_786_780, "2026-11-15T23:53:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp::of_seconds(seconds).iso(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp::of_seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn headers_have_a_form_of_their_own() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_794_786_780, "Sun, 15 Nov 2026 23:53:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] {
            assert_eq!(Timestamp::of_seconds(seconds).http(), text);
        }
    }

    #[test]
    fn other_spellings_are_read_and_nonsense_is_not() {
        let noon = Timestamp::parse("2026-11-15T12:00:00Z");
        assert!(noon.is_some());
        for text in ["2026-11-15T12:00:00.123Z", "2026-11-15T14:00:00+02:00", "2026-11-15 12:00"] {
            assert_eq!(Timestamp::parse(text), noon, "{text}");
        }
        for text in
            ["", "soon", "2026", "2026-13-01", "2026-11-15T25:00:00Z", "2026-11-15T12:00:00+x", "9-9-9Z"]
        {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
