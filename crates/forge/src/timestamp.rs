//! Timestamps: integers in the database, ISO 8601 in UTC outside.

use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type};

/// Microseconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub(crate) i64);

const SECOND: i64 = 1_000_000;

impl Timestamp {
    /// Whole seconds, as git counts.
    pub(crate) fn seconds(self) -> i64 {
        self.0.div_euclid(SECOND)
    }

    pub(crate) fn of_seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds.saturating_mul(SECOND))
    }

    pub(crate) fn before(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(micros(span)))
    }

    pub(crate) fn after(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(micros(span)))
    }

    /// The time since an earlier timestamp; zero if that one is later.
    pub(crate) fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The format of GitHub's API: `2026-11-15T23:53:00Z`.
    pub(crate) fn iso(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%SZ")
    }

    /// The format of HTTP headers: `Sun, 15 Nov 2026 23:53:00 GMT`.
    pub(crate) fn http(self) -> String {
        self.format("%a, %d %b %Y %H:%M:%S GMT")
    }

    fn format(self, pattern: &str) -> String {
        jiff::Timestamp::from_second(self.seconds()).unwrap_or_default().strftime(pattern).to_string()
    }

    /// Reads ISO 8601 to the second; without a time it is midnight, without an offset UTC.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let time = text.parse().or_else(|_| {
            let local: jiff::civil::DateTime = text.parse()?;
            local.to_zoned(jiff::tz::TimeZone::UTC).map(|time| time.timestamp())
        });
        time.ok().map(|time: jiff::Timestamp| Timestamp::of_seconds(time.as_second()))
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
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
    fn iso_round_trips() {
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
    fn http_dates_are_formatted() {
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
    fn other_iso_forms_are_parsed_and_invalid_ones_rejected() {
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
