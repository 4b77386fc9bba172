//! Points in time, as services write them and as we keep them.

use std::fmt;
use std::time::Duration;

const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;

/// The years that are read; anything else is a mistake or a trap.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=9999;

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl Moment {
    /// So many seconds since 1970.
    pub fn from_seconds(seconds: i64) -> Moment {
        Moment(seconds.saturating_mul(MICROS))
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// So much later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The time from here to `later`; none at all when that has passed.
    pub fn until(self, later: Moment) -> Duration {
        Duration::from_micros(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// Reads `2026-11-15T23:59:01Z`, with a fraction or an offset if there is one.
    pub fn parse_rfc3339(text: &str) -> Option<Moment> {
        let (date, rest) = (text.get(..10)?, text.get(11..)?);
        if !matches!(text.as_bytes()[10], b'T' | b't' | b' ') {
            return None;
        }
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(rest.get(..8)?, ':', [2, 2, 2])?;
        let (micros, zone) = fraction(&rest[8..])?;
        let seconds = civil(year, month, day, hour, minute, second)? - offset(zone)?;
        Some(Moment(seconds.checked_mul(MICROS)?.checked_add(micros)?))
    }

    /// Reads the date of an HTTP header: `Sun, 15 Nov 2026 23:59:01 GMT`.
    pub fn parse_http(text: &str) -> Option<Moment> {
        let (_, rest) = text.trim().split_once(", ")?;
        let words: Vec<&str> = rest.split(' ').collect();
        let [day, month, year, time, "GMT"] = words[..] else { return None };
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            .iter()
            .position(|name| *name == month)?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let month = i64::try_from(month).ok()? + 1;
        let seconds = civil(digits(year, 4)?, month, digits(day, 2)?, hour, minute, second)?;
        Some(Moment::from_seconds(seconds))
    }
}

/// As `2026-11-15T23:59:01Z`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let fine = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if fine { text.parse().ok() } else { None }
}

fn numbers(text: &str, between: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let parts: Vec<&str> = text.split(between).collect();
    let [a, b, c] = parts[..] else { return None };
    Some([digits(a, lengths[0])?, digits(b, lengths[1])?, digits(c, lengths[2])?])
}

/// The microseconds of `.123Z`, and what follows them.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return None;
    }
    let padded: String = rest[..length].chars().chain("000000".chars()).take(6).collect();
    Some((padded.parse().ok()?, &rest[length..]))
}

/// The seconds east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (digits(hours, 2)? * 3600 + digits(minutes, 2)? * 60))
}

fn civil(year: i64, month: i64, day: i64, hour: i64, minute: i64, second: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let date = YEARS.contains(&year) && (1..=12).contains(&month) && (1..=longest).contains(&day);
    // 60 is a leap second.
    let time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    (date && time).then(|| days_to(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// Days from 1970 to a date. Years begin in March here, so that the leap day is the last.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days after 1970 began.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    let month = if part < 10 { part + 3 } else { part - 9 };
    let day = of_year - (153 * part + 2) / 5 + 1;
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Moment;

    #[test]
    fn dates_of_services_are_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-15T23:59:01Z", Some(1_794_787_141)),
            ("2024-02-29T12:00:00Z", Some(1_709_208_000)),
            ("2024-02-29T14:00:00+02:00", Some(1_709_208_000)),
            ("2024-02-29T12:00:00.000Z", Some(1_709_208_000)),
            ("2023-02-29T12:00:00Z", None),
            ("2024-13-01T12:00:00Z", None),
            ("2024-01-01T24:00:00Z", None),
            ("2024-01-01T12:00:00", None),
            ("2024-01-01T12:00:00.Z", None),
            ("99999-01-01T12:00:00Z", None),
            ("2024-01-01é12:00:00Z", None),
            ("", None),
            ("now", None),
        ] {
            assert_eq!(Moment::parse_rfc3339(text), seconds.map(Moment::from_seconds), "{text:?}");
        }
        assert_eq!(Moment::parse_rfc3339("1970-01-01T00:00:00.25Z"), Some(Moment(250_000)));
    }

    #[test]
    fn dates_of_headers_are_read() {
        for (text, seconds) in [
            ("Sun, 15 Nov 2026 23:59:01 GMT", Some(1_794_787_141)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01 Foo 1970 00:00:00 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 CET", None),
            ("120", None),
        ] {
            assert_eq!(Moment::parse_http(text), seconds.map(Moment::from_seconds), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for days in 0..60_000_i64 {
            let moment = Moment::from_seconds(days * 86_400 + days % 86_400);
            assert_eq!(Moment::parse_rfc3339(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn the_past_is_no_wait() {
        let noon = Moment::from_seconds(1000);
        assert_eq!(noon.until(noon.after(Duration::from_secs(5))), Duration::from_secs(5));
        assert_eq!(noon.until(Moment(0)), Duration::ZERO);
        assert_eq!(Moment(i64::MAX).after(Duration::MAX), Moment(i64::MAX));
    }
}
