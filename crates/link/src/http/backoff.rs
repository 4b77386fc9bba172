//! How long to wait before a retry.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(8);

/// The wait before retry `number` (from 0): doubled each time, with jitter in its upper half, so that clients that failed
/// together do not retry together.
pub(super) fn delay(number: u32, random: u64) -> Duration {
    let whole = FIRST.saturating_mul(1_u32.checked_shl(number).unwrap_or(u32::MAX)).min(LONGEST);
    let half = whole / 2;
    let micros = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).saturating_add(1);
    half + Duration::from_micros(random % micros)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, delay};

    #[test]
    fn waits_double_up_to_a_bound() {
        let ranges: Vec<(u128, u128)> = [0, 1, 2, 3, 4, 5, 31, 32, u32::MAX]
            .map(|number| (delay(number, 0).as_millis(), delay(number, 250_000).as_millis()))
            .to_vec();
        assert_eq!(ranges[..3], [(250, 500), (500, 750), (1000, 1250)]);
        for (shortest, _) in &ranges[4..] {
            assert_eq!(*shortest, LONGEST.as_millis() / 2);
        }
        for random in [0, 1, 7, 1 << 20, u64::MAX] {
            assert!(delay(40, random) <= LONGEST);
        }
    }
}
