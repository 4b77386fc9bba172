//! Money: whole millionths of a dollar, so that sums are exact.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

const MICROS: u64 = 1_000_000;
const PLACES: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    pub const ZERO: Usd = Usd(0);

    /// The most that can be configured: no real budget is higher, and sums stay far from overflow.
    pub(crate) const MOST: Usd = Usd(1_000_000_000 * MICROS);

    pub const fn from_micros(micros: u64) -> Usd {
        Usd(micros)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    /// What a program says that something cost, rounded; none when that is no amount.
    pub fn from_dollars(dollars: f64) -> Option<Usd> {
        let micros = (dollars * 1e6).round();
        // Above that a float no longer holds every whole number.
        (0.0..=9e15).contains(&micros).then_some(Usd(micros as u64))
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// What is left after `other` is taken away; nothing when that is more.
    pub fn less(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }

    /// Reads an amount: digits with at most six places behind the point.
    pub(crate) fn parse(text: &str) -> Result<Usd, String> {
        let text = text.trim();
        let wanted = || format!("write an amount of dollars up to {}, such as 12.50", Usd::MOST.plain());
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > PLACES {
            return Err(wanted());
        }
        let part: u64 = format!("{part:0<PLACES$}").parse().map_err(|_| wanted())?;
        let whole: u64 = whole.parse().map_err(|_| wanted())?;
        let sum = whole.checked_mul(MICROS).and_then(|whole| whole.checked_add(part));
        sum.map(Usd).filter(|usd| *usd <= Usd::MOST).ok_or_else(wanted)
    }

    /// As people say it: `$50`, `$0.75`.
    pub fn short(self) -> String {
        match self.0 % MICROS {
            0 => format!("${}", self.0 / MICROS),
            _ => self.to_string(),
        }
    }

    /// As it is written in a configuration: no sign, no zeros at the end.
    pub(crate) fn plain(self) -> String {
        let part = format!("{:06}", self.0 % MICROS);
        match part.trim_end_matches('0') {
            "" => (self.0 / MICROS).to_string(),
            part => format!("{}.{part}", self.0 / MICROS),
        }
    }
}

impl Add for Usd {
    type Output = Usd;

    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, Add::add)
    }
}

/// `$12.34`; with two places more below a cent, since something is not nothing.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (1..10_000).contains(&self.0) {
            return f.pad(&format!("$0.{:04}", self.0.div_ceil(100)));
        }
        let cents = self.0.saturating_add(5_000) / 10_000;
        f.pad(&format!("${}.{:02}", cents / 100, cents % 100))
    }
}

#[cfg(test)]
mod tests {
    use super::Usd;

    #[test]
    fn amounts_are_read_and_written() {
        for (written, micros, plain, shown) in [
            ("50", 50_000_000, "50", "$50.00"),
            (" 0.02 ", 20_000, "0.02", "$0.02"),
            ("12.345678", 12_345_678, "12.345678", "$12.35"),
            ("0.000001", 1, "0.000001", "$0.0001"),
            ("0.0042", 4_200, "0.0042", "$0.0042"),
            ("0", 0, "0", "$0.00"),
            ("1000000000", 1_000_000_000_000_000, "1000000000", "$1000000000.00"),
        ] {
            let usd = Usd::parse(written).unwrap();
            assert_eq!(
                (usd.micros(), usd.plain().as_str(), usd.to_string().as_str()),
                (micros, plain, shown)
            );
        }
        assert_eq!(Usd::from_micros(9_999).to_string(), "$0.0100");
        assert_eq!(Usd::from_micros(994_999).to_string(), "$0.99");
        assert_eq!(Usd::from_micros(u64::MAX).to_string(), "$18446744073709.55");
        assert_eq!(format!("{:>8}", Usd::from_micros(1_500_000)), "   $1.50");
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for written in ["", "-1", "$5", "1,50", "1e3", "0.0000001", "1000000001", "99999999999999999999", "."]
        {
            let error = Usd::parse(written).expect_err(written);
            assert_eq!(error, "write an amount of dollars up to 1000000000, such as 12.50", "{written:?}");
        }
        for dollars in [f64::NAN, f64::INFINITY, -0.01, 1e300] {
            assert_eq!(Usd::from_dollars(dollars), None, "{dollars}");
        }
        assert_eq!(Usd::from_dollars(0.048_312_49), Some(Usd::from_micros(48_312)));
    }

    #[test]
    fn sums_do_not_wrap() {
        let most = Usd::from_micros(u64::MAX);
        assert_eq!(most + Usd::from_micros(1), most);
        assert_eq!(Usd::ZERO.less(most), Usd::ZERO);
        assert_eq!([Usd::from_micros(1), Usd::from_micros(2)].into_iter().sum::<Usd>(), Usd::from_micros(3));
    }
}
