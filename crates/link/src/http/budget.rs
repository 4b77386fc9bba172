//! What a service still lets us ask, learned from its answers.

use std::time::Duration;

use reqwest::StatusCode;

use super::limits::{LONGEST_HOLD, Limits};
use super::{HttpError, Moment};

/// The stay away for a limit whose end the service did not name, doubled each time in a row; GitHub asks for a minute.
const UNNAMED: Duration = Duration::from_secs(60);

/// One part in so many of the budget is kept for work; polls stop before it.
const RESERVE: u64 = 20;

/// What is left of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests in each window.
    pub limit: u64,
    /// Requests left.
    pub remaining: u64,
    /// When the window ends, by our own clock.
    pub resets: Moment,
}

/// Why requests are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The budget of the window is spent.
    Spent,
    /// What is left is kept for work, and this was a poll.
    Reserve,
    /// The service asked us to slow down.
    Slower,
}

/// The budget with one service, for one identity.
#[derive(Debug, Default)]
pub(super) struct Budget {
    rate: Option<Rate>,
    slower: Option<Moment>,
    /// Limits in a row whose end was not named.
    unnamed: u32,
}

impl Budget {
    /// Whether a request may be sent now.
    pub(super) fn check(&self, now: Moment, is_poll: bool) -> Result<(), HttpError> {
        if let Some(until) = self.slower.filter(|until| *until > now) {
            return Err(HttpError::Held { until, why: Hold::Slower });
        }
        let Some(rate) = self.rate.filter(|rate| rate.resets > now) else { return Ok(()) };
        if rate.remaining == 0 {
            return Err(HttpError::Held { until: rate.resets, why: Hold::Spent });
        }
        if is_poll && rate.remaining <= rate.limit / RESERVE {
            return Err(HttpError::Held { until: rate.resets, why: Hold::Reserve });
        }
        Ok(())
    }

    /// What is left, as far as is known.
    pub(super) fn rate(&self, now: Moment) -> Option<Rate> {
        self.rate.filter(|rate| rate.resets > now)
    }

    /// Takes in an answer, and says so when it was a refusal for a limit.
    pub(super) fn learn(
        &mut self,
        now: Moment,
        status: StatusCode,
        limits: &Limits,
        body: &[u8],
    ) -> Option<HttpError> {
        if let Some(rate) = limits.rate {
            self.rate = Some(self.merged(rate));
        }
        let spent = limits.rate.is_some_and(|rate| rate.remaining == 0);
        if !is_limit(status, limits, spent, body) {
            if status.is_success() || status == StatusCode::NOT_MODIFIED {
                self.unnamed = 0;
            }
            return None;
        }
        if limits.wait.is_none() && spent {
            let until = limits.rate.map_or(now, |rate| rate.resets);
            return Some(HttpError::Held { until, why: Hold::Spent });
        }
        let wait = limits.wait.unwrap_or_else(|| self.next_unnamed());
        let until = now.after(wait);
        self.slower = self.slower.max(Some(until));
        Some(HttpError::Held { until, why: Hold::Slower })
    }

    /// Answers overtake one another, so within a window the least that was left is what is left.
    fn merged(&self, new: Rate) -> Rate {
        let same = |old: &Rate| old.limit == new.limit && old.resets.0.abs_diff(new.resets.0) < 5_000_000;
        let left = self.rate.filter(same).map_or(new.remaining, |old| old.remaining.min(new.remaining));
        Rate { remaining: left, ..new }
    }

    fn next_unnamed(&mut self) -> Duration {
        let wait = UNNAMED.saturating_mul(1_u32.checked_shl(self.unnamed).unwrap_or(u32::MAX));
        self.unnamed = self.unnamed.saturating_add(1);
        wait.min(LONGEST_HOLD)
    }
}

/// Whether a refusal is for a limit and not for missing rights, which GitHub answers with the same 403.
fn is_limit(status: StatusCode, limits: &Limits, spent: bool, body: &[u8]) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => limits.wait.is_some() || spent || speaks_of_limits(body),
        _ => false,
    }
}

fn speaks_of_limits(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(4096)]).to_ascii_lowercase();
    ["rate limit", "abuse detection"].iter().any(|words| start.contains(words))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::StatusCode;

    use super::{Budget, Hold, Rate};
    use crate::http::limits::Limits;
    use crate::http::{HttpError, Moment};

    const NOW: Moment = Moment(1_794_787_141_000_000);

    fn at(seconds: u64) -> Moment {
        NOW.after(Duration::from_secs(seconds))
    }

    fn left(remaining: u64, resets: u64) -> Limits {
        Limits { rate: Some(Rate { limit: 5000, remaining, resets: at(resets) }), wait: None }
    }

    fn held(error: Option<HttpError>) -> Option<(u64, Hold)> {
        match error {
            Some(HttpError::Held { until, why }) => Some((NOW.until(until).as_secs(), why)),
            Some(other) => panic!("{other}"),
            None => None,
        }
    }

    #[test]
    fn refusals_for_limits_are_told_from_missing_rights() {
        let retry = Limits { rate: None, wait: Some(Duration::from_secs(30)) };
        let none = Limits::default();
        for (status, limits, body, expected) in [
            (403, &none, "Resource not accessible by integration", None),
            (403, &left(4000, 100), "Must have admin rights", None),
            (403, &none, "You have exceeded a secondary rate limit.", Some((60, Hold::Slower))),
            (403, &none, "You have triggered an abuse detection mechanism", Some((60, Hold::Slower))),
            (403, &retry, "", Some((30, Hold::Slower))),
            (403, &left(0, 100), "API rate limit exceeded", Some((100, Hold::Spent))),
            (429, &left(0, 100), "", Some((100, Hold::Spent))),
            (429, &none, "", Some((60, Hold::Slower))),
            (429, &retry, "", Some((30, Hold::Slower))),
            (200, &left(0, 100), "", None),
            (404, &none, "rate limit", None),
            (503, &retry, "rate limit", None),
        ] {
            let mut budget = Budget::default();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(held(budget.learn(NOW, status, limits, body.as_bytes())), expected, "{status} {body}");
            let next = held(budget.check(NOW, false).err());
            let spent = limits.rate.is_some_and(|rate| rate.remaining == 0);
            assert_eq!(
                next,
                if spent { Some((100, Hold::Spent)) } else { expected },
                "the next after {status}"
            );
        }
    }

    #[test]
    fn a_hold_ends_when_its_time_is_over() {
        let mut budget = Budget::default();
        budget.learn(NOW, StatusCode::OK, &left(0, 100), b"");
        assert!(budget.check(at(99), false).is_err() && budget.check(at(100), false).is_ok());
        assert_eq!(budget.rate(at(100)), None);
        let limits = Limits { rate: None, wait: Some(Duration::from_secs(7)) };
        budget.learn(at(100), StatusCode::TOO_MANY_REQUESTS, &limits, b"");
        assert!(budget.check(at(106), false).is_err() && budget.check(at(107), false).is_ok());
    }

    #[test]
    fn limits_without_an_end_are_doubled_until_something_works() {
        let mut budget = Budget::default();
        let mut hold = || held(budget.learn(NOW, StatusCode::TOO_MANY_REQUESTS, &Limits::default(), b""));
        let waits: Vec<u64> = (0..8).filter_map(|_| hold()).map(|(wait, _)| wait).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3660, 3660]);
        budget.learn(NOW, StatusCode::NOT_MODIFIED, &Limits::default(), b"");
        let again = budget.learn(NOW, StatusCode::TOO_MANY_REQUESTS, &Limits::default(), b"");
        assert_eq!(held(again), Some((60, Hold::Slower)));
    }

    #[test]
    fn polls_leave_a_reserve_for_work() {
        let mut budget = Budget::default();
        budget.learn(NOW, StatusCode::OK, &left(251, 100), b"");
        assert!(budget.check(NOW, true).is_ok());
        budget.learn(NOW, StatusCode::OK, &left(250, 100), b"");
        assert_eq!(held(budget.check(NOW, true).err()), Some((100, Hold::Reserve)));
        assert!(budget.check(NOW, false).is_ok());
    }

    #[test]
    fn an_answer_that_was_overtaken_gives_nothing_back() {
        let mut budget = Budget::default();
        budget.learn(NOW, StatusCode::OK, &left(10, 100), b"");
        budget.learn(NOW, StatusCode::OK, &left(12, 101), b"");
        assert_eq!(budget.rate(NOW).map(|rate| rate.remaining), Some(10));
        budget.learn(NOW, StatusCode::OK, &left(4999, 3600), b"");
        assert_eq!(budget.rate(NOW).map(|rate| rate.remaining), Some(4999), "a new window");
    }
}
