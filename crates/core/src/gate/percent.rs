//! A part of a hundred, exact to two digits: a threshold of 80.2 is met by 80.2.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Percent(u16);

impl Percent {
    /// Reads `80`, `80.2`, `80.25 %`. Further digits are dropped, never rounded up.
    pub fn parse(text: &str) -> Option<Percent> {
        let text = text.trim();
        let text = text.strip_suffix('%').map_or(text, str::trim_end);
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || whole.len() > 3 {
            return None;
        }
        let hundredths = format!("{:0<2}", part.get(..2).unwrap_or(part));
        let all = whole.parse::<u16>().ok()?.checked_mul(100)? + hundredths.parse::<u16>().ok()?;
        (all <= 10_000).then_some(Percent(all))
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> f64 {
        f64::from(percent.0) / 100.0
    }
}

impl TryFrom<f64> for Percent {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Percent, &'static str> {
        Percent::parse(&format!("{number:.2}")).ok_or("a percentage is a number from 0 to 100")
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match part {
            0 => write!(f, "{whole}%"),
            _ if part % 10 == 0 => write!(f, "{whole}.{}%", part / 10),
            _ => write!(f, "{whole}.{part:02}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Percent;

    #[test]
    fn percentages_are_read_and_written() {
        for (text, read) in [
            ("80", Some("80%")),
            (" 80.2% ", Some("80.2%")),
            ("80.25 %", Some("80.25%")),
            ("99.999", Some("99.99%")),
            ("0", Some("0%")),
            ("7.05", Some("7.05%")),
            ("100", Some("100%")),
            ("100.01", None),
            ("-1", None),
            ("1e2", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("99999999", None),
            ("8O", None),
        ] {
            assert_eq!(Percent::parse(text).map(|percent| percent.to_string()).as_deref(), read, "{text:?}");
        }
        assert!(Percent::parse("80.2") < Percent::parse("80.21"));
    }

    #[test]
    fn they_survive_a_file() {
        for text in ["0", "33.33", "80.2", "100"] {
            let percent = Percent::parse(text).unwrap();
            let json = serde_json::to_string(&percent).unwrap();
            assert_eq!(serde_json::from_str::<Percent>(&json).unwrap(), percent, "{json}");
        }
        assert!(serde_json::from_str::<Percent>("101").is_err());
    }
}
