//! A service's rate limit for one identity, learned from its replies.

use std::time::Duration;

use pilot_core::time::Timestamp;
use reqwest::StatusCode;

use super::HttpError;
use super::limits::{LONGEST_WAIT, StatedLimits};

/// The wait for a limit whose end the service did not name, doubled each time in a row; GitHub asks for a minute.
const UNNAMED: Duration = Duration::from_secs(60);

/// One part in so many of the budget is reserved for work; polls stop before it.
const RESERVE: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub limit: u64,
    pub remaining: u64,
    /// When the window ends, by our own clock.
    pub resets: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBack {
    Exhausted,
    /// The rest is reserved for work, and this was a poll.
    Reserved,
    SlowDown,
}

impl HeldBack {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Exhausted => "the service's rate limit is used up",
            Self::Reserved => "the rest of the service's rate limit is reserved for work",
            Self::SlowDown => "the service asked us to slow down",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct RateBudget {
    rate: Option<Rate>,
    slow_down_until: Option<Timestamp>,
    /// Limits in a row whose end was not named.
    unnamed: u32,
}

impl RateBudget {
    pub(super) fn check(&self, now: Timestamp, is_poll: bool) -> Result<(), HttpError> {
        if let Some(until) = self.slow_down_until.filter(|until| *until > now) {
            return Err(HttpError::RateLimited { until, limit: HeldBack::SlowDown });
        }
        let Some(rate) = self.rate(now) else { return Ok(()) };
        if rate.remaining == 0 {
            return Err(HttpError::RateLimited { until: rate.resets, limit: HeldBack::Exhausted });
        }
        if is_poll && rate.remaining <= rate.limit / RESERVE {
            return Err(HttpError::RateLimited { until: rate.resets, limit: HeldBack::Reserved });
        }
        Ok(())
    }

    pub(super) fn rate(&self, now: Timestamp) -> Option<Rate> {
        self.rate.filter(|rate| rate.resets > now)
    }

    /// Updates the budget from a reply; an error when the reply itself is a rate limit.
    pub(super) fn learn(
        &mut self,
        now: Timestamp,
        status: StatusCode,
        limits: &StatedLimits,
        body: &[u8],
    ) -> Option<HttpError> {
        if let Some(rate) = limits.rate {
            self.rate = Some(self.merge_rate(rate));
        }
        let is_exhausted = limits.rate.is_some_and(|rate| rate.remaining == 0);
        if !is_limit(status, limits, is_exhausted, body) {
            if status.is_success() || status == StatusCode::NOT_MODIFIED {
                self.unnamed = 0;
            }
            return None;
        }
        if limits.wait.is_none() && is_exhausted {
            let until = limits.rate.map_or(now, |rate| rate.resets);
            return Some(HttpError::RateLimited { until, limit: HeldBack::Exhausted });
        }
        let wait = limits.wait.unwrap_or_else(|| self.next_unnamed());
        let until = now.after(wait);
        self.slow_down_until = self.slow_down_until.max(Some(until));
        Some(HttpError::RateLimited { until, limit: HeldBack::SlowDown })
    }

    /// Replies overtake one another, so within a window the lowest remainder counts.
    fn merge_rate(&self, new: Rate) -> Rate {
        let is_same_window =
            |old: &Rate| old.limit == new.limit && old.resets.0.abs_diff(new.resets.0) < 5_000_000;
        let old = self.rate.filter(is_same_window);
        Rate { remaining: old.map_or(new.remaining, |old| old.remaining.min(new.remaining)), ..new }
    }

    fn next_unnamed(&mut self) -> Duration {
        let wait = UNNAMED.saturating_mul(1_u32.checked_shl(self.unnamed).unwrap_or(u32::MAX));
        self.unnamed = self.unnamed.saturating_add(1);
        wait.min(LONGEST_WAIT)
    }
}

/// Whether a refusal is a rate limit and not a missing permission: GitHub replies 403 to both.
fn is_limit(status: StatusCode, limits: &StatedLimits, is_exhausted: bool, body: &[u8]) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => limits.wait.is_some() || is_exhausted || names_a_limit(body),
        _ => false,
    }
}

fn names_a_limit(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(4096)]).to_ascii_lowercase();
    ["rate limit", "abuse detection"].iter().any(|words| start.contains(words))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::StatusCode;

    use super::{HeldBack, Rate, RateBudget};
    use crate::http::HttpError;
    use crate::http::limits::StatedLimits;
    use pilot_core::time::Timestamp;

    const NOW: Timestamp = Timestamp(1_794_787_141_000_000);

    fn at(seconds: u64) -> Timestamp {
        NOW.after(Duration::from_secs(seconds))
    }

    fn left(remaining: u64, resets: u64) -> StatedLimits {
        StatedLimits { rate: Some(Rate { limit: 5000, remaining, resets: at(resets) }), wait: None }
    }

    fn limited(error: Option<HttpError>) -> Option<(u64, HeldBack)> {
        match error {
            Some(HttpError::RateLimited { until, limit }) => Some((until.since(NOW).as_secs(), limit)),
            Some(other) => panic!("{other}"),
            None => None,
        }
    }

    #[test]
    fn rate_limits_differ_from_missing_permissions() {
        let retry = StatedLimits { rate: None, wait: Some(Duration::from_secs(30)) };
        let none = StatedLimits::default();
        for (status, limits, body, expected) in [
            (403, &none, "Resource not accessible by integration", None),
            (403, &left(4000, 100), "Must have admin rights", None),
            (403, &none, "You have exceeded a secondary rate limit.", Some((60, HeldBack::SlowDown))),
            (403, &none, "You have triggered an abuse detection mechanism", Some((60, HeldBack::SlowDown))),
            (403, &retry, "", Some((30, HeldBack::SlowDown))),
            (403, &left(0, 100), "API rate limit exceeded", Some((100, HeldBack::Exhausted))),
            (429, &left(0, 100), "", Some((100, HeldBack::Exhausted))),
            (429, &none, "", Some((60, HeldBack::SlowDown))),
            (429, &retry, "", Some((30, HeldBack::SlowDown))),
            (200, &left(0, 100), "", None),
            (404, &none, "rate limit", None),
            (503, &retry, "rate limit", None),
        ] {
            let mut budget = RateBudget::default();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                limited(budget.learn(NOW, status, limits, body.as_bytes())),
                expected,
                "{status} {body}"
            );
            let next = limited(budget.check(NOW, false).err());
            let is_exhausted = limits.rate.is_some_and(|rate| rate.remaining == 0);
            assert_eq!(
                next,
                if is_exhausted { Some((100, HeldBack::Exhausted)) } else { expected },
                "the next after {status}"
            );
        }
    }

    #[test]
    fn a_rate_limit_ends_at_its_time() {
        let mut budget = RateBudget::default();
        budget.learn(NOW, StatusCode::OK, &left(0, 100), b"");
        assert!(budget.check(at(99), false).is_err() && budget.check(at(100), false).is_ok());
        assert_eq!(budget.rate(at(100)), None);
        let limits = StatedLimits { rate: None, wait: Some(Duration::from_secs(7)) };
        budget.learn(at(100), StatusCode::TOO_MANY_REQUESTS, &limits, b"");
        assert!(budget.check(at(106), false).is_err() && budget.check(at(107), false).is_ok());
    }

    #[test]
    fn unnamed_limits_double_until_a_success() {
        let mut budget = RateBudget::default();
        let mut limit =
            || limited(budget.learn(NOW, StatusCode::TOO_MANY_REQUESTS, &StatedLimits::default(), b""));
        let waits: Vec<u64> = (0..8).filter_map(|_| limit()).map(|(wait, _)| wait).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3660, 3660]);
        budget.learn(NOW, StatusCode::NOT_MODIFIED, &StatedLimits::default(), b"");
        let again = budget.learn(NOW, StatusCode::TOO_MANY_REQUESTS, &StatedLimits::default(), b"");
        assert_eq!(limited(again), Some((60, HeldBack::SlowDown)));
    }

    #[test]
    fn polls_stop_before_the_reserve() {
        let mut budget = RateBudget::default();
        budget.learn(NOW, StatusCode::OK, &left(251, 100), b"");
        assert!(budget.check(NOW, true).is_ok());
        budget.learn(NOW, StatusCode::OK, &left(250, 100), b"");
        assert_eq!(limited(budget.check(NOW, true).err()), Some((100, HeldBack::Reserved)));
        assert!(budget.check(NOW, false).is_ok());
    }

    #[test]
    fn an_overtaken_reply_does_not_raise_the_remainder() {
        let mut budget = RateBudget::default();
        budget.learn(NOW, StatusCode::OK, &left(10, 100), b"");
        budget.learn(NOW, StatusCode::OK, &left(12, 101), b"");
        assert_eq!(budget.rate(NOW).map(|rate| rate.remaining), Some(10));
        budget.learn(NOW, StatusCode::OK, &left(4999, 3600), b"");
        assert_eq!(budget.rate(NOW).map(|rate| rate.remaining), Some(4999), "a new window");
    }
}
