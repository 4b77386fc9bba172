//! Times and durations for the pages.

use crate::timestamp::Timestamp;

/// A relative time, `3 minutes ago`; the date after 30 days.
pub(super) fn format_ago(iso: &str, now: Timestamp) -> String {
    let Some(time) = Timestamp::parse(iso) else { return String::new() };
    let seconds = now.seconds() - time.seconds();
    let many = |count: i64, unit: &str| match count {
        1 => format!("1 {unit} ago"),
        count => format!("{count} {unit}s ago"),
    };
    match seconds {
        ..=44 => "just now".to_owned(),
        45..3600 => many((seconds / 60).max(1), "minute"),
        3600..86_400 => many(seconds / 3600, "hour"),
        86_400..2_592_000 => many(seconds / 86_400, "day"),
        _ => format!("on {}", iso.get(..10).unwrap_or(iso)),
    }
}

/// A duration, `4s` or `2m 10s`.
pub(super) fn format_duration(from: &str, to: &str) -> Option<String> {
    let seconds = Timestamp::parse(to)?.seconds() - Timestamp::parse(from)?.seconds();
    match seconds {
        ..0 => None,
        0..60 => Some(format!("{seconds}s")),
        _ => Some(format!("{}m {}s", seconds / 60, seconds % 60)),
    }
}

#[cfg(test)]
mod tests {
    use super::{format_ago, format_duration};
    use crate::timestamp::Timestamp;

    #[test]
    fn times_and_durations_are_formatted() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        for (iso, expect) in [
            ("2026-11-15T12:00:10Z", "just now"),
            ("2026-11-15T11:59:10Z", "1 minute ago"),
            ("2026-11-15T11:15:00Z", "45 minutes ago"),
            ("2026-11-15T10:59:00Z", "1 hour ago"),
            ("2026-11-13T11:00:00Z", "2 days ago"),
            ("2026-01-02T11:00:00Z", "on 2026-01-02"),
            ("nonsense", ""),
        ] {
            assert_eq!(format_ago(iso, now), expect, "{iso}");
        }
        assert_eq!(
            format_duration("2026-11-15T12:00:00Z", "2026-11-15T12:02:10Z").as_deref(),
            Some("2m 10s")
        );
        assert_eq!(format_duration("2026-11-15T12:00:00Z", ""), None);
    }
}
