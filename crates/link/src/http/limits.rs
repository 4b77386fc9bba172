//! What the headers of a reply state about the service's rate limits.

use std::time::Duration;

use pilot_core::time::Timestamp;
use reqwest::header::HeaderMap;

use super::Rate;
use crate::time::{from_seconds, parse_http_date};

/// No stated wait is trusted beyond this; afterwards the service is tried again. GitHub's own window is an hour.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(3660);

/// Numbers from here on are seconds since 1970, below they are seconds from now.
const EPOCH: i64 = 100_000_000;

/// Limits as one reply states them, by our own clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StatedLimits {
    pub(super) rate: Option<Rate>,
    /// How long to send nothing.
    pub(super) wait: Option<Duration>,
}

impl StatedLimits {
    /// Reads the headers of a reply that came at `now`. The service's clock may differ from ours, so its times count from
    /// its own `Date`.
    pub(super) fn from_headers(headers: &HeaderMap, now: Timestamp) -> StatedLimits {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let date = text("date").and_then(parse_http_date).unwrap_or(now);
        let wait = text("retry-after").and_then(|value| parse_wait(value, date));
        // GitHub's other pools (search, graphql) have limits of their own, and nothing here uses them.
        let is_core = text("x-ratelimit-resource").is_none_or(|pool| pool == "core");
        let number = |name: &str| {
            let value = text(&format!("x-ratelimit-{name}")).or_else(|| text(&format!("ratelimit-{name}")));
            value.and_then(|value| value.parse::<i64>().ok())
        };
        let rate = || {
            let (limit, remaining, reset) = (number("limit")?, number("remaining")?, number("reset")?);
            let left = if reset >= EPOCH { from_seconds(reset).since(date) } else { to_duration(reset) };
            Some(Rate {
                limit: u64::try_from(limit).ok()?,
                remaining: u64::try_from(remaining).unwrap_or(0),
                resets: now.after(left.min(LONGEST_WAIT)),
            })
        };
        StatedLimits { rate: if is_core { rate() } else { None }, wait }
    }
}

fn parse_wait(value: &str, date: Timestamp) -> Option<Duration> {
    let wait = match value.parse::<i64>() {
        Ok(number) => to_duration(number),
        Err(_) => parse_http_date(value)?.since(date),
    };
    Some(wait.min(LONGEST_WAIT))
}

fn to_duration(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{LONGEST_WAIT, StatedLimits};
    use crate::time::{from_seconds, seconds};

    const NOW: i64 = 1_794_787_141;

    type Case = (&'static [(&'static str, &'static str)], Option<u64>, Option<(u64, u64, i64)>);

    const CASES: [Case; 14] = [
        (&[], None, None),
        (&[("retry-after", "60")], Some(60), None),
        (&[("retry-after", " 7 ")], Some(7), None),
        (&[("retry-after", "-5")], Some(0), None),
        (&[("retry-after", "99999999999")], Some(3660), None),
        (&[("retry-after", "soon")], None, None),
        (&[("retry-after", "Mon, 16 Nov 2026 00:00:01 GMT")], Some(60), None),
        // Their clock is an hour ahead.
        (
            &[
                ("date", "Mon, 16 Nov 2026 00:59:01 GMT"),
                ("retry-after", "Mon, 16 Nov 2026 00:59:31 GMT"),
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1794790841"),
            ],
            Some(30),
            Some((5000, 0, 100)),
        ),
        (
            &[
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", "4999"),
                ("x-ratelimit-reset", "1794787241"),
            ],
            None,
            Some((5000, 4999, 100)),
        ),
        (
            &[
                ("x-ratelimit-limit", "30"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1794787241"),
                ("x-ratelimit-resource", "search"),
            ],
            None,
            None,
        ),
        (
            &[("ratelimit-limit", "10"), ("ratelimit-remaining", "3"), ("ratelimit-reset", "20")],
            None,
            Some((10, 3, 20)),
        ),
        (
            &[
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "-3"),
                ("x-ratelimit-reset", "9999999999999"),
            ],
            None,
            Some((10, 0, 3660)),
        ),
        (&[("x-ratelimit-limit", "10"), ("x-ratelimit-remaining", "many")], None, None),
        (
            &[("x-ratelimit-limit", "-1"), ("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "1")],
            None,
            None,
        ),
    ];

    #[test]
    fn times_in_headers_count_from_the_services_own_date() {
        for (headers, wait, rate) in CASES {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            let limits = StatedLimits::from_headers(&map, from_seconds(NOW));
            assert_eq!(limits.wait, wait.map(Duration::from_secs), "{headers:?}");
            let read = limits.rate.map(|rate| (rate.limit, rate.remaining, seconds(rate.resets) - NOW));
            assert_eq!(read, rate, "{headers:?}");
        }
        assert_eq!(LONGEST_WAIT.as_secs(), 3660);
    }
}
