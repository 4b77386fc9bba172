//! How long to wait before the next attempt.

use std::time::Duration;

use super::config::Backoff;

/// No wait for a failure without a reset time is longer.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The longest limits are a week's; a reset later than that is no time but a mistake.
const LONGEST_TO_RESET: u64 = 8 * 24 * 60 * 60;

/// A reset is told in whole seconds, and clocks differ.
const BEHIND_RESET: Duration = Duration::from_secs(1);

/// Tasks that wait for the same reset must not all retry at the same moment.
const SPREAD_BEHIND_RESET: Duration = Duration::from_secs(4);

/// The wait before the attempt with this number, from 0; `jitter`, from 0 to 1, adds up to a quarter.
pub(super) fn growing(backoff: &Backoff, number: u32, jitter: f64) -> Duration {
    let mut wait = backoff.initial_backoff.min(LONGEST);
    for _ in 0..number.min(64) {
        wait = backoff.backoff_multiplier.of(wait).min(LONGEST);
    }
    wait + spread(wait / 4, jitter)
}

/// The wait until a reset that was announced; none when it is past, or no time at all.
pub(super) fn until_reset(reset_at: u64, now: u64, jitter: f64) -> Option<Duration> {
    let left = reset_at.checked_sub(now).filter(|left| (1..=LONGEST_TO_RESET).contains(left))?;
    Some(Duration::from_secs(left) + BEHIND_RESET + spread(SPREAD_BEHIND_RESET, jitter))
}

fn spread(most: Duration, jitter: f64) -> Duration {
    // What is no number is no jitter.
    let share = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    most.mul_f64(share)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, LONGEST, growing, until_reset};
    use crate::config::Factor;

    const API: Backoff =
        Backoff { max_attempts: 3, initial_backoff: Duration::from_secs(5), backoff_multiplier: Factor::TWO };

    #[test]
    fn waits_grow_spread_and_stay_bounded() {
        for (number, jitter, millis) in [
            (0, 0.0, 5_000),
            (1, 0.0, 10_000),
            (2, 0.0, 20_000),
            (0, 1.0, 6_250),
            (2, 0.5, 22_500),
            (0, 9.0, 6_250),
            (0, -1.0, 5_000),
            (0, f64::NAN, 5_000),
        ] {
            assert_eq!(growing(&API, number, jitter), Duration::from_millis(millis), "{number} {jitter}");
        }
        let endless = Backoff { initial_backoff: Duration::MAX, ..API };
        assert_eq!(growing(&endless, u32::MAX, 0.0), LONGEST);
        assert_eq!(growing(&API, u32::MAX, 0.0), LONGEST);
    }

    #[test]
    fn a_reset_is_waited_for_when_it_is_one() {
        for (reset_at, now, seconds) in [
            (1_100, 1_000, Some(101)),
            (1_001, 1_000, Some(2)),
            (1_000, 1_000, None),
            (900, 1_000, None),
            (1_000 + 8 * 86_400, 1_000, Some(8 * 86_400 + 1)),
            // Milliseconds where seconds belong.
            (1_763_035_200_000, 1_763_035_200, None),
            (u64::MAX, 0, None),
        ] {
            assert_eq!(until_reset(reset_at, now, 0.0), seconds.map(Duration::from_secs), "{reset_at}");
        }
        assert_eq!(until_reset(1_010, 1_000, 1.0), Some(Duration::from_secs(15)));
    }
}
