//! Factors as people write them: `1.5`, `2`.

use std::fmt;
use std::time::Duration;

/// How many times as much, to the thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor(u32);

impl Factor {
    pub const ONE: Factor = Factor(1_000);

    pub const ONE_AND_A_HALF: Factor = Factor(1_500);

    pub const TWO: Factor = Factor(2_000);

    /// The most that can be written: more is a mistake.
    pub(super) const MOST: Factor = Factor(100_000);

    /// A length of time, so many times. What cannot be counted is as long as can be.
    pub fn of(self, time: Duration) -> Duration {
        let nanos = time.as_nanos().saturating_mul(u128::from(self.0)) / 1_000;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Reads a number with at most three places behind the point, from 1 to 100.
    pub(super) fn parse(text: &str) -> Result<Factor, String> {
        let text = text.trim();
        let wanted = || format!("write a number from 1 to {}, such as 1.5", Factor::MOST);
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 3 {
            return Err(wanted());
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| wanted());
        let thousandths = number(&format!("{part:0<3}"))?;
        let sum = number(whole)?.checked_mul(1_000).and_then(|whole| whole.checked_add(thousandths));
        sum.map(Factor).filter(|factor| (Factor::ONE..=Factor::MOST).contains(factor)).ok_or_else(wanted)
    }

    /// The number, for JSON.
    pub(super) fn number(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:03}", self.0 % 1_000);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / 1_000),
            part => write!(f, "{}.{part}", self.0 / 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Factor;

    #[test]
    fn factors_are_read_written_and_used() {
        for (written, again, ten_seconds) in
            [("1", "1", 10_000), ("1.5", "1.5", 15_000), (" 2.0 ", "2", 20_000), ("1.005", "1.005", 10_050)]
        {
            let factor = Factor::parse(written).unwrap();
            assert_eq!(factor.to_string(), again);
            assert_eq!(factor.of(Duration::from_secs(10)), Duration::from_millis(ten_seconds));
        }
        assert_eq!(Factor::MOST.of(Duration::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn everything_else_is_refused() {
        for written in
            ["", "0", "0.5", "x", "-2", "1.2345", "1.", ".5", "101", "99999999999", "1e1", "NaN", "1,5"]
        {
            let error = Factor::parse(written).expect_err(written);
            assert_eq!(error, "write a number from 1 to 100, such as 1.5", "{written:?}");
        }
    }
}
