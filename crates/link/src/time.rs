//! Times as services write them, to and from [`Timestamp`].

use jiff::fmt::rfc2822::DateTimeParser;
use pilot_core::time::Timestamp;

/// Reads `2026-11-15T23:59:01Z`, with or without a fraction, and with any offset. Times before 1970 are refused.
pub fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    from_jiff(text.parse().ok()?)
}

/// Reads the date of an HTTP header: `Sun, 15 Nov 2026 23:59:01 GMT`.
pub(crate) fn parse_http_date(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // The parser takes every zone of RFC 2822; RFC 9110 allows this one only.
    text.ends_with(" GMT")
        .then(|| DateTimeParser::new().parse_timestamp(text).ok())
        .flatten()
        .and_then(from_jiff)
}

/// The last time that services and jiff can read: 9999-12-30T22:00:00Z.
const LAST: Timestamp = Timestamp(253_402_207_200_000_000);

/// Writes `2026-11-15T23:59:01Z`, in whole seconds.
pub fn format_rfc3339(at: Timestamp) -> String {
    at.min(LAST).to_string()
}

/// Whole seconds since 1970.
pub(crate) fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(1_000_000)
}

pub(crate) fn from_seconds(seconds: i64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1_000_000))
}

fn from_jiff(at: jiff::Timestamp) -> Option<Timestamp> {
    Some(Timestamp(at.as_microsecond())).filter(|at| at.0 >= 0)
}

#[cfg(test)]
mod tests {
    use pilot_core::time::Timestamp;

    use super::{format_rfc3339, from_seconds, parse_http_date, parse_rfc3339};

    #[test]
    fn rfc3339_times_are_parsed_or_refused() {
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
            ("1969-12-31T23:59:59Z", None),
            ("2024-01-01é12:00:00Z", None),
            ("", None),
            ("now", None),
        ] {
            assert_eq!(parse_rfc3339(text), seconds.map(from_seconds), "{text:?}");
        }
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00.25Z"), Some(Timestamp(250_000)));
    }

    #[test]
    fn http_dates_are_parsed_or_refused() {
        for (text, seconds) in [
            ("Sun, 15 Nov 2026 23:59:01 GMT", Some(1_794_787_141)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01 Foo 1970 00:00:00 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 CET", None),
            ("120", None),
        ] {
            assert_eq!(parse_http_date(text), seconds.map(from_seconds), "{text:?}");
        }
    }

    #[test]
    fn a_formatted_time_parses_to_the_same_time() {
        for days in 0..60_000_i64 {
            let at = from_seconds(days * 86_400 + days % 86_400);
            assert_eq!(parse_rfc3339(&format_rfc3339(at)), Some(at));
        }
        assert_eq!(
            format_rfc3339(Timestamp(i64::MAX)),
            "9999-12-30T22:00:00Z",
            "times beyond jiff's are cut"
        );
    }
}
